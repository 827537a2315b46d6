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
# kernel @exchange(%x_ptr: ptr<f32>, %flags_ptr: ptr<i64>, %words_ptr: ptr<i32>, %n: i32) {
#   %rank = rank () : i32
#   %0 = const {value = 1} () : i32
#   %1 = add (%rank, %0) : i32
#   %2 = num_ranks () : i32
#   %peer = rem (%1, %2) : i32
#   %column = rank {axis = 1} () : i32
#   %there = symm_at (%x_ptr, %peer) : ptr<f32>
#   %offsets = iota {start = 0} () : tile<128xi32>
#   %3 = splat (%there) : tile<128xptr<f32>>
#   %4 = ptr_add (%3, %offsets) : tile<128xptr<f32>>
#   %5 = splat (%x_ptr) : tile<128xptr<f32>>
#   %6 = ptr_add (%5, %offsets) : tile<128xptr<f32>>
#   %7 = load (%6) : tile<128xf32>
#   %8 = cast {round = rtne} (%column) : f32
#   %9 = splat (%8) : tile<128xf32>
#   %10 = add (%7, %9) : tile<128xf32>
#   store (%4, %10)
#   %11 = const {value = 3} () : i64
#   notify {op = add, scope = intra_node} (%flags_ptr, %peer, %11)
#   %12 = const {value = 1} () : i32
#   %13 = const {value = 3} () : i64
#   %token = wait {sem = acquire, scope = sys} (%flags_ptr, %12, %13) : token
#   %14 = const {value = 0} () : i32
#   %15 = cmp {is = gt} (%n, %14) : i1
#   %token.1 = if (%15) : token do {
#     %16 = const {value = 1} () : i32
#     %token.2 = wait {sem = relaxed, scope = gpu} (%words_ptr, %n, %16) : token
#     yield (%token.2)
#   } do {
#     yield (%token)
#   }
#   %here = consume_token (%x_ptr, %token.1) : ptr<f32>
#   %17 = splat (%x_ptr) : tile<128xptr<f32>>
#   %18 = ptr_add (%17, %offsets) : tile<128xptr<f32>>
#   %19 = splat (%here) : tile<128xptr<f32>>
#   %20 = ptr_add (%19, %offsets) : tile<128xptr<f32>>
#   %21 = consume_token (%20, %token.1) : tile<128xptr<f32>>
#   %22 = load (%21) : tile<128xf32>
#   store (%18, %22)
#   %23 = const {value = 1} () : i64
#   notify {op = set, scope = inter_node} (%flags_ptr, %rank, %23)
#   return ()
# }
