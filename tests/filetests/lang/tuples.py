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
# kernel @tuples(%out: ptr<f32>, %args: i32, %args.1: f32) {
#   %five = const {value = 5} () : i32
#   %parts = const {value = 3} () : i32
#   %parts.1 = const {value = 3} () : i32
#   %0 = const {value = 2} () : i32
#   %doubled = mul (%args, %0) : i32
#   %1 = const {value = 2.0} () : f32
#   %doubled.1 = mul (%args.1, %1) : f32
#   %rest = const {value = 0} () : i32
#   %rest.1 = const {value = 2} () : i32
#   %rest.2 = const {value = 4} () : i32
#   %2 = cast {round = rtne} (%args) : f32
#   %3 = add (%2, %args.1) : f32
#   %4 = cast {round = rtne} (%doubled) : f32
#   %5 = add (%3, %4) : f32
#   %6 = add (%5, %doubled.1) : f32
#   %7 = cast {round = rtne} (%rest.2) : f32
#   %8 = add (%6, %7) : f32
#   store (%out, %8)
#   return ()
# }
# kernel @carried(%out: ptr<f32>, %n: i32) {
#   %state = const {value = 0.5} () : f32
#   %0 = const {value = 0} () : i32
#   %1 = const {value = 1} () : i32
#   %state.1, %state.2 = for (%0, %n, %1, %n, %state) : i32, f32 do (%i: i32, %state.3: i32, %state.4: f32) {
#     %2 = const {value = 1} () : i32
#     %state.5 = add (%state.3, %2) : i32
#     %3 = const {value = 2.0} () : f32
#     %state.6 = mul (%state.4, %3) : f32
#     yield (%state.5, %state.6)
#   }
#   %4 = cast {round = rtne} (%state.1) : f32
#   %5 = add (%4, %state.2) : f32
#   store (%out, %5)
#   return ()
# }
