"""Layer norm, forward and backward
================================

Layer norm is the first kernel here that is trained through. The backward pass has two kinds of results: the gradient of
the input, row by row, and those of weight and bias, which are sums over all rows. Programs that all add to the same
memory use atomics.

What to see here: a reduction over a row in two steps, `atomic_add`, and a check against differences.
"""

import sys

import numpy as np

import shoal
import shoal.language as tl


@shoal.jit
def forward_kernel(x, weight, bias, out, mean, rstd, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row * columns + at, mask=inside, other=0.0)
    average = tl.sum(values, axis=0) / columns
    centred = tl.where(inside, values - average, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / columns + eps)
    # The backward pass needs both again.
    tl.store(mean + row, average)
    tl.store(rstd + row, scale)
    result = centred * scale * tl.load(weight + at, mask=inside) + tl.load(bias + at, mask=inside)
    tl.store(out + row * columns + at, result, mask=inside)


@shoal.jit
def backward_kernel(grad, x, weight, mean, rstd, grad_x, grad_weight, grad_bias, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    average, scale = tl.load(mean + row), tl.load(rstd + row)
    given = tl.load(grad + row * columns + at, mask=inside, other=0.0)
    normal = tl.where(inside, (tl.load(x + row * columns + at, mask=inside, other=0.0) - average) * scale, 0.0)
    weighted = given * tl.load(weight + at, mask=inside, other=0.0)
    # The parts of the gradient that mean and variance take away.
    along = tl.sum(weighted * normal, axis=0) / columns
    level = tl.sum(weighted, axis=0) / columns
    tl.store(grad_x + row * columns + at, (weighted - normal * along - level) * scale, mask=inside)
    # Every row adds to the same two vectors.
    tl.atomic_add(grad_weight + at, given * normal, mask=inside, sem="relaxed")
    tl.atomic_add(grad_bias + at, given, mask=inside, sem="relaxed")


def forward(x, weight, bias, eps=1e-5):
    rows, columns = x.shape
    out, mean, rstd = np.empty_like(x), np.empty(rows, np.float32), np.empty(rows, np.float32)
    block = shoal.next_power_of_2(columns)
    forward_kernel[(rows,)](x, weight, bias, out, mean, rstd, columns, eps, BLOCK=block)
    return out, mean, rstd


def backward(grad, x, weight, mean, rstd):
    rows, columns = x.shape
    grad_x, grad_weight, grad_bias = np.empty_like(x), np.zeros_like(weight), np.zeros_like(weight)
    block = shoal.next_power_of_2(columns)
    backward_kernel[(rows,)](grad, x, weight, mean, rstd, grad_x, grad_weight, grad_bias, columns, BLOCK=block)
    return grad_x, grad_weight, grad_bias


def reference(x, weight, bias, eps=1e-5):
    x = x.astype(np.float64)
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + eps) * weight + bias


random = np.random.default_rng(0)
x = random.standard_normal((37, 500), dtype=np.float32)
weight, bias = random.standard_normal((2, 500), dtype=np.float32)
out, mean, rstd = forward(x, weight, bias)
np.testing.assert_allclose(out, reference(x, weight, bias), rtol=1e-4, atol=1e-5)
print("forward agrees with NumPy in double precision")

# The gradients of sum(out * grad), against differences along random directions.
grad = random.standard_normal(x.shape, dtype=np.float32)
found = backward(grad, x, weight, mean, rstd)
step = 1e-6
given = [x.astype(np.float64), weight.astype(np.float64), bias.astype(np.float64)]
for which, name in enumerate(["input", "weight", "bias"]):
    direction = random.standard_normal(given[which].shape)
    ends = []
    for sign in (-1, 1):
        moved = [value + sign * step * direction if i == which else value for i, value in enumerate(given)]
        ends.append((reference(*moved) * grad).sum())
    wanted = (ends[1] - ends[0]) / (2 * step)
    np.testing.assert_allclose((found[which] * direction).sum(), wanted, rtol=1e-3, atol=1e-2)
    print(f"the gradient of the {name} agrees with differences")


@shoal.testing.perf_report(
    shoal.testing.Benchmark(
        x_names=["columns"],
        x_vals=[512, 1024] if "--quick" in sys.argv else [512 * i for i in range(1, 17, 3)],
        line_arg="provider",
        line_vals=["forward", "backward"],
        line_names=["forward", "backward"],
        ylabel="GB/s",
        plot_name="layer-norm",
        args={"rows": 128 if "--quick" in sys.argv else 1024},
    )
)
def benchmark(rows, columns, provider):
    x, grad = random.standard_normal((2, rows, columns), dtype=np.float32)
    weight, bias = random.standard_normal((2, columns), dtype=np.float32)
    _, mean, rstd = forward(x, weight, bias)
    calls = {
        "forward": (2, lambda: forward(x, weight, bias)),
        "backward": (3, lambda: backward(grad, x, weight, mean, rstd)),
    }
    arrays, call = calls[provider]
    how = {"warmup": 2, "rep": 5} if "--quick" in sys.argv else {}
    return arrays * x.nbytes * 1e-6 / shoal.testing.do_bench(call, **how)


folder = next((argument for argument in sys.argv[1:] if not argument.startswith("-")), "")
benchmark.run(print_data=True, show_plots=False, save_path=folder)
