# lower: names(*fp32)
import triton as tt
from triton import language as L
from triton.language import arange, load as fetch
from triton.language.extra import libdevice

from imported_helpers import offset, scaled
from . import imported_helpers as helpers


@tt.jit
def names(x):
    i = arange(0, helpers.COUNT)
    v = fetch(x + i + offset())
    L.store(x + i, scaled(v) + helpers.scaled(v))

# ---
# kernel @names(%x: ptr<f32>) {
#   %i = iota {start = 0} () : tile<16xi32>
#   %0 = splat (%x) : tile<16xptr<f32>>
#   %1 = ptr_add (%0, %i) : tile<16xptr<f32>>
#   call {callee = "offset"} ()
#   %2 = const {value = 32} () : i32
#   %3 = splat (%2) : tile<16xi32>
#   %4 = ptr_add (%1, %3) : tile<16xptr<f32>>
#   %v = load (%4) : tile<16xf32>
#   %5 = splat (%x) : tile<16xptr<f32>>
#   %6 = ptr_add (%5, %i) : tile<16xptr<f32>>
#   %7 = call {callee = "scaled"} (%v) : tile<16xf32>
#   %8 = call {callee = "scaled"} (%v) : tile<16xf32>
#   %9 = add (%7, %8) : tile<16xf32>
#   store (%6, %9)
#   return ()
# }
#
# func @offset() {
#   return ()
# }
#
# func @scaled(%v: tile<16xf32>) -> (tile<16xf32>) {
#   %0 = const {value = 3.0} () : f32
#   %1 = splat (%0) : tile<16xf32>
#   %2 = mul (%v, %1) : tile<16xf32>
#   return (%2)
# }
