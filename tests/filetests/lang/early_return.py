# lower: guard(*i32, i32)
# lower: use(*fp32, i32)
# lower: nested(*i32, i32, i32)
# lower: unrolled(*i32, i32)
import triton
import triton.language as tl


@triton.jit
def guard(out, n):
    pid = tl.program_id(0)
    if pid >= n:
        return
    tl.store(out + pid, pid)


@triton.jit
def pick(n):
    if n > 10:
        return 1.0
    elif n > 5:
        return n * 0.5
    return 2.0


@triton.jit
def use(out, n):
    tl.store(out, pick(n))


@triton.jit
def nested(out, a, b):
    if a > 0:
        if b > 0:
            return
        tl.store(out, a)
    tl.store(out, b)


@triton.jit
def unrolled(out, n):
    for i in tl.static_range(2):
        if n == i:
            tl.store(out, i)
            return
    tl.store(out, -1)

# ---
# kernel @guard(%0: ptr<i32>, %1: i32) {
#   %2 = program_id {axis = 0} () : i32
#   %3 = cmp {is = ge} (%2, %1) : i1
#   if (%3) do {
#     yield ()
#   } do {
#     %4 = ptr_add (%0, %2) : ptr<i32>
#     store (%4, %2)
#     yield ()
#   }
#   return ()
# }
# kernel @use(%0: ptr<f32>, %1: i32) {
#   %2 = call {callee = "pick"} (%1) : f32
#   store (%0, %2)
#   return ()
# }
#
# func @pick(%0: i32) -> (f32) {
#   %1 = const {value = 10} () : i32
#   %2 = cmp {is = gt} (%0, %1) : i1
#   %3 = if (%2) : f32 do {
#     %4 = const {value = 1.0} () : f32
#     yield (%4)
#   } do {
#     %5 = const {value = 5} () : i32
#     %6 = cmp {is = gt} (%0, %5) : i1
#     %7 = if (%6) : f32 do {
#       %8 = cast {round = rtne} (%0) : f32
#       %9 = const {value = 0.5} () : f32
#       %10 = mul (%8, %9) : f32
#       yield (%10)
#     } do {
#       %11 = const {value = 2.0} () : f32
#       yield (%11)
#     }
#     yield (%7)
#   }
#   return (%3)
# }
# kernel @nested(%0: ptr<i32>, %1: i32, %2: i32) {
#   %3 = const {value = 0} () : i32
#   %4 = cmp {is = gt} (%1, %3) : i1
#   if (%4) do {
#     %5 = const {value = 0} () : i32
#     %6 = cmp {is = gt} (%2, %5) : i1
#     if (%6) do {
#       yield ()
#     } do {
#       store (%0, %1)
#       store (%0, %2)
#       yield ()
#     }
#     yield ()
#   } do {
#     store (%0, %2)
#     yield ()
#   }
#   return ()
# }
# kernel @unrolled(%0: ptr<i32>, %1: i32) {
#   %2 = const {value = 0} () : i32
#   %3 = cmp {is = eq} (%1, %2) : i1
#   if (%3) do {
#     %4 = const {value = 0} () : i32
#     store (%0, %4)
#     yield ()
#   } do {
#     %5 = const {value = 1} () : i32
#     %6 = cmp {is = eq} (%1, %5) : i1
#     if (%6) do {
#       %7 = const {value = 1} () : i32
#       store (%0, %7)
#       yield ()
#     } do {
#       %8 = const {value = -1} () : i32
#       store (%0, %8)
#       yield ()
#     }
#     yield ()
#   }
#   return ()
# }
