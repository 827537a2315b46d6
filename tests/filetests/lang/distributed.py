# lower: exchange(*fp32, *i64, *i32, i32, 128)
import triton
import triton.language as tl
import triton_dist.language as dl


@triton.jit
def exchange(x_ptr, flags_ptr, words_ptr, n, BLOCK: tl.constexpr):
    rank = dl.rank()
    peer = (rank + 1) % dl.num_ranks()
    column = dl.rank(axis=1)
    there = dl.symm_at(x_ptr, peer)
    offsets = tl.arange(0, BLOCK)
    tl.store(there + offsets, tl.load(x_ptr + offsets) + column)
    dl.notify(flags_ptr, peer, signal=3, sig_op="add", comm_scope="intra_node")
    token = dl.wait(flags_ptr, 1, "sys", "acquire", waitValue=3)
    if n > 0:
        token = dl.wait(words_ptr, n, "gpu", "relaxed")
    here = dl.consume_token(x_ptr, token)
    tl.store(x_ptr + offsets, tl.load(dl.consume_token(here + offsets, token)))
    dl.notify(flags_ptr, rank)

# ---
# kernel @exchange(%0: ptr<f32>, %1: ptr<i64>, %2: ptr<i32>, %3: i32) {
#   %4 = rank () : i32
#   %5 = const {value = 1} () : i32
#   %6 = add (%4, %5) : i32
#   %7 = num_ranks () : i32
#   %8 = rem (%6, %7) : i32
#   %9 = rank {axis = 1} () : i32
#   %10 = symm_at (%0, %8) : ptr<f32>
#   %11 = iota {start = 0} () : tile<128xi32>
#   %12 = splat (%10) : tile<128xptr<f32>>
#   %13 = ptr_add (%12, %11) : tile<128xptr<f32>>
#   %14 = splat (%0) : tile<128xptr<f32>>
#   %15 = ptr_add (%14, %11) : tile<128xptr<f32>>
#   %16 = load (%15) : tile<128xf32>
#   %17 = cast {round = rtne} (%9) : f32
#   %18 = splat (%17) : tile<128xf32>
#   %19 = add (%16, %18) : tile<128xf32>
#   store (%13, %19)
#   %20 = const {value = 3} () : i64
#   notify {op = add, scope = intra_node} (%1, %8, %20)
#   %21 = const {value = 1} () : i32
#   %22 = const {value = 3} () : i64
#   %23 = wait {sem = acquire, scope = sys} (%1, %21, %22) : token
#   %24 = const {value = 0} () : i32
#   %25 = cmp {is = gt} (%3, %24) : i1
#   %26 = if (%25) : token do {
#     %27 = const {value = 1} () : i32
#     %28 = wait {sem = relaxed, scope = gpu} (%2, %3, %27) : token
#     yield (%28)
#   } do {
#     yield (%23)
#   }
#   %29 = consume_token (%0, %26) : ptr<f32>
#   %30 = splat (%0) : tile<128xptr<f32>>
#   %31 = ptr_add (%30, %11) : tile<128xptr<f32>>
#   %32 = splat (%29) : tile<128xptr<f32>>
#   %33 = ptr_add (%32, %11) : tile<128xptr<f32>>
#   %34 = consume_token (%33, %26) : tile<128xptr<f32>>
#   %35 = load (%34) : tile<128xf32>
#   store (%31, %35)
#   %36 = const {value = 1} () : i64
#   notify {op = set, scope = inter_node} (%1, %4, %36)
#   return ()
# }
