"""Facts about the running program on AMD GPUs."""

from shoal.language.extra.hip import memrealtime, num_threads, num_warps, smid

__all__ = ["memrealtime", "num_threads", "num_warps", "smid"]
