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
# kernel @sums(%x: ptr<f32>, %n: i32) {
#   %total = const {value = 0.0} () : f32
#   %count = const {value = 0} () : i32
#   %0 = const {value = 0} () : i32
#   %1 = const {value = 1} () : i32
#   %count.1, %total.1 = for (%0, %n, %1, %count, %total) : i32, f32 do (%i: i32, %count.2: i32, %total.2: f32) {
#     %2 = ptr_add (%x, %i) : ptr<f32>
#     %value = load (%2) : f32
#     %3 = const {value = 0.0} () : f32
#     %4 = cmp {is = gt} (%value, %3) : i1
#     %count.3, %total.3 = if (%4) : i32, f32 do {
#       %total.4 = add (%total.2, %value) : f32
#       %5 = const {value = 1} () : i32
#       %count.4 = add (%count.2, %5) : i32
#       yield (%count.4, %total.4)
#     } do {
#       yield (%count.2, %total.2)
#     }
#     yield (%count.3, %total.3)
#   }
#   %6 = cast {round = rtne} (%count.1) : f32
#   %7 = add (%total.1, %6) : f32
#   store (%x, %7)
#   return ()
# }
# kernel @backwards(%out: ptr<i32>, %n: i32) {
#   %0 = const {value = 0} () : i32
#   %1 = const {value = 2} () : i32
#   for (%0, %n, %1) do (%2: i32) {
#     %3 = add (%n, %0) : i32
#     %i = sub (%3, %2) : i32
#     %4 = ptr_add (%out, %i) : ptr<i32>
#     store (%4, %i)
#     yield ()
#   }
#   return ()
# }
# kernel @options(%out: ptr<i32>, %n: i64) {
#   %0 = const {value = 0} () : i32
#   %1 = const {value = 4} () : i32
#   %2 = cast {round = rtne} (%0) : i64
#   %3 = cast {round = rtne} (%1) : i64
#   for {num_stages = 3, unroll = 2, flatten} (%2, %n, %3) do (%i: i64) {
#     %4 = ptr_add (%out, %i) : ptr<i32>
#     %5 = cast {round = rtne} (%i) : i32
#     store (%4, %5)
#     yield ()
#   }
#   return ()
# }
# kernel @spin(%lock: ptr<i32>, %n: i32) {
#   %tries = const {value = 0} () : i32
#   %tries.1 = while (%tries) : i32 do (%tries.2: i32) {
#     %0 = const {value = 0} () : i32
#     %1 = const {value = 1} () : i32
#     %2 = atomic_cas {sem = acq_rel, scope = gpu} (%lock, %0, %1) : i32
#     %3 = const {value = 1} () : i32
#     %4 = cmp {is = eq} (%2, %3) : i1
#     condition (%4, %tries.2)
#   } do (%tries.3: i32) {
#     %5 = const {value = 1} () : i32
#     %tries.4 = add (%tries.3, %5) : i32
#     yield (%tries.4)
#   }
#   %tries.5 = while {disable_licm} (%tries.1) : i32 do (%tries.6: i32) {
#     %6 = cmp {is = lt} (%tries.6, %n) : i1
#     condition (%6, %tries.6)
#   } do (%tries.7: i32) {
#     %7 = const {value = 2} () : i32
#     %tries.8 = mul (%tries.7, %7) : i32
#     yield (%tries.8)
#   }
#   %tries.9, %got = while (%tries.5) : i32, i32 do (%tries.10: i32) {
#     %got.1 = load (%lock) : i32
#     %8 = cmp {is = lt} (%got.1, %n) : i1
#     condition (%8, %tries.10, %got.1)
#   } do (%tries.11: i32, %got.2: i32) {
#     %tries.12 = add (%tries.11, %got.2) : i32
#     yield (%tries.12)
#   }
#   %9 = add (%tries.9, %got) : i32
#   store (%lock, %9)
#   return ()
# }
# kernel @nest(%x: ptr<f32>, %n: i32, %m: i32) {
#   %acc = call {callee = "zeros"} () : tile<4xf32>
#   %0 = const {value = 0} () : i32
#   %1 = const {value = 1} () : i32
#   %acc.1 = for (%0, %n, %1, %acc) : tile<4xf32> do (%i: i32, %acc.2: tile<4xf32>) {
#     %2 = mul (%i, %m) : i32
#     %row = ptr_add (%x, %2) : ptr<f32>
#     %3 = const {value = 0} () : i32
#     %4 = const {value = 1} () : i32
#     %acc.3 = for (%3, %m, %4, %acc.2) : tile<4xf32> do (%j: i32, %acc.4: tile<4xf32>) {
#       %5 = ptr_add (%row, %j) : ptr<f32>
#       %6 = load (%5) : f32
#       %7 = splat (%6) : tile<4xf32>
#       %acc.5 = add (%acc.4, %7) : tile<4xf32>
#       yield (%acc.5)
#     }
#     yield (%acc.3)
#   }
#   %8 = iota {start = 0} () : tile<4xi32>
#   %9 = splat (%x) : tile<4xptr<f32>>
#   %10 = ptr_add (%9, %8) : tile<4xptr<f32>>
#   store (%10, %acc.1)
#   return ()
# }
#
# func @zeros() -> (tile<4xf32>) {
#   %0 = const {value = 0.0} () : f32
#   %1 = splat (%0) : tile<4xf32>
#   return (%1)
# }
