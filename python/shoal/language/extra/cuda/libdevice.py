"""The same functions as `shoal.language.extra.libdevice`."""

from shoal.language.extra.libdevice import *  # noqa: F403
from shoal.language.extra.libdevice import __all__ as __all__
