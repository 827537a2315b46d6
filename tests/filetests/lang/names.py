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
# kernel @names(%0: ptr<f32>) {
#   %1 = iota {start = 0} () : tile<16xi32>
#   %2 = splat (%0) : tile<16xptr<f32>>
#   %3 = ptr_add (%2, %1) : tile<16xptr<f32>>
#   call {callee = "offset"} ()
#   %4 = const {value = 32} () : i32
#   %5 = splat (%4) : tile<16xi32>
#   %6 = ptr_add (%3, %5) : tile<16xptr<f32>>
#   %7 = load (%6) : tile<16xf32>
#   %8 = splat (%0) : tile<16xptr<f32>>
#   %9 = ptr_add (%8, %1) : tile<16xptr<f32>>
#   %10 = call {callee = "scaled"} (%7) : tile<16xf32>
#   %11 = call {callee = "scaled"} (%7) : tile<16xf32>
#   %12 = add (%10, %11) : tile<16xf32>
#   store (%9, %12)
#   return ()
# }
#
# func @offset() {
#   return ()
# }
#
# func @scaled(%0: tile<16xf32>) -> (tile<16xf32>) {
#   %1 = const {value = 3.0} () : f32
#   %2 = splat (%1) : tile<16xf32>
#   %3 = mul (%0, %2) : tile<16xf32>
#   return (%3)
# }
