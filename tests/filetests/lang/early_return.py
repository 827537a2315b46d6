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
# kernel @guard(%out: ptr<i32>, %n: i32) {
#   %pid = program_id {axis = 0} () : i32
#   %0 = cmp {is = ge} (%pid, %n) : i1
#   if (%0) do {
#     yield ()
#   } do {
#     %1 = ptr_add (%out, %pid) : ptr<i32>
#     store (%1, %pid)
#     yield ()
#   }
#   return ()
# }
# kernel @use(%out: ptr<f32>, %n: i32) {
#   %0 = call {callee = "pick"} (%n) : f32
#   store (%out, %0)
#   return ()
# }
#
# func @pick(%n: i32) -> (f32) {
#   %0 = const {value = 10} () : i32
#   %1 = cmp {is = gt} (%n, %0) : i1
#   %2 = if (%1) : f32 do {
#     %3 = const {value = 1.0} () : f32
#     yield (%3)
#   } do {
#     %4 = const {value = 5} () : i32
#     %5 = cmp {is = gt} (%n, %4) : i1
#     %6 = if (%5) : f32 do {
#       %7 = cast {round = rtne} (%n) : f32
#       %8 = const {value = 0.5} () : f32
#       %9 = mul (%7, %8) : f32
#       yield (%9)
#     } do {
#       %10 = const {value = 2.0} () : f32
#       yield (%10)
#     }
#     yield (%6)
#   }
#   return (%2)
# }
# kernel @nested(%out: ptr<i32>, %a: i32, %b: i32) {
#   %0 = const {value = 0} () : i32
#   %1 = cmp {is = gt} (%a, %0) : i1
#   if (%1) do {
#     %2 = const {value = 0} () : i32
#     %3 = cmp {is = gt} (%b, %2) : i1
#     if (%3) do {
#       yield ()
#     } do {
#       store (%out, %a)
#       store (%out, %b)
#       yield ()
#     }
#     yield ()
#   } do {
#     store (%out, %b)
#     yield ()
#   }
#   return ()
# }
# kernel @unrolled(%out: ptr<i32>, %n: i32) {
#   %0 = const {value = 0} () : i32
#   %1 = cmp {is = eq} (%n, %0) : i1
#   if (%1) do {
#     %2 = const {value = 0} () : i32
#     store (%out, %2)
#     yield ()
#   } do {
#     %3 = const {value = 1} () : i32
#     %4 = cmp {is = eq} (%n, %3) : i1
#     if (%4) do {
#       %5 = const {value = 1} () : i32
#       store (%out, %5)
#       yield ()
#     } do {
#       %6 = const {value = -1} () : i32
#       store (%out, %6)
#       yield ()
#     }
#     yield ()
#   }
#   return ()
# }
