# lower: compile_time(*i32, 100)
import enum
import math

import triton
import triton.language as tl

WIDTH = tl.constexpr(8)
HALF = WIDTH // 2
LOG2E: tl.constexpr = math.log2(math.e)
DTYPE = tl.float16


class Mode(enum.IntEnum):
    FAST = 0
    EXACT = 1


@triton.constexpr_function
def primes(limit):
    found = []
    for n in range(2, limit):
        if all([n % p != 0 for p in found]):
            found.append(n)
    return found


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
        if steps > 1000:
            break
    return steps


@triton.jit
def compile_time(out, N: tl.constexpr):
    tl.static_assert(HALF == 4)
    tl.static_assert(len(primes(N)) == 25, f"{N} has {len(primes(N))} primes")
    tl.static_assert(collatz(27) == 111)
    tl.static_assert(-7 // 2 == -4 and -7 % 2 == 1)
    tl.static_assert(2**10 == 1 << 10)
    tl.static_assert(1 < WIDTH <= 8)
    tl.static_assert(Mode.EXACT == 1 and Mode.FAST is not Mode.EXACT)
    tl.static_assert(f"{WIDTH:03d}|{1.5:.2f}|{DTYPE}|{N!r:>5}" == "008|1.50|fp16|  100")
    tl.static_assert(isinstance(N, int) and not isinstance(N, (float, str)))
    tl.static_assert(DTYPE.primitive_bitwidth == 16 and DTYPE.is_floating())
    tl.static_assert(getattr(DTYPE, "itemsize") == 2 and not hasattr(DTYPE, "banana"))
    tl.static_assert(min(3, 1, 2) == 1 and max((4, 9)) == 9 and abs(-3) == 3 and round(2.5) == 2)
    tl.static_assert([i + j for i, j in zip((1, 2), (3, 4))] == (4, 6))
    tl.static_assert(float("inf") > 1e30 and int(3.7) == 3 and math.floor(LOG2E * 100) == 144)
    block: tl.constexpr = triton.next_power_of_2(N) if N > 0 else 1
    x = tl.full((block,), Mode.EXACT, tl.int32)
    tl.store(out + tl.arange(0, block), x)

# ---
# kernel @compile_time(%out: ptr<i32>) {
#   %0 = const {value = 1} () : i32
#   %x = splat (%0) : tile<128xi32>
#   %1 = iota {start = 0} () : tile<128xi32>
#   %2 = splat (%out) : tile<128xptr<i32>>
#   %3 = ptr_add (%2, %1) : tile<128xptr<i32>>
#   store (%3, %x)
#   return ()
# }
