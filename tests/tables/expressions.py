"""Asks Triton for the type of many expressions over tiles of several dtypes, and writes the answers to `expressions.txt`.

Run with a Python that has Triton 3.9 (no GPU is needed):

    python tests/tables/expressions.py > tests/tables/expressions.txt

An expression stands on a line of its own, and below it the types it has when the kernel's pointer `P` points to each of
the dtypes at the head of the table: `fp32[16]`, `None` for statements, `-` where Triton reports an error.
"""

import contextlib
import importlib.util
import io
import re
import tempfile
import warnings
from pathlib import Path

import triton
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler.compiler import make_backend

DTYPES = ["i1", "i8", "u32", "i64", "fp16", "bf16", "fp32", "fp8e5"]

KERNEL = """import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def ident(a):
    return a


@triton.jit
def ident2(a, b):
    return a


@triton.jit
def kernel(P, n):
    i = tl.arange(0, 16)
    c = i < n
    x = tl.load(P + i)
    s = tl.load(P)
    y = tl.load(P + tl.arange(0, 4)[:, None] * 16 + i[None, :])
    r = EXPRESSION
    tl.static_print("RESULT", r.type if r is not None else None)
"""

EXPRESSIONS = """
x + 1
x - 1
x * 2
x / 2
x // 2
x % 2
x + 1.5
x * True
1 - x
2 / x
x + n
x + s
x & 1
x | n
x ^ x
x << 1
x >> 1
-x
~x
not c
x < 1
x == s
x != n
x >= 1.5
x + y
y + x
x[None, :] + y
x[:, None]
x[None, :, None]
y[None]
tl.where(c, x, 0)
tl.where(c, x, 1.5)
tl.where(x > 0, x, y)
tl.where(c, 1, 2)
tl.where(c, x, n)
tl.minimum(x, 0)
tl.maximum(x, x)
tl.maximum(x, 1.5)
tl.maximum(x, n)
tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL)
tl.clamp(x, 0, 1)
tl.clamp(x, 0.5, 1.5)
tl.fma(x, x, x)
tl.fma(x, 2.0, s)
tl.exp(x)
tl.sqrt_rn(x)
tl.rsqrt(x)
tl.abs(x)
tl.floor(x)
tl.umulhi(x, x)
tl.umulhi(x, 3)
tl.div_rn(x, x)
tl.div_rn(x, 2.0)
tl.fdiv(x, x)
tl.fdiv(x, 2)
tl.fdiv(x, x, ieee_rounding=True)
tl.erf(x)
tl.cast(x, tl.float32)
x.to(tl.float16)
x.to(tl.bfloat16)
x.to(tl.float8e5)
x.to(tl.int8)
x.to(tl.uint64)
x.to(tl.int1)
x.to(tl.float32, fp_downcast_rounding="rtz")
x.to(tl.float16, fp_downcast_rounding="rtz")
x.to(tl.int32, bitcast=True)
x.to(tl.uint8, bitcast=True)
x.to(tl.float16, bitcast=True)
tl.sum(x)
tl.sum(y, 1)
tl.sum(y, 0, keep_dims=True)
tl.sum(y, keep_dims=True)
tl.sum(x, dtype=tl.float32)
tl.max(y, 1)
tl.max(y, axis=-1, keep_dims=True)
tl.min(x)
tl.argmax(y, 1)
tl.argmin(x, 0, keep_dims=True)
tl.xor_sum(x)
tl.reduce_or(x, 0)
tl.cumprod(y, 1)
tl.sort(y)
tl.topk(y, 4)
tl.topk(y, 1)
tl.flip(y)
tl.flip(y, 0)
tl.softmax(x)
tl.sigmoid(x)
tl.cdiv(x, 3)
tl.ravel(y)
tl.interleave(x, x)
tl.join(x, x)
tl.join(s, s)
tl.split(tl.join(x, x))[0]
tl.cat(x, x)
tl.cat(x, x, can_reorder=True)
tl.reshape(y, 64)
tl.reshape(y, (8, 8))
y.reshape(2, 32)
y.reshape(65)
tl.trans(y)
tl.permute(y, 1, 0)
tl.permute(y, (0, 1))
y.T
tl.trans(x)
tl.expand_dims(x, 0)
tl.expand_dims(x, (0, 2))
tl.expand_dims(x, -1)
tl.broadcast_to(x, (4, 16))
tl.broadcast_to(x[None, :], (4, 16))
tl.broadcast_to(s, (4, 16))
tl.broadcast(x, y)[0]
tl.squeeze(x[None, :], 0)
tl.unsqueeze(x, 1)
tl.item(tl.sum(y, keep_dims=True))
tl.gather(y, tl.broadcast_to(i[None, :], (4, 16)), 1)
tl.gather(x, i.to(tl.int64), 0)
tl.histogram(x, 16)
tl.histogram(i, 16, mask=i < 8)
tl.zeros_like(y)
tl.full((4, 4), s, tl.float32)
tl.full((4,), 3, tl.int8)
tl.full((4,), 1.5, tl.float32)
tl.load(P)
tl.load(P + i)
tl.load(P + i, mask=i < n)
tl.load(P + i, mask=i < n, other=0)
tl.load(P + i, mask=i < n, other=0.0)
tl.load(P + i[:, None], mask=(i < n)[None, :])
tl.load(P + x)
tl.load(P - i)
tl.load(i + P)
tl.load(P, mask=n > 0)
tl.load(P, mask=i < n)
tl.load(P + i, cache_modifier=".ca", eviction_policy="evict_last", volatile=True)
tl.atomic_add(P + i, x)
tl.atomic_add(P, 1)
tl.atomic_add(P + i, x, mask=i < n, sem="relaxed", scope="sys")
tl.atomic_max(P + i, x)
tl.atomic_min(P, s)
tl.atomic_and(P + i, x)
tl.atomic_xchg(P + i, x)
tl.atomic_cas(P + i, x, x)
tl.atomic_load(P)
tl.atomic_load(P + i)
tl.dot(tl.broadcast_to(x[None, :], (16, 16)), tl.broadcast_to(x[:, None], (16, 16)))
tl.dot(tl.broadcast_to(x[None, :], (16, 16)), tl.broadcast_to(x[:, None], (16, 16)), out_dtype=tl.float16)
tl.dot(tl.broadcast_to(x[None, :], (16, 16)), tl.broadcast_to(x[:, None], (16, 16)), acc=tl.zeros((16, 16), tl.float32))
tl.dot(tl.broadcast_to(x[None, :], (16, 16)), tl.broadcast_to(x[:, None], (16, 16)), acc=tl.zeros((16, 16), tl.int32))
tl.arange(1, 9)
tl.program_id(0)
tl.num_programs(2)
tl.multiple_of(x, 16)
tl.max_contiguous(i, 16)
tl.rand(n, i)
tl.randint(n, i)
tl.randn(3, i)
tl.to_tensor(3)
tl.to_tensor(3.0)
tl.to_tensor(True)
tl.to_tensor(1 << 40)
tl.add(x, 1)
tl.mul(x, x, sanitize_overflow=False)
tl.map_elementwise(ident, x)
tl.reduce(x, 0, ident2)
tl.associative_scan(y, 1, ident2)
tl.device_print("x", x)
x and c
c and c
c or (x > 0)
x.sum()
x.max(0)
x.cast(tl.float32)
x.exp()
x.abs()
y.trans()
min(n, 3)
max(n, 3.5)
min(s, s)
libdevice.exp(x)
libdevice.isnan(x)
libdevice.pow(x, x)
libdevice.pow(x, n)
libdevice.clz(x)
libdevice.abs(x)
libdevice.float_as_int(x)
tl.sum(s)
tl.max(s, 0)
s[None]
s[:, None]
s[None, None]
s[None, :]
tl.reshape(s, 1)
tl.reshape(s, (1, 1))
tl.reshape(x[None, :], (16, 1))
tl.reshape(tl.sum(x, keep_dims=True), ())
tl.trans(s)
tl.expand_dims(s, 0)
tl.expand_dims(s, 1)
tl.cumsum(s)
tl.sort(s)
tl.flip(s)
x[:, :]
x[0]
x[0:4]
x[...]
P + 1.5
P - P
P + P
P == P
P < P
P * 2
P & 1
-P
~P
not P
P.to(tl.int64)
P.to(tl.uint64)
P.to(tl.int32)
P.to(tl.int1)
P.to(tl.float32)
P.to(tl.int64, bitcast=True)
(P + i).to(tl.pointer_type(tl.int8))
(P + i).to(tl.pointer_type(tl.int8), bitcast=True)
tl.cast(n, tl.pointer_type(tl.float32))
tl.cast(n.to(tl.int64), tl.pointer_type(tl.float32))
tl.cast(3.0, tl.pointer_type(tl.float32))
tl.where(c, P + i, P)
tl.where(c, P, 0)
tl.where(P + i, x, x)
(P + i)[:, None]
tl.broadcast_to(P, (4,))
tl.join(P + i, P + i)
tl.trans((P + i)[None, :])
P + n.to(tl.uint32)
P + True
P + (i < 3)
P - 3
P - n
3 - P
3 + P
tl.store(P, 1)
tl.store(P, 1.5)
tl.store(P + i, x)
tl.store(P + i, x, mask=c)
tl.store(P + i, s)
tl.store(P, x)
tl.store(P + i, y)
tl.store(P + i, x, mask=n > 1)
tl.store(P + i, x, mask=i)
tl.store(P + i, x, mask=True)
tl.store(x, x)
tl.store(P + i, x, cache_modifier=".ca")
tl.load(P + i, cache_modifier=".wb")
tl.load(P + i, eviction_policy="x")
tl.load(P + i, other=0)
tl.load(P + i, mask=i)
tl.load(P + i, mask=True, other=0)
tl.load(P, mask=True, other=x)
tl.load(n)
tl.load(P + i, mask=c[None, :])
tl.atomic_cas(P, 0, 1)
tl.atomic_cas(P + i, 0, 1)
tl.atomic_cas(P, s, s)
tl.atomic_cas(n, 0, 1)
tl.atomic_add(P, x)
tl.atomic_add(P + i, 1, mask=c)
tl.atomic_add(P + i, 1, mask=i)
tl.atomic_add(P + i, 1, sem="seq")
tl.atomic_add(P + i, 1, scope="x")
tl.atomic_add(P + i, y)
tl.atomic_store(P, 1)
tl.atomic_store(P + i, x, sem="acquire")
tl.atomic_load(P, sem="release")
tl.atomic_poll(P, 1)
tl.atomic_poll(P, 1, timeout_ns=100)
tl.atomic_poll(P, 1, timeout_ns=-1)
tl.arange(0, 3)
tl.arange(4, 4)
tl.arange(4, 0)
tl.arange(0, n)
tl.arange(0, 1 << 33)
tl.full((3,), 0, tl.int32)
tl.full((4,), n, tl.float32)
tl.full((4,), x, tl.float32)
tl.full((), 1, tl.int8)
tl.full((4,), 1.5, tl.int32)
tl.full((4,), 0.0, tl.int32)
tl.full((4,), 300, tl.int8)
tl.full((4,), -1, tl.uint8)
tl.full((4,), 255, tl.int8)
tl.full((4,), True, tl.float32)
tl.full([2, 2], 1, tl.bfloat16)
tl.zeros([1 << 21], tl.int8)
tl.program_id(3)
tl.program_id(n)
tl.split(x)
tl.join(x, y)
tl.join(x, i)
tl.join(x, s)
tl.cat(x, y)
tl.cat(x, i)
tl.cat(y, y, dim=1)
tl.cat(y, y, dim=-1)
tl.cat(y, y, dim=2)
tl.cat(s, s)
tl.interleave(s, s)
tl.interleave(x, y)
tl.permute(y, 0)
tl.permute(y, 0, 0)
tl.permute(y, -1, 0)
tl.trans(y, 1, 0)
tl.trans(y, (1, 0))
tl.broadcast(x, s)[1]
tl.broadcast_to(y, (4, 8))
tl.broadcast_to(y, 4, 4, 16)
tl.squeeze(y, 0)
tl.squeeze(y[None], 0)
tl.squeeze(y[None], -3)
tl.unsqueeze(y, -1)
tl.unsqueeze(y, 3)
tl.gather(y, i, 1)
tl.gather(y, y, 1)
tl.gather(x, i[:8], 0)
tl.gather(y, tl.zeros((4, 2), tl.int32), 1)
tl.gather(y, tl.zeros((2, 16), tl.int32), 1)
tl.gather(y, tl.zeros((2, 16), tl.int8), 0)
tl.gather(y, tl.zeros((4, 2), tl.int32), 2)
tl.histogram(y, 16)
tl.histogram(i, 15)
tl.sum(y, 2)
tl.sum(y, -1)
tl.sum(y, -3)
tl.max(y, 0, return_indices=True)[1]
tl.max(y, 0, return_indices=True, keep_dims=True)[0]
tl.max(y, return_indices=True)[1]
tl.min(y, -1, return_indices=True)[1]
tl.argmax(y, axis=1, tie_break_left=False)
tl.sort(y, 0)
tl.sort(y, 1, descending=True)
tl.topk(y, 3)
tl.topk(y, 32)
tl.multiple_of(x, [8])
tl.multiple_of(y, 8)
tl.multiple_of(n, 8)
tl.max_contiguous(y, [1, 8])
tl.max_constancy(x, [4])
tl.assume(n > 0)
tl.assume(True)
tl.device_assert(n > 0, "x")
tl.device_assert(c, "x")
tl.debug_barrier()
tl.dot(x, x)
tl.dot(y, y)
tl.dot(y, tl.trans(y))
tl.dot(y, tl.trans(y), input_precision="ieee")
tl.dot(y, tl.trans(y), input_precision="bad")
tl.dot(y, tl.trans(y), allow_tf32=True)
tl.dot(y, tl.trans(y), out_dtype=tl.bfloat16)
tl.dot(y[None], tl.trans(y)[None])
tl.dot(y[None, None], tl.trans(y)[None, None])
tl.dot(y, tl.trans(y), acc=tl.zeros((4, 4), tl.float16))
tl.dot(y, tl.trans(y), acc=tl.zeros((4, 8), tl.float32))
tl.where(n > 0, x, y)
tl.where(n, x, x)
tl.where(x, x, 0)
tl.where(True, x, 1.5)
tl.where(c, x, 1 << 40)
tl.where(c, x, -1)
x + (1 << 40)
x + (1 << 70)
x & -1
x << 40
1 << x
5 // x
5 % x
1.5 % x
x % 1.5
x // 1.5
x ** 2
x @ x
1 < x
n < s
x < P
c + 1
c + c
c * 1.5
-c
~c
c & c
c & 1
c & x
c < x
c == 1
tl.exp(2.0)
tl.exp(2)
tl.exp(n)
tl.sqrt(s)
tl.abs(-3)
tl.abs(P)
tl.maximum(1, 2)
tl.maximum(P, P)
tl.clamp(n, 0, 3)
tl.clamp(x, n, 3.5)
tl.fma(1.0, 2.0, 3.0)
tl.umulhi(n, 1)
tl.umulhi(1, 2)
tl.cast(3, tl.float16)
tl.cast(3.7, tl.int32)
x.to(tl.float32, "rtne")
x.to(tl.float16, "up")
x.to(3)
x.to(tl.block_type(tl.float32, (16,)))
x.type.scalar
x.dtype.primitive_bitwidth
""".strip().splitlines()


def shown(text):
    """`fp32[16]` for `<['16'], fp32>`, `None` for the results of statements."""
    text = re.sub(r"['\"]", "", text.strip())
    tile = re.fullmatch(r"<\[(.*)\], (.*)>", text)
    if tile:
        return f"{tile[2]}[{tile[1].replace(' ', '')}]"
    return "None" if text == "void" else text


def answer(module, dtype):
    target = GPUTarget("cuda", 90, 32)
    backend = make_backend(target)
    options = backend.parse_options({})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
            source = ASTSource(module.kernel, {"P": f"*{dtype}", "n": "i32"}, {})
            implementation = backend.get_codegen_implementation(options)
            built = source.make_ir(target, options, implementation, backend.get_module_map(), context)
        if not built.verify():
            return "-"
    except Exception:
        return "-"
    lines = [line for line in said.getvalue().splitlines() if line.startswith("RESULT")]
    return shown(lines[-1].removeprefix("RESULT"))


def main():
    warnings.simplefilter("ignore")
    print(f"# Written by tests/tables/expressions.py with Triton {triton.__version__}.")
    print(" ".join(DTYPES))
    with tempfile.TemporaryDirectory() as folder:
        for number, expression in enumerate(EXPRESSIONS):
            path = Path(folder) / f"expression_{number}.py"
            path.write_text(KERNEL.replace("EXPRESSION", expression))
            spec = importlib.util.spec_from_file_location(path.stem, path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            print(expression)
            print("    " + " ".join(answer(module, dtype) for dtype in DTYPES))


main()
