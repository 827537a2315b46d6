"""What belongs to targets, and `libdevice`, which works on all of them."""

from shoal.language.extra import cpu, cuda, hip, libdevice

__all__ = ["cpu", "cuda", "hip", "libdevice"]
