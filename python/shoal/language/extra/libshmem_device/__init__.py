"""One-sided communication between ranks: puts, gets, signals, meetings of teams.

A name says who calls it: `_block` and `_wg` the program, `_warp` and `_wave` a warp, nothing one thread. With `_nbi` a
copy is only issued. Pointers on the other rank's side, and signals, lie in the symmetric heap.
"""

from shoal.language.extra.libshmem_device._constants import *
from shoal.language.extra.libshmem_device._copies import *
from shoal.language.extra.libshmem_device._signals import *
from shoal.language.extra.libshmem_device._teams import *
