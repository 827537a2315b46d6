"""The other side of `shoal bench`: runs the same work in NumPy or torch, and Triton's compiler.

Reads one request as JSON from each line of the standard input and answers with one line of JSON. The process is started
once for each number of threads, because BLAS libraries read that from the environment."""

import importlib.util
import json
import math
import os
import sys
import tempfile
import time


def version(name):
    try:
        return getattr(__import__(name), "__version__", "installed")
    except Exception:
        return None


def numpy_case(case, sizes):
    import numpy as np

    rng = np.random.default_rng(0)
    make = lambda *shape: rng.standard_normal(shape, dtype=np.float32)
    if case == "vector_add":
        x, y = make(*sizes), make(*sizes)
        z = np.empty_like(x)
        return lambda: np.add(x, y, out=z)
    if case == "softmax":
        x = make(*sizes)
        z = np.empty_like(x)

        def softmax():
            np.subtract(x, x.max(axis=1, keepdims=True), out=z)
            np.exp(z, out=z)
            np.divide(z, z.sum(axis=1, keepdims=True), out=z)

        return softmax
    if case == "matmul":
        m, n, k = sizes
        a, b, c = make(m, k), make(k, n), np.empty((m, n), np.float32)
        return lambda: np.matmul(a, b, out=c)
    if case == "attention":
        q, k, v = make(*sizes), make(*sizes), make(*sizes)
        keys = np.ascontiguousarray(k.transpose(0, 2, 1))
        scores = np.empty((sizes[0], sizes[1], sizes[1]), np.float32)
        out = np.empty_like(q)
        scale = np.float32(1 / math.sqrt(sizes[2]))

        def attention():
            np.matmul(q * scale, keys, out=scores)
            np.subtract(scores, scores.max(axis=2, keepdims=True), out=scores)
            np.exp(scores, out=scores)
            np.matmul(scores, v, out=out)
            np.divide(out, scores.sum(axis=2, keepdims=True), out=out)

        return attention
    raise ValueError(case)


def compiled(torch, function, *arguments):
    """A function as `torch.compile` makes it, or as it is where that does not work (it needs a C++ compiler)."""
    try:
        fused = torch.compile(function)
        fused(*arguments)
        return lambda: fused(*arguments)
    except Exception:
        return lambda: function(*arguments)


def torch_case(case, sizes, threads, name):
    import torch
    from torch.nn import functional as F

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    dtype = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "i8": torch.int8}[name]
    if case == "vector_add":
        x, y = torch.randn(*sizes), torch.randn(*sizes)
        z = torch.empty_like(x)
        return lambda: torch.add(x, y, out=z)
    if case in ("softmax", "layer_norm", "rms_norm"):
        x, weight, bias = (torch.randn(*shape).to(dtype) for shape in (sizes, sizes[1:], sizes[1:]))
        if case == "softmax":
            return compiled(torch, lambda x: torch.softmax(x, dim=1), x)
        if case == "layer_norm":
            return compiled(torch, lambda x, w, b: F.layer_norm(x, x.shape[1:], w, b), x, weight, bias)

        def rms_norm(x, w):
            wide = x.float()
            return (wide * torch.rsqrt((wide * wide).mean(1, keepdim=True) + 1e-6) * w.float()).to(x.dtype)

        return compiled(torch, rms_norm, x, weight)
    if case == "matmul":
        m, n, k = sizes
        if dtype == torch.int8:
            a, b = (torch.randint(-100, 100, shape, dtype=dtype) for shape in ((m, k), (k, n)))
            c = torch.empty(m, n, dtype=torch.int32)
            return lambda: torch._int_mm(a, b, out=c)
        a, b = torch.randn(m, k).to(dtype), torch.randn(k, n).to(dtype)
        c = torch.empty(m, n, dtype=dtype)
        return lambda: torch.matmul(a, b, out=c)
    if case in ("attention", "attention_causal"):
        q, k, v = (torch.randn(1, *sizes).to(dtype) for _ in range(3))
        causal = case == "attention_causal"
        return lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    raise ValueError(case)


def load(source):
    """A kernel file of Shoal as Triton's: the language is the same, the package has another name."""
    path = os.path.join(tempfile.mkdtemp(), "kernel.py")
    with open(path, "w") as file:
        file.write(source.replace("shoal", "triton"))
    spec = importlib.util.spec_from_file_location("kernel", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def triton_compile(source, kernel, signature, constants):
    """A function that compiles to PTX for sm_90, with nothing cached. No GPU is needed."""
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.compiler.compiler import make_backend

    target = GPUTarget("cuda", 90, 32)

    def compile():
        function = getattr(load(source), kernel)
        names = function.arg_names
        types = {n: "constexpr" if n in constants else signature[n] for n in names}
        values = {(names.index(n),): v for n, v in constants.items()}
        aligned = {(names.index(n),): [["tt.divisibility", 16]] for n in names if types[n].startswith("*")}
        start = time.perf_counter()
        src = ASTSource(fn=function, signature=types, constexprs=values, attrs=aligned)
        backend = make_backend(target)
        options = backend.parse_options({})
        context = ir.context()
        ir.load_dialects(context)
        backend.load_dialects(context)
        stages = {}
        backend.add_stages(stages, options, src.language)
        functions = backend.get_codegen_implementation(options)
        module = src.make_ir(target, options, functions, backend.get_module_map(), context)
        metadata = {"target": target, **options.__dict__}
        for name, stage in stages.items():
            if name == "cubin":
                break
            module = stage(module, metadata)
        return time.perf_counter() - start

    return compile


class Array:
    """A NumPy array with those of a torch tensor's methods that Triton's interpreter calls: it needs no torch then.

    It is its own storage, and lies in the host's memory, so nothing is copied, as with a tensor on the CPU."""

    def __init__(self, values):
        self.values = values
        self.dtype = str(values.dtype)

    def data_ptr(self):
        return self.values.ctypes.data

    def untyped_storage(self):
        return self

    def cpu(self):
        return self

    def new_empty(self, size, device):
        return Array(self.values[:0])

    def set_(self, storage, offset, size, stride):
        self.values = storage.values

    def copy_(self, other):
        assert other.values is self.values

    def storage_offset(self):
        return 0

    def size(self):
        return self.values.shape

    def stride(self):
        return tuple(step // self.values.itemsize for step in self.values.strides)


def triton_interpret(source, kernel, arguments, grid):
    """A function that runs a kernel in Triton's interpreter."""
    import numpy as np

    rng = np.random.default_rng(0)
    function = getattr(load(source), kernel)
    random = lambda shape: Array(rng.standard_normal(shape, dtype=np.float32))
    values = {n: random(v) if isinstance(v, list) else v for n, v in arguments.items()}
    return lambda: function[tuple(grid)](**values)


def prepare(request):
    if request["peer"] == "numpy":
        return numpy_case(request["case"], request["sizes"])
    if request["peer"] == "torch":
        return torch_case(request["case"], request["sizes"], request["threads"], request["dtype"])
    if request["peer"] == "triton":
        return triton_compile(request["source"], request["kernel"], request["signature"], request["constants"])
    if request["peer"] == "triton-interpreter":
        return triton_interpret(request["source"], request["kernel"], request["arguments"], request["grid"])
    raise ValueError(request["peer"])


def best(work, seconds):
    """The shortest of the runs that fit into so many seconds; at least one."""
    shortest, end = math.inf, time.perf_counter() + seconds
    while True:
        start = time.perf_counter()
        own = work()
        took = time.perf_counter() - start
        shortest = min(shortest, own if isinstance(own, float) else took)
        if time.perf_counter() >= end:
            return shortest


def main():
    answers = os.fdopen(os.dup(1), "w")
    # What libraries print must not mix with the answers.
    os.dup2(2, 1)
    work = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["do"] == "versions":
                answer = {name: version(name) for name in ("numpy", "torch", "triton", "shoal")}
                answer["python"] = sys.version.split()[0]
            elif request["do"] == "prepare":
                work = prepare(request)
                # Compilers are measured cold: the first compilation is the one that counts.
                if request["peer"] != "triton":
                    work()
                answer = {"ready": True}
            else:
                answer = {"seconds": best(work, request["seconds"])}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


main()
