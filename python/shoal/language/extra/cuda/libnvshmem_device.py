"""The same functions as `shoal.language.extra.libshmem_device`."""

from shoal.language.extra.libshmem_device import *
