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
