"""Names that a kernel's text does not define: closures, globals, functions, classes, modules, live objects."""

from __future__ import annotations

import dataclasses
import enum
import math
import types
from collections import namedtuple
from typing import NamedTuple

import numpy as np
import pytest

import shoal
import shoal.language as sl
from shoal.language import arange, program_id, store

WIDTH = sl.constexpr(8)
PLAIN = 3
ANNOTATED: sl.constexpr = 6
helpers = types.ModuleType("helpers")
helpers.SCALE = sl.constexpr(5)


class Mode(enum.Enum):
    ADD = 0
    MULTIPLY = 1


class Level(enum.IntEnum):
    LOW = 10
    HIGH = 20


class Pair(NamedTuple):
    first: object
    second: object = 7


Old = namedtuple("Old", ["x", "y"])


def run(kernel, *args, n=8, dtype=np.int32, **named):
    """What a kernel writes to its first argument."""
    out = np.zeros(n, dtype)
    kernel[(1,)](out, *args, **named)
    return out


def test_names_imported_from_the_language():
    @shoal.jit
    def kernel(out):
        store(out + arange(0, 8), program_id(0) + arange(0, 8))

    np.testing.assert_array_equal(run(kernel), np.arange(8))


def test_global_constants():
    @shoal.jit
    def kernel(out):
        sl.store(out + sl.arange(0, WIDTH), WIDTH * helpers.SCALE)

    assert (run(kernel) == 40).all()
    assert {name: value[0].value for (name, _), value in kernel.used_global_vals.items()} == {"WIDTH": 8, "SCALE": 5}


def test_annotated_globals():
    @shoal.jit
    def kernel(out):
        sl.store(out, ANNOTATED)

    assert run(kernel)[0] == 6


def test_plain_globals_are_refused(monkeypatch):
    @shoal.jit
    def kernel(out):
        sl.store(out, PLAIN)

    with pytest.raises(shoal.CompilationError, match="PLAIN"):
        run(kernel)
    monkeypatch.setattr(shoal.knobs.compilation, "allow_non_constexpr_globals", True)
    assert run(shoal.jit(kernel.fn))[0] == 3


def test_globals_that_change_are_noticed():
    @shoal.jit
    def kernel(out):
        sl.store(out, WIDTH)

    global WIDTH
    before = WIDTH
    run(kernel)
    try:
        WIDTH = sl.constexpr(8)
        run(kernel)
        WIDTH = sl.constexpr(16)
        changed = r"Global variable WIDTH has changed .* from constexpr\[8\] to constexpr\[16\]"
        with pytest.raises(RuntimeError, match=changed):
            run(kernel)
        del WIDTH
        with pytest.raises(RuntimeError, match="to nothing"):
            run(kernel)
    finally:
        WIDTH = before
    run(kernel)


def test_lists_that_change_in_place_are_noticed():
    sizes = sl.constexpr([3, 4])

    @shoal.jit
    def kernel(out):
        sl.store(out, sizes[0])

    assert run(kernel)[0] == 3
    sizes.value[0] = 9
    with pytest.raises(RuntimeError, match="Global variable sizes has changed"):
        run(kernel)


def test_a_name_is_a_global_until_the_kernel_assigns_it():
    @shoal.jit
    def kernel(out):
        sl.store(out, WIDTH)  # noqa: F823
        WIDTH = 3
        sl.store(out + 1, WIDTH)

    global WIDTH
    before = WIDTH
    assert run(kernel)[:2].tolist() == [8, 3]
    try:
        # Nor is code of the old value found on disk.
        WIDTH = sl.constexpr(16)
        assert run(shoal.jit(kernel.fn))[:2].tolist() == [16, 3]
    finally:
        WIDTH = before


def test_a_name_that_a_loop_reads_and_assigns_is_no_global():
    @shoal.jit
    def counted(out, n):
        for i in range(n):
            sl.store(out + i, WIDTH)  # noqa: F823
            WIDTH = i  # noqa: F841

    @shoal.jit
    def tested(out, n):
        while WIDTH < n:  # noqa: F823
            for i in range(2):
                sl.store(out + i, i)
            WIDTH = n  # noqa: F841

    for kernel in (counted, tested):
        with pytest.raises(shoal.CompilationError, match="`WIDTH` has no value here"):
            kernel[(1,)](np.zeros(8, np.int32), 3)


def test_closures():
    def make(offset, fn):
        @shoal.jit
        def kernel(out):
            sl.store(out, fn(10) + offset)

        return kernel

    @shoal.jit
    def twice(x):
        return 2 * x

    @shoal.jit
    def thrice(x):
        return 3 * x

    assert run(make(sl.constexpr(1), twice))[0] == 21
    assert run(make(sl.constexpr(2), thrice))[0] == 32


def test_variables_of_closures_that_are_not_there():
    def make():
        @shoal.jit
        def kernel(out):
            sl.store(out, later)

        if len(kernel.arg_names) == 2:
            later = 1
        return kernel

    with pytest.raises(shoal.CompilationError, match="later"):
        run(make())


def test_functions_call_functions():
    @shoal.jit
    def square(x):
        return x * x

    @shoal.jit
    def norm(x, y):
        return square(x) + square(y)

    @shoal.jit
    def kernel(out, x, y):
        sl.store(out, norm(x, y))

    assert run(kernel, 3, 4)[0] == 25


def test_functions_as_arguments():
    @shoal.jit
    def add(a, b):
        return a + b

    @shoal.jit
    def multiply(a, b):
        return a * b

    @shoal.jit
    def kernel(out, a, b, combine: sl.constexpr):
        sl.store(out, combine(a, b))

    assert run(kernel, 6, 7, add)[0] == 13
    assert run(kernel, 6, 7, combine=multiply)[0] == 42
    assert len(kernel.device_caches[0][0]) == 2


def test_functions_defined_anew_are_noticed():
    scope = {"shoal": shoal, "sl": sl}

    def define(text):
        import linecache

        name = f"<cell {len(text)}>"
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        exec(compile(text, name, "exec"), scope)

    define("@shoal.jit\ndef helper():\n    return 1\n")
    define("@shoal.jit\ndef kernel(out):\n    sl.store(out, helper())\n")
    assert run(scope["kernel"])[0] == 1
    define("@shoal.jit\ndef helper():\n    return 1 + 41\n")
    assert run(scope["kernel"])[0] == 42


def test_functions_that_run_at_compile_time():
    @shoal.constexpr_function
    def gamma(x):
        return math.gamma(x) if isinstance(x, int) else None

    @shoal.constexpr_function
    def pick(values, *, at):
        return sorted(values)[at]

    @shoal.jit
    def kernel(out, N: sl.constexpr):
        sl.static_assert(gamma(N) == 24)
        sl.store(out, int(gamma(N)) + pick((3, 1, 2), at=2))

    assert run(kernel, 5)[0] == 27
    assert gamma(sl.constexpr(5)) == 24


def test_exceptions_of_functions_that_run_at_compile_time():
    @shoal.constexpr_function
    def checked(x):
        raise ValueError(f"{x} is too large")

    @shoal.jit
    def kernel(out, N: sl.constexpr):
        sl.store(out, checked(N))

    with pytest.raises(shoal.CompilationError, match="ValueError: 5 is too large") as caught:
        run(kernel, 5)
    assert isinstance(caught.value.__cause__, ValueError)


def test_enums():
    @shoal.jit
    def kernel(out, mode: sl.constexpr, level: sl.constexpr):
        if mode == Mode.ADD:
            sl.store(out, 1 + level.value)
        elif mode is Mode.MULTIPLY:
            sl.store(out, 2 * level.value)

    assert run(kernel, Mode.ADD, Level.HIGH)[0] == 21
    assert run(kernel, Mode.MULTIPLY, Level.LOW)[0] == 20


def test_tuples():
    @shoal.jit
    def kernel(out, pair, nested, SHAPE: sl.constexpr):
        a, b = pair
        sl.store(out, a + b)
        sl.store(out + 1, sl.load(nested[0]) + nested[1][1])
        sl.store(out + 2, SHAPE[0] * SHAPE[1])

    memory = np.array([100], np.int32)
    np.testing.assert_array_equal(run(kernel, (3, 4), (memory, (1, 5)), (6, 7))[:3], [7, 105, 42])


def test_lists_count_as_tuples():
    @shoal.jit
    def kernel(out, sizes, SHAPE: sl.constexpr):
        sl.store(out, sizes[0] + sizes[1] * SHAPE[1])

    assert run(kernel, [3, 4], [5, 6])[0] == 27


def test_named_tuples():
    @shoal.jit
    def kernel(out, pair, old, CONSTANT: sl.constexpr):
        sl.store(out, pair.first + pair[1])
        made = Pair(old.x * 2)
        sl.store(out + 1, made.first + made.second + old.y)
        sl.store(out + 2, CONSTANT.first * CONSTANT.second)

    np.testing.assert_array_equal(run(kernel, Pair(1, 2), Old(10, 20), Pair(5))[:3], [3, 47, 35])


def test_constants_in_the_place_of_values():
    @shoal.jit
    def kernel(out, n):
        sl.static_assert(n == 8)
        sl.store(out + sl.arange(0, n), n)

    assert (run(kernel, sl.constexpr(8)) == 8).all()


def test_types_as_arguments():
    @shoal.jit
    def kernel(out, x, dtype: sl.constexpr):
        sl.static_assert(dtype.primitive_bitwidth == 16)
        sl.store(out, x.to(dtype).to(sl.float32))

    assert run(kernel, 1.0009765625, sl.float16, dtype=np.float32)[0] == np.float32(np.float16(1.0009765625))
    assert run(kernel, 1.0009765625, sl.bfloat16, dtype=np.float32)[0] == 1.0


def test_texts_as_arguments():
    @shoal.jit
    def kernel(out, how: sl.constexpr):
        if how == "one":
            sl.store(out, 1)
        else:
            sl.store(out, 2)

    assert run(kernel, "one")[0] == 1 and run(kernel, how="two")[0] == 2


@dataclasses.dataclass(frozen=True)
class Config:
    block: int
    scale: float

    def doubled(self):
        return self.block * 2


def test_objects_as_arguments():
    @shoal.jit
    def kernel(out, config: sl.constexpr):
        sl.store(out + sl.arange(0, config.block), config.doubled() + int(config.scale))

    np.testing.assert_array_equal(run(kernel, Config(4, 2.0)), [10, 10, 10, 10, 0, 0, 0, 0])
    run(kernel, Config(4, 2.0))
    assert len(kernel.device_caches[0][0]) == 1
    np.testing.assert_array_equal(run(kernel, Config(2, 2.0)), [6, 6, 0, 0, 0, 0, 0, 0])


def test_modules_of_constants_and_functions():
    module = types.ModuleType("mathematics")

    @shoal.jit
    def increment(x):
        return x + module.STEP

    module.STEP, module.increment = sl.constexpr(4), increment

    @shoal.jit
    def kernel(out):
        sl.store(out, module.increment(1) + module.increment(2))

    assert run(kernel)[0] == 11


def test_pythons_own_functions():
    @shoal.jit
    def kernel(out, N: sl.constexpr):
        size: sl.constexpr = max(min(N, 100), len((1, 2)))
        sl.store(out, size + int(math.log2(16)) + shoal.cdiv(N, 4) + shoal.next_power_of_2(N))

    assert run(kernel, 9)[0] == 9 + 4 + 3 + 16


@shoal.aggregate
class Complex:
    re: sl.tensor
    im: sl.tensor
    scale: sl.constexpr

    @shoal.constexpr_function
    def __init__(self, re, im, scale):
        self.re = re
        self.im = im
        self.scale = sl.constexpr(scale)

    @shoal.jit
    def times(self, other):
        return Complex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re, self.scale)


def test_aggregates():
    @shoal.jit
    def kernel(out):
        lanes = sl.arange(0, 8)
        product = Complex(lanes, lanes + 1, 3).times(Complex(lanes, 0 * lanes, 1))
        sl.store(out + lanes, product.re * product.scale)

    np.testing.assert_array_equal(run(kernel), 3 * np.arange(8) ** 2)


@shoal.aggregate
class Range:
    start: sl.tensor
    count: sl.constexpr = 8

    @staticmethod
    def at(start):
        return Range(start)

    @shoal.jit
    def __getitem__(self, shift):
        return self.lanes() + shift

    def lanes(self, _semantic=None):
        return self.start + sl.arange(0, self.count, _semantic=_semantic)


@shoal.aggregate
class Scaled(Range):
    factor: sl.tensor
    doubled: sl.constexpr

    def __init__(self, start, factor):
        self.start = start
        self.count = sl.constexpr(8)
        self.factor = factor
        self.doubled = sl.constexpr(self.count * 2)


def test_aggregates_inherit_and_have_plain_and_static_methods():
    @shoal.jit
    def kernel(out):
        scaled = Scaled(2, 5)
        sl.static_assert(scaled.doubled == 16)
        moved = sl.aggregate_replace(Range.at(0), start=100)
        sl.store(out + sl.arange(0, 8), scaled[1] * scaled.factor + moved.lanes() + scaled.at(0).lanes())

    lanes = np.arange(8)
    np.testing.assert_array_equal(run(kernel), (lanes + 3) * 5 + (lanes + 100) + lanes)


def test_aggregates_on_the_host():
    @shoal.aggregate
    class Base:
        x: sl.constexpr
        shape: sl.tuple = (4, 8)

        @shoal.constexpr_function
        def double(self):
            return self.x.value * 2

    @shoal.aggregate
    class Child(Base):
        y: sl.constexpr = 7

    child = Child(3)
    assert isinstance(child.x, sl.constexpr) and (child.x.value, child.y.value, child.double()) == (3, 7, 6)
    assert isinstance(child.shape, sl.tuple) and child.shape[1].value == 8
    other = sl.aggregate_replace(child, y=9)
    assert (child.y.value, other.y.value, other.x.value) == (7, 9, 3)
    with pytest.raises(AttributeError, match="cannot assign to field 'x' on immutable aggregate"):
        child.x = sl.constexpr(1)
    with pytest.raises(TypeError, match="has no field 'z'"):
        sl.aggregate_replace(child, z=1)
    with pytest.raises(TypeError, match="missing required argument: 'x'"):
        Child()
    with pytest.raises(TypeError, match="can only inherit from other aggregates"):
        shoal.aggregate(type("Other", (int,), {}))


def test_types_of_what_is_known_at_compile_time():
    @shoal.jit
    def kernel(out):
        four: sl.constexpr
        if (four := 4) == 4:
            sl.static_assert(isinstance(four.type, sl.constexpr_type))
        sl.static_assert(four.type == sl.constexpr_type(4) and four.type != sl.constexpr_type(5))
        pair = (sl.full((), 1.0, sl.float32), 1)
        sl.static_assert(pair.type == sl.tuple_type([sl.float32, sl.int32]))
        sl.store(out + sl.arange(0, 8), four)

    np.testing.assert_array_equal(run(kernel), np.full(8, 4))


def test_a_kernel_that_calls_itself_is_refused():
    @shoal.jit
    def forever(x):
        return forever(x)

    @shoal.jit
    def kernel(out):
        sl.store(out, forever(1))

    with pytest.raises(shoal.CompilationError, match="forever"):
        run(kernel)
