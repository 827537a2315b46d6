"""Asks Triton which type each operator computes in, and writes the answers to `promotion.txt`.

Run with a Python that has Triton 3.9 (no GPU is needed):

    python tests/tables/promotion.py > tests/tables/promotion.txt

The table has one section for each operator. In the first half of a section both operands are tensors; in the second one
is a Python number, first on the right, then on the left. An entry is the type of the result (for comparisons: the type in
which the operands are compared), or `-` where Triton reports an error.
"""

import warnings

import triton
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import make_backend
from triton.language import core as tl
from triton.language.semantic import TritonSemantic

DTYPES = [
    tl.int1, tl.int8, tl.int16, tl.int32, tl.int64, tl.uint8, tl.uint16, tl.uint32, tl.uint64, tl.float8e4nv, tl.float8e5,
    tl.float8e4b15, tl.float8e4b8, tl.float8e5b16, tl.float16, tl.bfloat16, tl.float32, tl.float64
]
NUMBERS = [True, 1, -1, 200, 40000, 2**31, 2**40, 2**63, 1.5, 1e300]


def make_semantic():
    """A semantic object whose builder stands in an empty function, for a target that knows every fp8 type."""
    backend = make_backend(GPUTarget("cuda", 90, 32))
    options = backend.parse_options({})
    every_fp8 = tuple(d.name for d in DTYPES if d.is_fp8())
    object.__setattr__(options, "supported_fp8_dtypes", every_fp8)
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    builder = ir.builder(context)
    builder.options = options
    builder.codegen_fns = backend.get_codegen_implementation(options)
    module = builder.create_module()
    function = builder.get_or_insert_function(module, "f", builder.get_function_ty([], []), "public", False)
    module.push_back(function)
    builder.set_insertion_point_to_start(function.add_entry_block())
    builder.keep = (context, module)
    return TritonSemantic(builder)


SEMANTIC = make_semantic()


def shift_right(x, y):
    # The operator's own rule: the tensor decides between the two shifts, and the right operand decides for `number >> x`.
    signed = (x if isinstance(x, tl.tensor) else y).dtype.is_int_signed()
    return (SEMANTIC.ashr if signed else SEMANTIC.lshr)(x, y)


def compare(operation):

    def computed_in(x, y):
        operation(x, y)
        return SEMANTIC.binary_op_type_checking_impl(x, y)[0]

    return computed_in


OPERATIONS = {
    "add": lambda x, y: SEMANTIC.add(x, y, False),
    "sub": lambda x, y: SEMANTIC.sub(x, y, False),
    "mul": lambda x, y: SEMANTIC.mul(x, y, False),
    "truediv": SEMANTIC.truediv,
    "floordiv": SEMANTIC.floordiv,
    "mod": SEMANTIC.mod,
    "fdiv": lambda x, y: SEMANTIC.fdiv(x, y, False),
    "minimum": lambda x, y: SEMANTIC.minimum(x, y, tl.PropagateNan.NONE),
    "maximum": lambda x, y: SEMANTIC.maximum(x, y, tl.PropagateNan.NONE),
    "and": SEMANTIC.and_,
    "or": SEMANTIC.or_,
    "xor": SEMANTIC.xor_,
    "shl": SEMANTIC.shl,
    "shr": shift_right,
    "less": compare(SEMANTIC.less_than),
    "equal": compare(SEMANTIC.equal),
    "where": lambda x, y: SEMANTIC.where(SEMANTIC.to_tensor(True), x, y),
}


def tensor(dtype):
    return SEMANTIC.make_tensor(SEMANTIC.builder.create_poison(dtype.to_ir(SEMANTIC.builder)), dtype)


def answer(operation, x, y):
    try:
        return operation(x, y).dtype.name
    except Exception:
        return "-"


def row(head, cells):
    print(" ".join(f"{cell:<8}" for cell in [head, *cells]).rstrip())


def main():
    warnings.simplefilter("ignore")
    print(f"# Written by tests/tables/promotion.py with Triton {triton.__version__}.")
    for name, operation in OPERATIONS.items():
        print(f"\n[{name}] tensor tensor")
        row("", [d.name for d in DTYPES])
        for a in DTYPES:
            row(a.name, [answer(operation, tensor(a), tensor(b)) for b in DTYPES])
        print(f"\n[{name}] tensor number")
        row("", [repr(n) for n in NUMBERS])
        for a in DTYPES:
            row(a.name, [answer(operation, tensor(a), n) for n in NUMBERS])
        print(f"\n[{name}] number tensor")
        row("", [repr(n) for n in NUMBERS])
        for b in DTYPES:
            row(b.name, [answer(operation, n, tensor(b)) for n in NUMBERS])


main()
