# lower: matmul(*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32, 1, i32, 1, i32, 1, 32, 32, 16)
import triton
import triton.language as tl


@triton.jit
def relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
           BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    offs_m = (pid_m * BM + tl.arange(0, BM)) % M
    offs_n = (pid_n * BN + tl.arange(0, BN)) % N
    offs_k = tl.arange(0, BK)
    a_ptrs = a_ptr + (offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + (offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BK, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BK * stride_ak
        b_ptrs += BK * stride_bk
    c = relu(acc).to(tl.float16)
    offs_cm = pid_m * BM + tl.arange(0, BM)
    offs_cn = pid_n * BN + tl.arange(0, BN)
    c_ptrs = c_ptr + stride_cm * offs_cm[:, None] + stride_cn * offs_cn[None, :]
    tl.store(c_ptrs, c, mask=(offs_cm[:, None] < M) & (offs_cn[None, :] < N))

# ---
# kernel @matmul(%a_ptr: ptr<f16> {divisible = [16]}, %b_ptr: ptr<f16> {divisible = [16]}, %c_ptr: ptr<f16> {divisible = [16]}, %M: i32 {divisible = [16]}, %N: i32 {divisible = [16]}, %K: i32 {divisible = [16]}, %stride_am: i32, %stride_bk: i32, %stride_cm: i32) {
#   %pid_m = program_id {axis = 0} () : i32
#   %pid_n = program_id {axis = 1} () : i32
#   %0 = const {value = 32} () : i32
#   %1 = mul (%pid_m, %0) : i32
#   %2 = iota {start = 0} () : tile<32xi32>
#   %3 = splat (%1) : tile<32xi32>
#   %4 = add (%3, %2) : tile<32xi32>
#   %5 = splat (%M) : tile<32xi32>
#   %offs_m = rem (%4, %5) : tile<32xi32>
#   %6 = const {value = 32} () : i32
#   %7 = mul (%pid_n, %6) : i32
#   %8 = iota {start = 0} () : tile<32xi32>
#   %9 = splat (%7) : tile<32xi32>
#   %10 = add (%9, %8) : tile<32xi32>
#   %11 = splat (%N) : tile<32xi32>
#   %offs_n = rem (%10, %11) : tile<32xi32>
#   %offs_k = iota {start = 0} () : tile<16xi32>
#   %12 = reshape (%offs_m) : tile<32x1xi32>
#   %13 = splat (%stride_am) : tile<32x1xi32>
#   %14 = mul (%12, %13) : tile<32x1xi32>
#   %15 = reshape (%offs_k) : tile<1x16xi32>
#   %16 = const {value = 1} () : i32
#   %17 = splat (%16) : tile<1x16xi32>
#   %18 = mul (%15, %17) : tile<1x16xi32>
#   %19 = broadcast (%14) : tile<32x16xi32>
#   %20 = broadcast (%18) : tile<32x16xi32>
#   %21 = add (%19, %20) : tile<32x16xi32>
#   %22 = splat (%a_ptr) : tile<32x16xptr<f16>>
#   %a_ptrs = ptr_add (%22, %21) : tile<32x16xptr<f16>>
#   %23 = reshape (%offs_k) : tile<16x1xi32>
#   %24 = splat (%stride_bk) : tile<16x1xi32>
#   %25 = mul (%23, %24) : tile<16x1xi32>
#   %26 = reshape (%offs_n) : tile<1x32xi32>
#   %27 = const {value = 1} () : i32
#   %28 = splat (%27) : tile<1x32xi32>
#   %29 = mul (%26, %28) : tile<1x32xi32>
#   %30 = broadcast (%25) : tile<16x32xi32>
#   %31 = broadcast (%29) : tile<16x32xi32>
#   %32 = add (%30, %31) : tile<16x32xi32>
#   %33 = splat (%b_ptr) : tile<16x32xptr<f16>>
#   %b_ptrs = ptr_add (%33, %32) : tile<16x32xptr<f16>>
#   %acc = call {callee = "zeros"} () : tile<32x32xf32>
#   %34 = call {callee = "cdiv"} (%K) : i32
#   %35 = const {value = 0} () : i32
#   %36 = const {value = 1} () : i32
#   %a_ptrs.1, %acc.1, %b_ptrs.1 = for (%35, %34, %36, %a_ptrs, %acc, %b_ptrs) : tile<32x16xptr<f16>>, tile<32x32xf32>, tile<16x32xptr<f16>> do (%k: i32, %a_ptrs.2: tile<32x16xptr<f16>>, %acc.2: tile<32x32xf32>, %b_ptrs.2: tile<16x32xptr<f16>>) {
#     %37 = reshape (%offs_k) : tile<1x16xi32>
#     %38 = const {value = 16} () : i32
#     %39 = mul (%k, %38) : i32
#     %40 = sub (%K, %39) : i32
#     %41 = splat (%40) : tile<1x16xi32>
#     %42 = cmp {is = lt} (%37, %41) : tile<1x16xi1>
#     %43 = const {value = 0.0} () : f16
#     %44 = broadcast (%42) : tile<32x16xi1>
#     %45 = splat (%43) : tile<32x16xf16>
#     %a = load (%a_ptrs.2, %44, %45) : tile<32x16xf16>
#     %46 = reshape (%offs_k) : tile<16x1xi32>
#     %47 = const {value = 16} () : i32
#     %48 = mul (%k, %47) : i32
#     %49 = sub (%K, %48) : i32
#     %50 = splat (%49) : tile<16x1xi32>
#     %51 = cmp {is = lt} (%46, %50) : tile<16x1xi1>
#     %52 = const {value = 0.0} () : f16
#     %53 = broadcast (%51) : tile<16x32xi1>
#     %54 = splat (%52) : tile<16x32xf16>
#     %b = load (%b_ptrs.2, %53, %54) : tile<16x32xf16>
#     %acc.3 = dot {precision = ieee} (%a, %b, %acc.2) : tile<32x32xf32>
#     %55 = const {value = 16} () : i32
#     %56 = splat (%55) : tile<32x16xi32>
#     %a_ptrs.3 = ptr_add (%a_ptrs.2, %56) : tile<32x16xptr<f16>>
#     %57 = const {value = 16} () : i32
#     %58 = mul (%57, %stride_bk) : i32
#     %59 = splat (%58) : tile<16x32xi32>
#     %b_ptrs.3 = ptr_add (%b_ptrs.2, %59) : tile<16x32xptr<f16>>
#     yield (%a_ptrs.3, %acc.3, %b_ptrs.3)
#   }
#   %60 = call {callee = "relu"} (%acc.1) : tile<32x32xf32>
#   %c = cast {round = rtne} (%60) : tile<32x32xf16>
#   %61 = const {value = 32} () : i32
#   %62 = mul (%pid_m, %61) : i32
#   %63 = iota {start = 0} () : tile<32xi32>
#   %64 = splat (%62) : tile<32xi32>
#   %offs_cm = add (%64, %63) : tile<32xi32>
#   %65 = const {value = 32} () : i32
#   %66 = mul (%pid_n, %65) : i32
#   %67 = iota {start = 0} () : tile<32xi32>
#   %68 = splat (%66) : tile<32xi32>
#   %offs_cn = add (%68, %67) : tile<32xi32>
#   %69 = reshape (%offs_cm) : tile<32x1xi32>
#   %70 = splat (%stride_cm) : tile<32x1xi32>
#   %71 = mul (%70, %69) : tile<32x1xi32>
#   %72 = splat (%c_ptr) : tile<32x1xptr<f16>>
#   %73 = ptr_add (%72, %71) : tile<32x1xptr<f16>>
#   %74 = reshape (%offs_cn) : tile<1x32xi32>
#   %75 = const {value = 1} () : i32
#   %76 = splat (%75) : tile<1x32xi32>
#   %77 = mul (%76, %74) : tile<1x32xi32>
#   %78 = broadcast (%73) : tile<32x32xptr<f16>>
#   %79 = broadcast (%77) : tile<32x32xi32>
#   %c_ptrs = ptr_add (%78, %79) : tile<32x32xptr<f16>>
#   %80 = reshape (%offs_cm) : tile<32x1xi32>
#   %81 = splat (%M) : tile<32x1xi32>
#   %82 = cmp {is = lt} (%80, %81) : tile<32x1xi1>
#   %83 = reshape (%offs_cn) : tile<1x32xi32>
#   %84 = splat (%N) : tile<1x32xi32>
#   %85 = cmp {is = lt} (%83, %84) : tile<1x32xi1>
#   %86 = broadcast (%82) : tile<32x32xi1>
#   %87 = broadcast (%85) : tile<32x32xi1>
#   %88 = and (%86, %87) : tile<32x32xi1>
#   store (%c_ptrs, %c, %88)
#   return ()
# }
#
# func @zeros() -> (tile<32x32xf32>) {
#   %0 = const {value = 0.0} () : f32
#   %1 = splat (%0) : tile<32x32xf32>
#   return (%1)
# }
#
# func @cdiv(%x: i32) -> (i32) {
#   %0 = const {value = 15} () : i32
#   %1 = add (%x, %0) : i32
#   %2 = const {value = 16} () : i32
#   %3 = div (%1, %2) : i32
#   return (%3)
# }
#
# func @relu(%x: tile<32x32xf32>) -> (tile<32x32xf32>) {
#   %0 = const {value = 0.0} () : f32
#   %1 = splat (%0) : tile<32x32xf32>
#   %2 = cmp {is = ge} (%x, %1) : tile<32x32xi1>
#   %3 = const {value = 0.01} () : f32
#   %4 = splat (%3) : tile<32x32xf32>
#   %5 = mul (%4, %x) : tile<32x32xf32>
#   %6 = select (%2, %x, %5) : tile<32x32xf32>
#   return (%6)
# }
