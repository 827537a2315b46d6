"""Names that a kernel's text takes from the program around it."""

from __future__ import annotations

import numpy as np

import shoal
import shoal.language as tl
from shoal.language import core

LIMIT = tl.constexpr(7)
WIDTH = 4
TABLE = tl.constexpr({"scale": 3, "shift": 10})


@core.extern
def at_least(x, _semantic=None):
    return core.maximum(x, LIMIT, _semantic=_semantic)


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
