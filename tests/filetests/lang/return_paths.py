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
# kernel @k(%out: ptr<i32>, %n: i32) {
#   %m, %p = call {callee = "maybe"} (%out, %n) : i32, ptr<i32>
#   store (%p, %m)
#   call {callee = "same"} (%n)
#   return ()
# }
#
# func @maybe(%p: ptr<i32>, %n: i32) -> (i32, ptr<i32>) {
#   %0 = const {value = 0} () : i32
#   %1 = cmp {is = gt} (%n, %0) : i1
#   %2, %3 = if (%1) : i32, ptr<i32> do {
#     %4 = const {value = 1} () : i32
#     %5 = add (%n, %4) : i32
#     yield (%5, %p)
#   } do {
#     %6 = const {value = 0} () : i32
#     %7 = const {value = 0} () : i64
#     %8 = cast {round = rtne} (%7) : ptr<i32>
#     yield (%6, %8)
#   }
#   return (%2, %3)
# }
#
# func @same(%n: i32) {
#   %0 = const {value = 0} () : i32
#   %1 = cmp {is = gt} (%n, %0) : i1
#   if (%1) do {
#     yield ()
#   } do {
#     yield ()
#   }
#   return ()
# }
