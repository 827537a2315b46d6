"""Texts that Triton-based code looks for: they are in the exceptions of the drop-in, and nowhere else."""

import linecache
import textwrap

import numpy as np
import pytest

import shoal
import shoal.language as tl
import shoal.triton

# The body of a kernel `kernel(x, n)`, with x a pointer and n an integer: what Triton says about it.
COMPILING = {
    "a = tl.arange(0, 3)": "arange's range must be a power of 2",
    "a = tl.arange(0, n)": "arange's arguments must be of type tl.constexpr",
    "a = tl.arange(5, 2)": "arange's end argument must be greater than the start argument",
    "a = tl.program_id(3)": "program_id axis must be 0, 1, or 2 but got 3",
    "a = tl.zeros((3,), tl.float32)": "Shape element 0 must be a power of 2",
    "a = tl.zeros((2048, 1024), tl.float32)": "exceeds triton maximum tensor numel",
    "a = tl.arange(0, 4) + tl.arange(0, 8)": "Cannot make_shape_compatible: incompatible dimensions at "
    "index 0: 4 and 8",
    "a = tl.reshape(tl.arange(0, 4), (8,))": "reshape() cannot change total number of elements in tensor",
    "a = tl.broadcast_to(tl.arange(0, 4), (8,))": "Cannot broadcast, the expanded size of the tensor (8)",
    "a = tl.permute(tl.zeros((4, 4), tl.float32), (0, 0))": "permute dims must be a permutation of 0, 1, ..., n-1",
    "a = tl.expand_dims(tl.arange(0, 4), (0, 0))": "expand_dims received duplicate axes, normalized axes = [0, 0]",
    "a = tl.split(tl.arange(0, 4))": "expected last dimension to be 2 for split, got 4",
    "a = tl.arange(0, 4)[0, 1]": "unsupported tensor index",
    "a = tl.arange(0, 4)[0.5]": "unsupported tensor index",
    "a = tl.zeros((4, 4), tl.float32)[0]": "unsupported tensor index",
    "a = tl.load(n)": "Unsupported ptr type int32 in `tl.load`",
    "a = tl.load(x, other=0.0)": "`other` cannot be provided without `mask`",
    "a = tl.load(x, mask=tl.arange(0, 4) < 2)": "Mask argument cannot be block type if pointer argument is not a block",
    "tl.store(x, tl.arange(0, 4))": "Value argument cannot be block type if pointer argument is not a block",
    "a = tl.load(x, cache_modifier='.zz')": "Unsupported cache modifier 'zz'",
    "a = tl.load(x, eviction_policy='zz')": "Unsupported eviction policy 'zz'",
    "a = tl.atomic_add(x, 1.0, sem='zz')": "Memory semantic zz not supported",
    "a = tl.atomic_add(x.to(tl.pointer_type(tl.int8)), 1)": "atomic_add does not support int8",
    "d = tl.make_tensor_descriptor(x, [4, 16], [1, 16], [4, 4])": "Tensor descriptor last dim must be 1 but got 16",
    "a = n.to(tl.float64, bitcast=True)": "Cannot bitcast data-type of size 32 to data-type of size 64",
    "a = n.to(tl.float32, fp_downcast_rounding='rtz')": "fp_downcast_rounding should be set only for truncating fp",
    "a = tl.exp(tl.zeros((16,), tl.float16))": "Expected dtype ['fp32', 'fp64'] but got fp16",
    "a = x + x": "cannot add pointers together",
    "a = x + 1.5": "invalid operands of type pointer",
    "a = tl.load(x) & 3": "invalid operands of type",
    "a = n.to(tl.int8) + 300": "Scalar 300 is out of range for type int8",
    "a = n % n.to(tl.uint32)": "because they have different signedness",
    "a = n.to(tl.uint32) + (-1)": "Cannot perform a binary operation between an unsigned tensor and a negative scalar",
    "a = tl.dot(tl.zeros((16, 16), tl.float16), tl.zeros((16, 16), tl.float32))": "Both operands must be same dtype. "
    "Got fp16 and fp32",
    "a = tl.dot(tl.zeros((16, 32), tl.float16), tl.zeros((16, 16), tl.float16))": "input and other must have equal "
    "reduction dimensions",
    "a = wibble + 1": "wibble is not defined",
    "a = x if n > 3 else n": "Ternary expression with dynamic condition has inconsistent types *fp32 and int32",
    "a = (n, n)\na[0] = n": "__setitem__ is not supported in triton",
    "a = tl.expand_dims(None, -1)": "cannot convert None of type <class 'NoneType'> to tensor",
    "a, b, c = (1, 2)": "not enough values to unpack (expected 3, got 2)",
    "a, *b = (1, 2)": "starred assignment targets are not supported",
    "a = [b for b, c in (1, 2)]": "cannot unpack non-iterable value",
    "for i in range(3):\n    if n > i:\n        return": "Cannot have `return` statements inside `while` or `for`",
    "a = min(1.0, float('nan'))": "constexpr min does not support NaN values",
    "a = max(1.0, -0.0)": "constexpr max does not support negative zero",
    "p = tl.make_block_ptr(x, [8], [1], [0], [8], [0])\ntl.advance(p, [1])": "The result of tl.advance is not being "
    "used. Note that tl.advance does not have any side effects.",
    "a = tl.lod(x)": "has no attribute 'lod'",
    "a = PLAIN + 1": "Cannot access global variable PLAIN from within @jit'ed function",
    "acc = 0\nfor i in range(3):\n    acc += 1.5": "Loop-carried variable acc has initial type int32 "
    "but is re-assigned to fp32 in loop!",
    "if n > 3:\n    a = 1.0\nelse:\n    a = tl.arange(0, 4)\ntl.store(x, a)": "Mismatched type for a between "
    "then block",
    "if n > 3:\n    a = 1.0\ntl.store(x, a)": "a is not defined",
    "a, b = (1, 2, 3)": "too many values to unpack (expected 2)",
    "if tl.arange(0, 4) > 2:\n    a = 1": "Boolean value of Tensor with more than one value is ambiguous",
    "tl.static_assert(n == 3)": "Assertion condition could not be determined at compile-time",
    "for i in range(3):\n    break": "unsupported AST node type: Break",
    "a = lambda y: y": "unsupported AST node type: Lambda",
    "try:\n    a = 1\nexcept KeyError:\n    a = 2": "unsupported AST node type: Try",
    "def f():\n    pass": "nested function definitions are not allowed",
    "a = tl.load(x, wibble=3)": "load() got an unexpected keyword argument 'wibble'",
    "a = tl.load()": "load() missing 1 required positional argument: 'pointer'",
    "tl.static_assert(False, 'my message')": "my message",
    "a = tl.cat(tl.arange(0, 4), tl.arange(0, 8))": "tensors must have the same",
    "a = tl.arange(0, 4)[0:2]": "unsupported tensor index",
    "a = tl.zeros((4, 8), tl.int32)[:, :, :]": "too many indices for tensor of rank 2",
    "a = n[:, None]": "too many indices for tensor of rank 0",
    "a = tl.expand_dims(tl.arange(0, 4), 3)": "invalid axis 3",
    "a = tl.make_tensor_descriptor(x, [8, 8], [8, 1], [4, 2])": "must have at least 16 bytes in the last dimension",
    "a = tl.make_tensor_descriptor(x, [8, 8], [9, 1], [4, 8])": "strides must be 16-byte aligned",
    "a = tl.histogram(tl.zeros([8], tl.float32), 8)": "histogram only supports 32-bit integer input, but got fp32",
    "a = tl.histogram(tl.zeros([8, 2], tl.int32), 8)": "histogram only supports 1D input",
    "a = tl.zeros([16, 16], tl.float8e5)\nb = tl.dot(a, a, max_num_imprecise_acc=32)": "(32) must be <= K (16)",
    "a = tl.arange(0, 1 << 33)": "arange must fit in int32",
    "a = tl.full((4,), 1, None)": "dtype must be specified when value is not a tensor",
    "a = tl.broadcast_to(tl.arange(0, 4), (4, 4))": "Cannot broadcast, rank mismatch: [4], [4, 4]",
    "a = tl.split(n)": "split requires a non-scalar tensor",
    "a = tl.sum(tl.zeros((4, 4), tl.int32), axis=2)": "invalid axis 2. Expected -2 <= axis < 2",
    "a = tl.load(x, mask=True, other=tl.zeros((4,), tl.float32))": "Other argument cannot be block type",
    "tl.store(x + tl.arange(0, 4), tl.zeros((4, 4), tl.float32))": "Expected pointer argument to have shape [4, 4] "
    "but got [4]",
    "tl.store(x + tl.arange(0, 4), 1.0, mask=tl.arange(0, 4))": "Mask must have boolean scalar type",
    "y = x.to(tl.pointer_type(tl.int32))\na = tl.atomic_load(y, sem='release')": "atomic_load only supports acquire "
    "and relaxed semantics",
    "tl.atomic_store(x, 1, sem='acquire')": "atomic_store only supports release and relaxed semantics",
    "y = x.to(tl.pointer_type(tl.int32))\na = tl.atomic_poll(y, 1, sem='acq_rel')": "atomic_poll only supports acquire "
    "and relaxed semantics",
    "y = x.to(tl.pointer_type(tl.int32))\na = tl.atomic_poll(y, 1, timeout_ns=-1)": "timeout_ns must be non-negative",
    "y = x.to(tl.pointer_type(tl.int32))\na = tl.atomic_poll(y, 1, timeout_ns=tl.arange(0, 4))": "atomic_poll "
    "timeout_ns must be a scalar integer",
    "a = tl.atomic_poll(x, 1)": "atomic_poll only supports integer elements with width {16, 32, 64}",
    "a = tl.atomic_cas(x.to(tl.pointer_type(tl.int8)), 1, 2)": "only supports elements with width {16, 32, 64}",
    "d = tl.make_tensor_descriptor(x, [4, 4], [4], [4, 4])": "Expected 2 strides but got 1",
    "d = tl.make_tensor_descriptor(x, [4, 4], [4, 1], [4])": "Expected block_shape to have 2 dimensions",
    "a = tl.make_tensor_descriptor(x, [4, 4], [4, 1], [4, 4]).load([0])": "expected 2 offsets, but got 1",
    "tl.make_tensor_descriptor(x, [4, 4], [4, 1], [4, 4]).store([0, 0], tl.zeros((8, 4), tl.float32))": "expected "
    "value shape [4, 4], got [8, 4]",
    "a = tl.make_tensor_descriptor(x, [4, 4], [4, 1], [4, 4]).gather(tl.arange(0, 8), 0)": "descriptor block must "
    "have 1 row, but got [4, 4]",
    "a = tl.make_tensor_descriptor(x, [4, 8], [8, 1], [1, 8]).gather(tl.arange(0, 4), 0)": "descriptor gather must "
    "have at least 8 rows, but got [4]",
    "a = tl.gather(tl.arange(0, 4), tl.zeros((4,), tl.float32), 0)": "index must be an integer tensor",
    "a = tl.gather(tl.zeros((4, 4), tl.int32), tl.arange(0, 4), 0)": "source and index tensors must have the same rank",
    "a = tl.gather(tl.zeros((4, 4), tl.int32), tl.zeros((4, 8), tl.int32), 0)": "index dim 0 must match",
    "a = tl.multiple_of(tl.zeros((4, 4), tl.int32), [1])": "Shape of input to multiple_of does not match the length",
    "a = tl.load(x).to(tl.float16, fp_downcast_rounding='up')": "Invalid rounding mode: up.",
    "a = -x": "wrong type argument to unary minus (*fp32)",
    "a = ~tl.load(x)": "wrong type argument to unary invert (fp32)",
    "a = x * 2": "invalid operands of type *fp32 and 2",
    "a = tl.fdiv(n, n)": "fdiv requires floating-point operands after type promotion",
    "a = tl.maximum(1.0, tl.load(x), propagate_nan=3)": "Unexpected propagate_nan 3",
    "a = tl.dot(tl.zeros((16, 16), tl.int16), tl.zeros((16, 16), tl.int16))": "Unsupported lhs dtype int16",
    "a = tl.dot(tl.zeros((16,), tl.float16), tl.zeros((16,), tl.float16))": "input and other must have equal ranks",
    "y = tl.zeros((16, 16), tl.float16)\na = tl.dot(y, y, tl.zeros((32, 16), tl.float32))": "accumulator shape is "
    "incompatible",
    "y = tl.zeros((16, 16), tl.float32)\na = tl.dot(y, y, input_precision='zz')": "input_precision must be one of",
    "a = n + (1 << 70)": "Nonrepresentable integer 1180591620717411303424.",
    "a = tl.arange(0, 4).wibble": "'tensor' object has no attribute 'wibble'",
    "for i in range(1.0):\n    a = i": "For loop bounds and step must all be ints",
    "for i in tl.arange(0, 4):\n    a = i": "Only `range` and `static_range` iterators are currently supported",
}


def kernel_of(body):
    """A kernel with this body, whose text Python can find."""
    text = "def kernel(x, n):\n" + textwrap.indent(body, "    ") + "\n"
    file = f"<kernel {body!r}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    names = {"tl": tl, "PLAIN": 5, "__name__": __name__}
    exec(compile(text, file, "exec"), names)
    return shoal.jit(names["kernel"])


@pytest.fixture
def installed():
    shoal.triton.install()
    yield
    shoal.triton.uninstall()


@pytest.mark.parametrize("body", COMPILING)
def test_errors_of_the_compiler(installed, body):
    with pytest.raises(shoal.CompilationError) as raised:
        kernel_of(body).warmup(np.float32, 3, grid=(1,))
    said = COMPILING[body]
    assert said in str(raised.value)
    # Triton's cause has its words too; assertions and static_assert have none.
    if said != "my message":
        assert said in str(raised.value.__cause__)


def test_the_place_is_a_line_of_the_function(installed):
    @shoal.jit
    def kernel(x):
        a = 3
        tl.store(x, 1.0 << a)

    with pytest.raises(shoal.CompilationError, match="Triton says: at 3:16:"):
        kernel.warmup(np.float32, grid=(1,))


def test_a_mistake_in_a_callee_names_the_callee_and_the_call(installed):
    @shoal.jit
    def callee():
        wibble  # noqa: B018, F821

    @shoal.jit
    def kernel(x):
        # The call stands on the third line.
        callee()

    with pytest.raises(shoal.CompilationError, match="at 3:4:") as raised:
        kernel.warmup(np.float32, grid=(1,))
    inner = raised.value.__cause__
    assert isinstance(inner, shoal.CompilationError) and "at 2:4: wibble is not defined" in str(inner)
    assert isinstance(inner.__cause__, NameError)


def test_results_that_must_be_used(installed):
    @shoal.must_use_result("It does nothing else.")
    @shoal.jit
    def double(x):
        return x * 2

    @shoal.jit
    def drops(x):
        double(3)

    @shoal.jit
    def takes(x):
        tl.store(x, double(3))

    takes.warmup(np.float32, grid=(1,))
    with pytest.raises(shoal.CompilationError) as raised:
        drops.warmup(np.float32, grid=(1,))
    said = "The result of double is not being used. It does nothing else."
    assert str(raised.value).split("\n")[-1] == said and said in raised.value.error_message


def test_without_the_drop_in_diagnostics_have_only_their_own_words():
    with pytest.raises(shoal.CompilationError) as raised:
        kernel_of("a = tl.arange(0, 3)").warmup(np.float32, 3, grid=(1,))
    assert "the length of `arange` must be a power of two" in str(raised.value)
    assert "Triton" not in str(raised.value) and raised.value.__cause__ is None


LAUNCHES = {
    "missing 1 required positional argument: 'n'": lambda kernel, x: kernel[(1,)](x),
    "missing 2 required positional arguments: 'x' and 'n'": lambda kernel, x: kernel[(1,)](),
    "takes 2 positional arguments but 3 were given": lambda kernel, x: kernel[(1,)](x, 3, 4),
    "got multiple values for argument 'n'": lambda kernel, x: kernel[(1,)](x, 3, n=4),
    "failed to specialize argument of type": lambda kernel, x: kernel[(1,)](object(), 3),
}


@pytest.mark.parametrize("said", LAUNCHES)
def test_errors_of_launches(installed, said):
    with pytest.raises(TypeError) as raised:
        LAUNCHES[said](kernel_of("tl.store(x, n)"), np.zeros(1, np.float32))
    assert said in str(raised.value)


def test_an_unknown_option_is_a_key_error(installed):
    with pytest.raises(KeyError, match="Keyword argument wibble was specified but unrecognised"):
        kernel_of("tl.store(x, n)")[(1,)](np.zeros(1, np.float32), 3, wibble=1)


def test_a_call_without_a_grid_is_an_error(installed):
    with pytest.raises(RuntimeError, match="Cannot call @triton.jit'd outside of the scope of a kernel"):
        kernel_of("tl.store(x, n)")(np.zeros(1, np.float32), 3)


def test_a_failed_assertion_has_the_words_of_cuda(installed):
    @shoal.jit(debug=True)
    def kernel(n):
        tl.device_assert(n > 3, "too few")

    with pytest.raises(RuntimeError, match="too few[\\s\\S]*device-side assert triggered"):
        kernel[(1,)](2)


def test_the_model_of_the_device_is_text(installed):
    from triton._internal_testing import get_arch, get_current_target

    assert get_arch() == str(get_current_target().arch) != ""
