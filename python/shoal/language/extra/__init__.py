"""What belongs to targets, and `libdevice`, which works on all of them."""

from shoal.language.extra import cpu, cuda, hip, language_extra, libdevice
from shoal.language.extra.language_extra import *  # noqa: F403

__all__ = ["cpu", "cuda", "hip", "language_extra", "libdevice"]
__all__ += language_extra.__all__
