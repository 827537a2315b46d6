"""Code for single threads inside tile kernels: regions, elements of tiles, vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.language._dtype import dtype as Dtype
from shoal.language._host import operation
from shoal.language._values import Bool, Int, Text, Value, tensor


@operation
def simt_exec_region() -> Any:
    """A region of code for single threads: `with simt_exec_region() as (thread, threads):`."""


@operation
def extract(input: tensor, indices: Any) -> tensor:
    """An element of a tile; also written `input[i, j]`."""


@operation
def insert(input: tensor, scalar: Value, indices: Any) -> tensor:
    """The tile with another element; also written `input[i, j] = scalar`."""


@operation
def vector(args: Any) -> Any:
    """A few numbers that each thread holds."""


@operation
def make_vector(args: Any) -> Any:
    """A vector of values, which take the first one's type."""


@operation
def zeros_vector(vec_size: Int, dtype: Dtype) -> Any:
    """A vector of zeros."""


@operation
def ld_vector(ptr: tensor, vec_size: Int, scope: Text = "", semantic: Text = "") -> Any:
    """Reads a vector."""


@operation
def st_vector(ptr: tensor, vec: Any, scope: Text = "", semantic: Text = "") -> None:
    """Writes a vector."""


@operation
def extern_call(
    lib_name: Text, lib_path: Text, args: Sequence[tensor], arg_type_symbol_dict: dict[Any, Any], is_pure: Bool
) -> tensor:
    """A function of a library. The types of the arguments choose its symbol."""
