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
    tl.static_assert(five == 5)
    p = Point(n, y=f)
    parts = (n, f) + (N,) * 2
    tl.static_assert(len(parts) == 4)
    doubled = [v * 2 for v in parts[:2]]
    first, second = doubled
    rest = [i for i in range(6) if i % 2 == 0]
    tl.static_assert(rest == (0, 2, 4))
    tl.store(out, p.x + p.y + first + second + rest[-1])


@triton.jit
def carried(out, n):
    state = Point(n, 0.5)
    for i in range(n):
        state = Point(state.x + 1, state.y * 2)
    tl.store(out, state.x + state.y)

# ---
# error: `static_assert` needs a condition that is known at compile time
#   --> tuples.py:17:5
#    |
# 17 |     tl.static_assert(five == 5)
#    |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^ this is `i1`, computed on the device
#    |
#    = help: use `tl.device_assert`, or make what it depends on `tl.constexpr`
#
# error: compile-time assertion failed
#   --> tuples.py:24:5
#    |
# 24 |     tl.static_assert(rest == (0, 2, 4))
#    |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
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
