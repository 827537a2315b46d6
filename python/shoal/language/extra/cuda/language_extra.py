"""The same functions as `shoal.language.extra.language_extra`, and `ffs` of `libdevice`."""

from shoal.language.extra.language_extra import *
from shoal.language.extra.language_extra import __all__ as _all
from shoal.language.extra.libdevice import ffs

__all__ = [*_all, "ffs"]
