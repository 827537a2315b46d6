"""RMS norm over the rows of a matrix: y = x / sqrt(mean(x^2) + eps) * w."""

import shoal
import shoal.language as tl


@shoal.jit
def rms_norm(x, w, y, stride, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < cols
    value = tl.load(x + row * stride + at, mask=inside, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(value * value, axis=0) / cols + eps)
    weight = tl.load(w + at, mask=inside).to(tl.float32)
    tl.store(y + row * stride + at, value * scale * weight, mask=inside)
