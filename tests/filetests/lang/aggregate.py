# lower: aggregate(*fp32, i32)
import triton
import triton.language as tl


@tl.core._aggregate
class Complex:
    re: tl.tensor
    im: tl.tensor

    @triton.jit
    def __mul__(self, other):
        return Complex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

    @triton.jit
    def norm2(self):
        return self.re * self.re + self.im * self.im


@triton.jit
def aggregate(out, n):
    z = Complex(1.0, 2.0)
    for i in range(n):
        z = z * z
    tl.store(out, z.norm2())

# ---
# kernel @aggregate(%0: ptr<f32>, %1: i32) {
#   %2 = const {value = 1.0} () : f32
#   %3 = const {value = 2.0} () : f32
#   %4 = const {value = 0} () : i32
#   %5 = const {value = 1} () : i32
#   %6, %7 = for (%4, %1, %5, %2, %3) : f32, f32 do (%8: i32, %9: f32, %10: f32) {
#     %11, %12 = call {callee = "__mul__"} (%9, %10, %9, %10) : f32, f32
#     yield (%11, %12)
#   }
#   %13 = call {callee = "norm2"} (%6, %7) : f32
#   store (%0, %13)
#   return ()
# }
#
# func @__mul__(%0: f32, %1: f32, %2: f32, %3: f32) -> (f32, f32) {
#   %4 = mul (%0, %2) : f32
#   %5 = mul (%1, %3) : f32
#   %6 = sub (%4, %5) : f32
#   %7 = mul (%0, %3) : f32
#   %8 = mul (%1, %2) : f32
#   %9 = add (%7, %8) : f32
#   return (%6, %9)
# }
#
# func @norm2(%0: f32, %1: f32) -> (f32) {
#   %2 = mul (%0, %0) : f32
#   %3 = mul (%1, %1) : f32
#   %4 = add (%2, %3) : f32
#   return (%4)
# }
