"""The same functions as `shoal.language.extra.libdevice`."""

from shoal.language.extra.libdevice import *
