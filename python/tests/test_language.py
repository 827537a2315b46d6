"""The Python surface of the language: what it names, and what host code does with its types."""

import inspect
import pickle

import numpy as np
import pytest

import shoal
import shoal.language as tl
from shoal import _native


def by_path(path):
    module, _, name = path.rpartition(".")
    found = __import__(module, fromlist=["_"])
    return getattr(found, name)


def _is_public(path):
    """Whether a name is for everybody: `load`, `__syncthreads`, but not `_log2`."""
    name = path.rpartition(".")[2]
    return not name.startswith("_") or name.startswith("__")


def functions_of(module):
    """The functions of the language in a module, by path."""
    return {
        value.__shoal_path__: value
        for value in vars(module).values()
        if inspect.isfunction(value) and _is_public(getattr(value, "__shoal_path__", "_"))
    }


# The compiler has one place for what belongs to GPUs; Python has one for each kind.
AMD = {"shoal.language.extra.cuda.memrealtime": "shoal.language.extra.hip.memrealtime"}
COMPILERS = {AMD.get(path, path): list(params) for path, params in _native.language_functions()}


@pytest.mark.parametrize("path", sorted(COMPILERS))
def test_a_function_of_the_compiler_has_a_name_and_the_same_parameters(path):
    function = by_path(path)
    assert function.__shoal_path__ == path
    assert function.__doc__
    assert list(inspect.signature(function).parameters) == COMPILERS[path]


def test_every_name_is_known_to_the_compiler():
    modules = [tl, tl.math, tl.random, tl.standard, tl.extra.libdevice, tl.extra.libshmem_device]
    modules += [tl.extra.cuda, tl.extra.language_extra, tl.target_info]
    ours = {path for module in modules for path in functions_of(module)}
    # Kernels cannot hold a target.
    ours.remove("shoal.language.target_info.current_target")
    assert ours == set(COMPILERS) - set(AMD.values())
    assert {path.replace(".hip.", ".cuda.") for path in functions_of(tl.extra.hip)} <= {*COMPILERS, *AMD}


def test_methods_and_types_are_those_of_the_compiler():
    methods, types = _native.language_names()
    functions = {name for name, value in vars(tl.tensor).items() if hasattr(value, "__shoal_path__")}
    assert functions == set(methods)
    assert {value.codegen_name() for value in vars(tl).values() if type(value) is tl.dtype} == {*types, "void"}


def test_defaults_are_those_of_the_language():
    defaults = {name: parameter.default for name, parameter in inspect.signature(tl.load).parameters.items()}
    assert defaults["mask"] is None and defaults["volatile"] is False
    assert inspect.signature(tl.sum).parameters["keep_dims"].default is False
    assert inspect.signature(tl.randn).parameters["n_rounds"].default == 10


def test_operations_called_from_plain_python_say_what_to_do():
    with pytest.raises(ValueError, match="Did you forget to add @triton.jit ?"):
        tl.load(1)
    with pytest.raises(ValueError, match="`_semantic` argument must be provided outside of JIT functions"):
        tl.program_id(0)
    with pytest.raises(ValueError, match=r"shoal.language.extra.libdevice.exp"):
        tl.extra.cuda.libdevice.exp(1.0)
    with pytest.raises(RuntimeError, match="Cannot call @triton.jit'd outside of the scope of a kernel"):
        tl.zeros((1,), tl.float32)


def test_methods_of_tiles_are_the_functions():
    assert tl.tensor.sum is tl.sum
    assert tl.tensor.atomic_add is tl.atomic_add
    with pytest.raises(ValueError, match="only works inside a kernel"):
        tl.tensor(None, tl.float32)


@pytest.mark.parametrize("name", ["int1", "int8", "uint64", "float8e4nv", "float16", "bfloat16", "float64"])
def test_a_type_is_what_its_name_says(name):
    ty = getattr(tl, name)
    bits = {"int1": 1, "int8": 8, "uint64": 64, "float8e4nv": 8, "float16": 16, "bfloat16": 16, "float64": 64}[name]
    assert ty.primitive_bitwidth == bits and ty.itemsize == bits // 8
    assert ty.is_floating() == name.lstrip("b").startswith("float")
    assert ty.is_int() != ty.is_floating()
    assert ty.codegen_name() == name and repr(ty) == f"shoal.language.{name}"
    assert pickle.loads(pickle.dumps(ty)) == ty == tl.constexpr(ty)
    assert hash(tl.dtype(ty.name)) == hash(ty) and ty.scalar is ty and ty.cache_key_part == ty.name
    assert not (ty.is_ptr() or ty.is_block() or ty.is_const())


def test_types_have_kinds_and_bounds():
    assert tl.int1.kind() is tl.dtype.KIND.BOOLEAN and tl.int1.is_int_unsigned()
    assert tl.uint8.kind() is tl.dtype.KIND.INTEGRAL and tl.bfloat16.kind() is tl.dtype.KIND.FLOATING
    assert (tl.int8.get_int_min_value(), tl.int8.get_int_max_value()) == (-128, 127)
    assert (tl.uint16.get_int_min_value(), tl.uint16.get_int_max_value()) == (0, 65535)
    assert (tl.float8e5.fp_mantissa_width, tl.float8e5.exponent_bias) == (2, 15)
    assert tl.float8e4b15.is_fp8() and tl.float8e4b15.is_fp8e4b15() and not tl.float16.is_fp8()
    assert [ty.mangle() for ty in (tl.int32, tl.uint8, tl.int1, tl.bfloat16)] == ["i32", "u8", "u1", "bf16"]
    assert tl.core.get_int_dtype(16, signed=False) is tl.uint16 or tl.core.get_int_dtype(16, False) == tl.uint16
    with pytest.raises(TypeError, match="not a type of integers"):
        tl.float32.get_int_max_value()
    with pytest.raises(ValueError, match="there is no type `fp33`"):
        tl.dtype("fp33")


def test_pointers_and_tiles_are_types_too():
    pointer = tl.pointer_type(tl.float16)
    assert pointer.is_ptr() and pointer.element_ty == tl.float16 and str(pointer) == "pointer<fp16>"
    assert pointer != tl.pointer_type(tl.float16, const=True) and pointer == tl.pointer_type(tl.constexpr(tl.float16))
    assert tl.pi32_t == tl.pointer_type(tl.int32) and pointer.mangle() == "Pfp16"
    tile = tl.block_type(tl.float16, [tl.constexpr(4), 8])
    assert tile.is_block() and tile.shape == (4, 8) and tile.numel == 32 and tile.nbytes == 64
    assert tile.scalar == tl.float16 and tile.with_element_ty(tl.int8) == tl.block_type(tl.int8, (4, 8))
    with pytest.raises(ValueError, match="power of 2"):
        tl.block_type(tl.float16, [3])
    with pytest.raises(TypeError, match="expected `dtype`"):
        tl.pointer_type("fp16")


def test_signature_strings_name_types():
    assert tl.str_to_ty("*kfp32", None) == tl.pointer_type(tl.float32, const=True)
    assert tl.str_to_ty("u1", None) == tl.int1 and tl.str_to_ty("bf16", None) == tl.bfloat16
    assert tl.str_to_ty("tensordesc<fp16[128, 64]>", None).block_type == tl.block_type(tl.float16, [128, 64])
    assert tl.str_to_ty("constexpr", 3) == tl.constexpr_type(3)
    assert [ty.name for ty in tl.str_to_ty(("i32", "fp64"), None)] == ["int32", "fp64"]


def test_constexpr_computes_like_what_it_holds():
    three = tl.constexpr(tl.constexpr(3))
    assert three.value == 3 and repr(three) == "constexpr[3]" and bool(three) and not tl.constexpr(0)
    results = [
        three + 1,
        10 - three,
        three * three,
        7 // three,
        2**three,
        three << 2,
        three & 1,
        1 | three,
        -three,
        ~three,
    ]
    assert [result.value for result in results] == [4, 7, 9, 2, 8, 12, 1, 3, -3, -4]
    assert all(isinstance(result, tl.constexpr) for result in results)
    assert (three < 4).value is True and (three == 3).value is True and (three != 3).value is False
    assert three.logical_and(0).value == 0 and tl.constexpr(None).logical_or(5).value == 5
    assert list(range(10))[three] == 3 and tl.constexpr((5, 6))[tl.constexpr(1)] == 6
    assert tl.constexpr(max)(1, 2) == 2 and hash(three) == hash(tl.constexpr(3))
    assert pickle.loads(pickle.dumps(three)).value == 3


def test_tuples_are_tuples():
    pair = tl.tuple([1, tl.constexpr(2)])
    assert pair[tl.constexpr(0)] == 1 and len(pair) == 2 and isinstance(pair + (3,), tl.tuple)
    assert pair.values[0] == 1 and len(pair * 2) == 4


def test_paths_of_classes_are_not_those_of_their_instances():
    assert tl.constexpr.__shoal_path__ == "shoal.language.constexpr"
    assert tl.pointer_type.__shoal_path__ == "shoal.language.pointer_type"
    assert not hasattr(tl.constexpr(1), "__shoal_path__") and not hasattr(tl.float32, "__shoal_path__")


def test_operations_are_marked_as_such():
    assert tl.core.is_builtin(tl.load) and not tl.core.is_builtin(tl.sum) and not tl.core.is_builtin(print)

    @tl.core.builtin
    def own(x, _semantic=None):
        return x

    assert own(3, _semantic=object()) == 3 and tl.core.is_builtin(own)
    with pytest.raises(ValueError, match="Did you forget"):
        own(3)


def test_the_target_is_a_cpu():
    assert tl.target_info.current_target().backend == "cpu"
    assert not tl.target_info.is_cuda() and not tl.target_info.cuda_capability_geq(8) and not tl.target_info.is_hip()


@pytest.mark.parametrize("interpret", [False, True])
def test_polls_of_tiles_wait_for_each_element(interpret, monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", str(int(interpret)))

    @shoal.jit
    def kernel(flags, seen, late, B: tl.constexpr):
        i = tl.arange(0, B)
        at = i[:, None] * 2 + tl.arange(0, 2)[None, :]
        if tl.program_id(0) == 0:
            tl.store(seen + at, tl.atomic_poll(flags + at, at + 1))
            # One of these never comes; the time is that of all of them.
            tl.store(late + i, tl.atomic_poll(flags + i, tl.where(i == 1, 99, i + 1), timeout_ns=1000))
        else:
            tl.atomic_store(flags + at, at + 1)

    flags, seen, late = np.zeros(8, np.int32), np.zeros(8, np.int32), np.full(4, 7, np.int32)
    kernel[(2,)](flags, seen, late, 4)
    assert seen.tolist() == [1] * 8
    assert late.tolist() == [1, 0, 1, 1]


@shoal.jit
def gather_rows(table, out, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """Adds rows whose addresses are in a table, through pointers, a descriptor and an atomic."""
    at = tl.arange(0, WIDTH)
    total = tl.zeros([WIDTH], tl.float32)
    for row in range(ROWS):
        start = tl.load(table + row).to(tl.pointer_type(tl.float32))
        rows = tl.make_tensor_descriptor(start, [1, WIDTH], [WIDTH, 1], [1, WIDTH])
        total += tl.load(start + at) + tl.reshape(rows.load([0, 0]), [WIDTH])
        tl.atomic_add(start, 100.0)
    tl.store(out + at, total)


@pytest.mark.parametrize("interpret", [False, True])
def test_addresses_from_tables_reach_memory_of_no_argument(interpret):
    rows = [np.arange(8, dtype=np.float32) + 8 * row for row in range(3)]
    table, out = np.array([row.ctypes.data for row in rows]), np.zeros(8, np.float32)
    with shoal.device("interp" if interpret else "cpu"):
        gather_rows[(1,)](table, out, ROWS=3, WIDTH=8)
        np.testing.assert_array_equal(out, 2 * np.arange(8) * 3 + 2 * 8 * 3)
        assert [row[0] for row in rows] == [100, 108, 116]


def test_the_interpreter_reaches_no_memory_that_is_not_mapped():
    with shoal.device("interp"), pytest.raises(shoal.KernelFault, match="reads 4 bytes at 0x100, where nothing is"):
        gather_rows[(1,)](np.array([256]), np.zeros(8, np.float32), ROWS=1, WIDTH=8)
