"""What belongs to targets, and `libdevice` and `libshmem_device`, which work on all of them."""

from shoal.language.extra import cpu, cuda, hip, libdevice, libshmem_device

__all__ = ["cpu", "cuda", "hip", "libdevice", "libshmem_device"]
