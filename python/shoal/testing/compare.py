"""Comparing results."""

from __future__ import annotations

from typing import Any


def assert_close(x: Any, y: Any, atol: Any = None, rtol: Any = None, err_msg: str = "") -> None:
    """Raises AssertionError unless `x` and `y` are close: numbers, lists, NumPy arrays or torch tensors.

    `atol` (0.01 if not given) and `rtol` (0) are numbers, or functions of the type of `x`. NaN is close to NaN.
    """
    try:
        import numpy
    except ImportError as error:
        raise ImportError("assert_close compares with NumPy, which is not installed: pip install numpy") from error
    kind = x.dtype if hasattr(x, "dtype") else None
    atol = 1e-2 if atol is None else atol
    rtol = 0.0 if rtol is None else rtol
    x, y = _as_numpy(x), _as_numpy(y)
    kind = x.dtype if kind is None else kind
    atol = atol(kind) if callable(atol) else atol
    rtol = rtol(kind) if callable(rtol) else rtol
    numpy.testing.assert_allclose(x, y, atol=atol, rtol=rtol, equal_nan=True, err_msg=err_msg)


def _as_numpy(values: Any) -> Any:
    import numpy

    if hasattr(values, "detach"):
        values = values.detach().cpu()
        # NumPy has no bfloat16 and no 8-bit floats of its own.
        if values.is_floating_point() and values.element_size() < 4:
            values = values.float()
        values = values.numpy()
    array = numpy.asarray(values)
    # Types of other packages (ml_dtypes) have kind V or f, and arithmetic that differs: compare what they stand for.
    return (
        array.astype(numpy.float32)
        if array.dtype.kind == "V" or array.dtype.itemsize < 4 and array.dtype.kind == "f"
        else array
    )
