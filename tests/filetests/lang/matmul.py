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
# kernel @matmul(%0: ptr<f16> {divisible = [16]}, %1: ptr<f16> {divisible = [16]}, %2: ptr<f16> {divisible = [16]}, %3: i32 {divisible = [16]}, %4: i32 {divisible = [16]}, %5: i32 {divisible = [16]}, %6: i32, %7: i32, %8: i32) {
#   %9 = program_id {axis = 0} () : i32
#   %10 = program_id {axis = 1} () : i32
#   %11 = const {value = 32} () : i32
#   %12 = mul (%9, %11) : i32
#   %13 = iota {start = 0} () : tile<32xi32>
#   %14 = splat (%12) : tile<32xi32>
#   %15 = add (%14, %13) : tile<32xi32>
#   %16 = splat (%3) : tile<32xi32>
#   %17 = rem (%15, %16) : tile<32xi32>
#   %18 = const {value = 32} () : i32
#   %19 = mul (%10, %18) : i32
#   %20 = iota {start = 0} () : tile<32xi32>
#   %21 = splat (%19) : tile<32xi32>
#   %22 = add (%21, %20) : tile<32xi32>
#   %23 = splat (%4) : tile<32xi32>
#   %24 = rem (%22, %23) : tile<32xi32>
#   %25 = iota {start = 0} () : tile<16xi32>
#   %26 = reshape (%17) : tile<32x1xi32>
#   %27 = splat (%6) : tile<32x1xi32>
#   %28 = mul (%26, %27) : tile<32x1xi32>
#   %29 = reshape (%25) : tile<1x16xi32>
#   %30 = const {value = 1} () : i32
#   %31 = splat (%30) : tile<1x16xi32>
#   %32 = mul (%29, %31) : tile<1x16xi32>
#   %33 = broadcast (%28) : tile<32x16xi32>
#   %34 = broadcast (%32) : tile<32x16xi32>
#   %35 = add (%33, %34) : tile<32x16xi32>
#   %36 = splat (%0) : tile<32x16xptr<f16>>
#   %37 = ptr_add (%36, %35) : tile<32x16xptr<f16>>
#   %38 = reshape (%25) : tile<16x1xi32>
#   %39 = splat (%7) : tile<16x1xi32>
#   %40 = mul (%38, %39) : tile<16x1xi32>
#   %41 = reshape (%24) : tile<1x32xi32>
#   %42 = const {value = 1} () : i32
#   %43 = splat (%42) : tile<1x32xi32>
#   %44 = mul (%41, %43) : tile<1x32xi32>
#   %45 = broadcast (%40) : tile<16x32xi32>
#   %46 = broadcast (%44) : tile<16x32xi32>
#   %47 = add (%45, %46) : tile<16x32xi32>
#   %48 = splat (%1) : tile<16x32xptr<f16>>
#   %49 = ptr_add (%48, %47) : tile<16x32xptr<f16>>
#   %50 = call {callee = "zeros"} () : tile<32x32xf32>
#   %51 = call {callee = "cdiv"} (%5) : i32
#   %52 = const {value = 0} () : i32
#   %53 = const {value = 1} () : i32
#   %54, %55, %56 = for (%52, %51, %53, %37, %50, %49) : tile<32x16xptr<f16>>, tile<32x32xf32>, tile<16x32xptr<f16>> do (%57: i32, %58: tile<32x16xptr<f16>>, %59: tile<32x32xf32>, %60: tile<16x32xptr<f16>>) {
#     %61 = reshape (%25) : tile<1x16xi32>
#     %62 = const {value = 16} () : i32
#     %63 = mul (%57, %62) : i32
#     %64 = sub (%5, %63) : i32
#     %65 = splat (%64) : tile<1x16xi32>
#     %66 = cmp {is = lt} (%61, %65) : tile<1x16xi1>
#     %67 = const {value = 0.0} () : f16
#     %68 = broadcast (%66) : tile<32x16xi1>
#     %69 = splat (%67) : tile<32x16xf16>
#     %70 = load (%58, %68, %69) : tile<32x16xf16>
#     %71 = reshape (%25) : tile<16x1xi32>
#     %72 = const {value = 16} () : i32
#     %73 = mul (%57, %72) : i32
#     %74 = sub (%5, %73) : i32
#     %75 = splat (%74) : tile<16x1xi32>
#     %76 = cmp {is = lt} (%71, %75) : tile<16x1xi1>
#     %77 = const {value = 0.0} () : f16
#     %78 = broadcast (%76) : tile<16x32xi1>
#     %79 = splat (%77) : tile<16x32xf16>
#     %80 = load (%60, %78, %79) : tile<16x32xf16>
#     %81 = dot {precision = ieee} (%70, %80, %59) : tile<32x32xf32>
#     %82 = const {value = 16} () : i32
#     %83 = splat (%82) : tile<32x16xi32>
#     %84 = ptr_add (%58, %83) : tile<32x16xptr<f16>>
#     %85 = const {value = 16} () : i32
#     %86 = mul (%85, %7) : i32
#     %87 = splat (%86) : tile<16x32xi32>
#     %88 = ptr_add (%60, %87) : tile<16x32xptr<f16>>
#     yield (%84, %81, %88)
#   }
#   %89 = call {callee = "relu"} (%55) : tile<32x32xf32>
#   %90 = cast {round = rtne} (%89) : tile<32x32xf16>
#   %91 = const {value = 32} () : i32
#   %92 = mul (%9, %91) : i32
#   %93 = iota {start = 0} () : tile<32xi32>
#   %94 = splat (%92) : tile<32xi32>
#   %95 = add (%94, %93) : tile<32xi32>
#   %96 = const {value = 32} () : i32
#   %97 = mul (%10, %96) : i32
#   %98 = iota {start = 0} () : tile<32xi32>
#   %99 = splat (%97) : tile<32xi32>
#   %100 = add (%99, %98) : tile<32xi32>
#   %101 = reshape (%95) : tile<32x1xi32>
#   %102 = splat (%8) : tile<32x1xi32>
#   %103 = mul (%102, %101) : tile<32x1xi32>
#   %104 = splat (%2) : tile<32x1xptr<f16>>
#   %105 = ptr_add (%104, %103) : tile<32x1xptr<f16>>
#   %106 = reshape (%100) : tile<1x32xi32>
#   %107 = const {value = 1} () : i32
#   %108 = splat (%107) : tile<1x32xi32>
#   %109 = mul (%108, %106) : tile<1x32xi32>
#   %110 = broadcast (%105) : tile<32x32xptr<f16>>
#   %111 = broadcast (%109) : tile<32x32xi32>
#   %112 = ptr_add (%110, %111) : tile<32x32xptr<f16>>
#   %113 = reshape (%95) : tile<32x1xi32>
#   %114 = splat (%3) : tile<32x1xi32>
#   %115 = cmp {is = lt} (%113, %114) : tile<32x1xi1>
#   %116 = reshape (%100) : tile<1x32xi32>
#   %117 = splat (%4) : tile<1x32xi32>
#   %118 = cmp {is = lt} (%116, %117) : tile<1x32xi1>
#   %119 = broadcast (%115) : tile<32x32xi1>
#   %120 = broadcast (%118) : tile<32x32xi1>
#   %121 = and (%119, %120) : tile<32x32xi1>
#   store (%112, %90, %121)
#   return ()
# }
#
# func @zeros() -> (tile<32x32xf32>) {
#   %0 = const {value = 0.0} () : f32
#   %1 = splat (%0) : tile<32x32xf32>
#   return (%1)
# }
#
# func @cdiv(%0: i32) -> (i32) {
#   %1 = const {value = 15} () : i32
#   %2 = add (%0, %1) : i32
#   %3 = const {value = 16} () : i32
#   %4 = div (%2, %3) : i32
#   return (%4)
# }
#
# func @relu(%0: tile<32x32xf32>) -> (tile<32x32xf32>) {
#   %1 = const {value = 0.0} () : f32
#   %2 = splat (%1) : tile<32x32xf32>
#   %3 = cmp {is = ge} (%0, %2) : tile<32x32xi1>
#   %4 = const {value = 0.01} () : f32
#   %5 = splat (%4) : tile<32x32xf32>
#   %6 = mul (%5, %0) : tile<32x32xf32>
#   %7 = select (%3, %0, %6) : tile<32x32xf32>
#   return (%7)
# }
