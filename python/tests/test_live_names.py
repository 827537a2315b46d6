"""Names that a kernel's text takes from the program around it."""

from __future__ import annotations

import numpy as np

import shoal
import shoal.language as tl
from shoal.backends.compiler import GPUTarget
from shoal.compiler import ASTSource
from shoal.language import core

LIMIT = tl.constexpr(7)
WIDTH = 4
TABLE = tl.constexpr({"scale": 3, "shift": 10})


@core.extern
def at_least(x, _semantic=None):
    return core.maximum(x, LIMIT, _semantic=_semantic)


@core.extern
def by_backend(
    x,
    _semantic=None,
):
    if _semantic.builder.options.backend_name == "hip":
        return missing(x, _semantic=_semantic)  # noqa: F821
    elif _semantic.builder.options.backend_name == "cpu":
        return at_least(x, _semantic=_semantic)
    elif _semantic.builder.options.backend_name == "cuda":
        return core.maximum(x, 9, _semantic=_semantic)
    else:
        core.static_assert(False, "neither", _semantic=_semantic)


@shoal.jit
def chosen(x):
    tl.store(x, by_backend(tl.load(x)))


@shoal.jit
def raised(x):
    tl.store(x, at_least(tl.load(x)))


@shoal.jit
def counted(x, BLOCK: tl.constexpr = WIDTH):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, i + 1)


@shoal.jit
def by_table(x, options: tl.constexpr):
    tl.store(x, TABLE["scale"] * options["factor"] + TABLE["shift"] + len(options))


def test_functions_written_as_those_of_triton_are_compiled() -> None:
    x = np.array([3], np.int32)
    raised[(1,)](x)
    assert x[0] == 7


def test_functions_written_as_those_of_triton_ask_what_is_compiled_for() -> None:
    x = np.array([3], np.int32)
    chosen[(1,)](x)
    assert x[0] == 7
    signature = {"x": "*i32"}
    for target, limit in ((GPUTarget("cuda", 90, 32), 9), (None, 7)):
        text = shoal.compile(ASTSource(chosen, signature), target=target).asm["tile"]
        assert f"value = {limit}" in text, text


def test_defaults_keep_the_value_they_were_defined_with() -> None:
    global WIDTH
    x = np.zeros(8, np.int32)
    counted[(1,)](x)
    WIDTH = 8
    try:
        counted[(1,)](x)
    finally:
        WIDTH = 4
    assert x.tolist() == [1, 2, 3, 4, 0, 0, 0, 0]


def test_dictionaries_are_compiled_in() -> None:
    x = np.zeros(1, np.int32)
    for factor in (2, 5):
        by_table[(1,)](x, {"factor": factor})
        assert x[0] == 3 * factor + 11
