# lower: tuples(*fp32, (i32, (fp32, 5)), 3)
# lower: carried(*fp32, i32)
from typing import NamedTuple

import triton
import triton.language as tl


class Point(NamedTuple):
    x: tl.tensor
    y: tl.tensor = 1


@triton.jit
def tuples(out, args, N: tl.constexpr):
    n, (f, five) = args
    tl.static_assert(args[1][1] == 5)
    p = Point(n, y=f)
    parts = (n, f) + (N,) * 2
    tl.static_assert(len(parts) == 4)
    doubled = [v * 2 for v in parts[:2]]
    first, second = doubled
    rest = [i for i in range(6) if i % 2 == 0]
    tl.static_assert([i for i in range(6) if i % 2 == 0] == (0, 2, 4))
    tl.store(out, p.x + p.y + first + second + rest[-1])


@triton.jit
def carried(out, n):
    state = Point(n, 0.5)
    for i in range(n):
        state = Point(state.x + 1, state.y * 2)
    tl.store(out, state.x + state.y)

# ---
# kernel @tuples(%0: ptr<f32>, %1: i32, %2: f32) {
#   %3 = const {value = 5} () : i32
#   %4 = const {value = 3} () : i32
#   %5 = const {value = 3} () : i32
#   %6 = const {value = 2} () : i32
#   %7 = mul (%1, %6) : i32
#   %8 = const {value = 2.0} () : f32
#   %9 = mul (%2, %8) : f32
#   %10 = const {value = 0} () : i32
#   %11 = const {value = 2} () : i32
#   %12 = const {value = 4} () : i32
#   %13 = cast {round = rtne} (%1) : f32
#   %14 = add (%13, %2) : f32
#   %15 = cast {round = rtne} (%7) : f32
#   %16 = add (%14, %15) : f32
#   %17 = add (%16, %9) : f32
#   %18 = cast {round = rtne} (%12) : f32
#   %19 = add (%17, %18) : f32
#   store (%0, %19)
#   return ()
# }
# kernel @carried(%0: ptr<f32>, %1: i32) {
#   %2 = const {value = 0.5} () : f32
#   %3 = const {value = 0} () : i32
#   %4 = const {value = 1} () : i32
#   %5, %6 = for (%3, %1, %4, %1, %2) : i32, f32 do (%7: i32, %8: i32, %9: f32) {
#     %10 = const {value = 1} () : i32
#     %11 = add (%8, %10) : i32
#     %12 = const {value = 2.0} () : f32
#     %13 = mul (%9, %12) : f32
#     yield (%11, %13)
#   }
#   %14 = cast {round = rtne} (%5) : f32
#   %15 = add (%14, %6) : f32
#   store (%0, %15)
#   return ()
# }
