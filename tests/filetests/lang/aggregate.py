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
# kernel @aggregate(%out: ptr<f32>, %n: i32) {
#   %z = const {value = 1.0} () : f32
#   %z.1 = const {value = 2.0} () : f32
#   %0 = const {value = 0} () : i32
#   %1 = const {value = 1} () : i32
#   %z.2, %z.3 = for (%0, %n, %1, %z, %z.1) : f32, f32 do (%i: i32, %z.4: f32, %z.5: f32) {
#     %z.6, %z.7 = call {callee = "__mul__"} (%z.4, %z.5, %z.4, %z.5) : f32, f32
#     yield (%z.6, %z.7)
#   }
#   %2 = call {callee = "norm2"} (%z.2, %z.3) : f32
#   store (%out, %2)
#   return ()
# }
#
# func @__mul__(%self: f32, %self.1: f32, %other: f32, %other.1: f32) -> (f32, f32) {
#   %0 = mul (%self, %other) : f32
#   %1 = mul (%self.1, %other.1) : f32
#   %2 = sub (%0, %1) : f32
#   %3 = mul (%self, %other.1) : f32
#   %4 = mul (%self.1, %other) : f32
#   %5 = add (%3, %4) : f32
#   return (%2, %5)
# }
#
# func @norm2(%self: f32, %self.1: f32) -> (f32) {
#   %0 = mul (%self, %self) : f32
#   %1 = mul (%self.1, %self.1) : f32
#   %2 = add (%0, %1) : f32
#   return (%2)
# }
