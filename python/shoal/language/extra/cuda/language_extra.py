"""The same functions as `shoal.language.extra.language_extra`."""

from shoal.language.extra.language_extra import *
from shoal.language.extra.language_extra import __all__ as __all__
