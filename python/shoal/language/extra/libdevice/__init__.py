"""The functions of NVIDIA's libdevice, on every target.

Each takes the types its namesake takes: `float32` and `float64` unless its name says otherwise.
"""

from shoal.language.extra.libdevice._conversions import *
from shoal.language.extra.libdevice._integers import *
from shoal.language.extra.libdevice._mathematics import *
from shoal.language.extra.libdevice._rounded import *
