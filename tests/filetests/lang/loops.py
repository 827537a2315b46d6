# lower: sums(*fp32, i32)
# lower: backwards(*i32, i32)
# lower: options(*i32, i64)
# lower: spin(*i32, i32)
# lower: nest(*fp32, i32, i32)
import triton
import triton.language as tl


@triton.jit
def sums(x, n):
    total = 0.0
    count = 0
    for i in range(n):
        value = tl.load(x + i)
        if value > 0:
            total += value
            count += 1
    tl.store(x, total + count)


@triton.jit
def backwards(out, n):
    for i in range(n, 0, -2):
        tl.store(out + i, i)


@triton.jit
def options(out, n):
    for i in tl.range(0, n, 4, num_stages=3, loop_unroll_factor=2, flatten=True):
        tl.store(out + i, i)


@triton.jit
def spin(lock, n):
    tries = 0
    while tl.atomic_cas(lock, 0, 1) == 1:
        tries += 1
    while tl.condition(tries < n, disable_licm=True):
        tries = tries * 2
    while (got := tl.load(lock)) < n:
        tries += got
    tl.store(lock, tries + got)


@triton.jit
def nest(x, n, m):
    acc = tl.zeros((4,), tl.float32)
    for i in range(n):
        row = x + i * m
        for j in range(m):
            acc += tl.load(row + j)
    tl.store(x + tl.arange(0, 4), acc)

# ---
# kernel @sums(%0: ptr<f32>, %1: i32) {
#   %2 = const {value = 0.0} () : f32
#   %3 = const {value = 0} () : i32
#   %4 = const {value = 0} () : i32
#   %5 = const {value = 1} () : i32
#   %6, %7 = for (%4, %1, %5, %3, %2) : i32, f32 do (%8: i32, %9: i32, %10: f32) {
#     %11 = ptr_add (%0, %8) : ptr<f32>
#     %12 = load (%11) : f32
#     %13 = const {value = 0.0} () : f32
#     %14 = cmp {is = gt} (%12, %13) : i1
#     %15, %16 = if (%14) : i32, f32 do {
#       %17 = add (%10, %12) : f32
#       %18 = const {value = 1} () : i32
#       %19 = add (%9, %18) : i32
#       yield (%19, %17)
#     } do {
#       yield (%9, %10)
#     }
#     yield (%15, %16)
#   }
#   %20 = cast {round = rtne} (%6) : f32
#   %21 = add (%7, %20) : f32
#   store (%0, %21)
#   return ()
# }
# kernel @backwards(%0: ptr<i32>, %1: i32) {
#   %2 = const {value = 0} () : i32
#   %3 = const {value = 2} () : i32
#   for (%2, %1, %3) do (%4: i32) {
#     %5 = add (%1, %2) : i32
#     %6 = sub (%5, %4) : i32
#     %7 = ptr_add (%0, %6) : ptr<i32>
#     store (%7, %6)
#     yield ()
#   }
#   return ()
# }
# kernel @options(%0: ptr<i32>, %1: i64) {
#   %2 = const {value = 0} () : i32
#   %3 = const {value = 4} () : i32
#   %4 = cast {round = rtne} (%2) : i64
#   %5 = cast {round = rtne} (%3) : i64
#   for {num_stages = 3, unroll = 2, flatten} (%4, %1, %5) do (%6: i64) {
#     %7 = ptr_add (%0, %6) : ptr<i32>
#     %8 = cast {round = rtne} (%6) : i32
#     store (%7, %8)
#     yield ()
#   }
#   return ()
# }
# kernel @spin(%0: ptr<i32>, %1: i32) {
#   %2 = const {value = 0} () : i32
#   %3 = while (%2) : i32 do (%4: i32) {
#     %5 = const {value = 0} () : i32
#     %6 = const {value = 1} () : i32
#     %7 = atomic_cas {sem = acq_rel, scope = gpu} (%0, %5, %6) : i32
#     %8 = const {value = 1} () : i32
#     %9 = cmp {is = eq} (%7, %8) : i1
#     condition (%9, %4)
#   } do (%10: i32) {
#     %11 = const {value = 1} () : i32
#     %12 = add (%10, %11) : i32
#     yield (%12)
#   }
#   %13 = while {disable_licm} (%3) : i32 do (%14: i32) {
#     %15 = cmp {is = lt} (%14, %1) : i1
#     condition (%15, %14)
#   } do (%16: i32) {
#     %17 = const {value = 2} () : i32
#     %18 = mul (%16, %17) : i32
#     yield (%18)
#   }
#   %19, %20 = while (%13) : i32, i32 do (%21: i32) {
#     %22 = load (%0) : i32
#     %23 = cmp {is = lt} (%22, %1) : i1
#     condition (%23, %21, %22)
#   } do (%24: i32, %25: i32) {
#     %26 = add (%24, %25) : i32
#     yield (%26)
#   }
#   %27 = add (%19, %20) : i32
#   store (%0, %27)
#   return ()
# }
# kernel @nest(%0: ptr<f32>, %1: i32, %2: i32) {
#   %3 = call {callee = "zeros"} () : tile<4xf32>
#   %4 = const {value = 0} () : i32
#   %5 = const {value = 1} () : i32
#   %6 = for (%4, %1, %5, %3) : tile<4xf32> do (%7: i32, %8: tile<4xf32>) {
#     %9 = mul (%7, %2) : i32
#     %10 = ptr_add (%0, %9) : ptr<f32>
#     %11 = const {value = 0} () : i32
#     %12 = const {value = 1} () : i32
#     %13 = for (%11, %2, %12, %8) : tile<4xf32> do (%14: i32, %15: tile<4xf32>) {
#       %16 = ptr_add (%10, %14) : ptr<f32>
#       %17 = load (%16) : f32
#       %18 = splat (%17) : tile<4xf32>
#       %19 = add (%15, %18) : tile<4xf32>
#       yield (%19)
#     }
#     yield (%13)
#   }
#   %20 = iota {start = 0} () : tile<4xi32>
#   %21 = splat (%0) : tile<4xptr<f32>>
#   %22 = ptr_add (%21, %20) : tile<4xptr<f32>>
#   store (%22, %6)
#   return ()
# }
#
# func @zeros() -> (tile<4xf32>) {
#   %0 = const {value = 0.0} () : f32
#   %1 = splat (%0) : tile<4xf32>
#   return (%1)
# }
