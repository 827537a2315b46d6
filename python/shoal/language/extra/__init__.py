"""What belongs to targets, and `libdevice` and `libshmem_device`, which work on all of them."""

from shoal.language.extra import cpu, cuda, hip, language_extra, libdevice, libshmem_device
from shoal.language.extra.language_extra import *  # noqa: F403

__all__ = ["cpu", "cuda", "hip", "language_extra", "libdevice", "libshmem_device"]
__all__ += language_extra.__all__
