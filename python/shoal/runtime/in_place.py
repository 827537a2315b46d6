"""Changing an array in place, whichever library it is of: torch's way if it has one, else NumPy's."""

from typing import Any


def fill_with_zeros(array: Any) -> None:
    """All elements become zero."""
    if hasattr(array, "zero_"):
        array.zero_()
    else:
        array[...] = 0


def copy_of(array: Any) -> Any:
    """The elements, in memory of their own."""
    return array.clone() if hasattr(array, "clone") else array.copy()


def overwrite(array: Any, values: Any) -> None:
    """The elements become these."""
    if hasattr(array, "copy_"):
        array.copy_(values)
    else:
        array[...] = values
