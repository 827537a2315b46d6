# lower: inherits(*fp32)
import triton
import triton.language as tl


@triton.aggregate
class Shape:
    width: tl.constexpr
    height: tl.constexpr = 2

    @staticmethod
    @triton.jit
    def square(side: tl.constexpr):
        return Shape(side, side)


@triton.aggregate
class Box(Shape):
    value: tl.tensor

    @triton.jit
    def __getitem__(self, i):
        return self.value + i


@triton.jit
def inherits(out):
    box = Box(3, 4, tl.load(out))
    square = box.square(box.height)
    tl.store(out, box[square.width])

# ---
# kernel @inherits(%out: ptr<f32>) {
#   %box = load (%out) : f32
#   call {callee = "square"} ()
#   %0 = call {callee = "__getitem__"} (%box) : f32
#   store (%out, %0)
#   return ()
# }
#
# func @square() {
#   return ()
# }
#
# func @__getitem__(%self: f32) -> (f32) {
#   %0 = const {value = 4.0} () : f32
#   %1 = add (%self, %0) : f32
#   return (%1)
# }
