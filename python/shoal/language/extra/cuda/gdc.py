"""Dependent launches on NVIDIA GPUs."""

from shoal.language.extra.cuda import gdc_launch_dependents, gdc_wait

__all__ = ["gdc_launch_dependents", "gdc_wait"]
