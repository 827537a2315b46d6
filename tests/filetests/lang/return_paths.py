# lower: k(*i32, i32)
import triton
import triton.language as tl


@triton.jit
def maybe(p, n):
    if n > 0:
        return n + 1, p


@triton.jit
def same(n):
    if n > 0:
        return 1
    else:
        return True


@triton.jit
def k(out, n):
    m, p = maybe(out, n)
    tl.store(p, m)
    tl.static_assert(same(n) == 1)

# ---
# kernel @k(%0: ptr<i32>, %1: i32) {
#   %2, %3 = call {callee = "maybe"} (%0, %1) : i32, ptr<i32>
#   store (%3, %2)
#   call {callee = "same"} (%1)
#   return ()
# }
#
# func @maybe(%0: ptr<i32>, %1: i32) -> (i32, ptr<i32>) {
#   %2 = const {value = 0} () : i32
#   %3 = cmp {is = gt} (%1, %2) : i1
#   %4, %5 = if (%3) : i32, ptr<i32> do {
#     %6 = const {value = 1} () : i32
#     %7 = add (%1, %6) : i32
#     yield (%7, %0)
#   } do {
#     %8 = const {value = 0} () : i32
#     %9 = const {value = 0} () : i64
#     %10 = cast {round = rtne} (%9) : ptr<i32>
#     yield (%8, %10)
#   }
#   return (%4, %5)
# }
#
# func @same(%0: i32) {
#   %1 = const {value = 0} () : i32
#   %2 = cmp {is = gt} (%0, %1) : i1
#   if (%2) do {
#     yield ()
#   } do {
#     yield ()
#   }
#   return ()
# }
