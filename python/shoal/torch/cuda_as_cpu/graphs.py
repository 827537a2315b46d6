"""CUDA graphs: what is put into streams between the begin and the end of a capture is noted, and done by every replay.

As on a GPU nothing is done while a graph is captured: tensors that come out of it have their memory, and get their
values from replays, which read what the tensors that went in hold then. So a program cannot ask for values meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._C import DispatchKey, DispatchKeySet
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

from shoal import _native
from shoal.runtime import stream_work
from shoal.runtime.jit import JITFunction

# Operators that are noted as they are; what others consist of is noted.
_WHOLE = ("aten", "prims", "symm_mem", "_c10d_functional")
_ALLOCATING = ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "resize_", "set_")
_ASKING = ("_local_scalar_dense", "allclose", "equal", "is_nonzero", "item")

_pools = iter(range(1, 1 << 62))


def _refuse(what: str) -> Any:
    raise RuntimeError(
        f"CUDA error: operation not permitted when stream is capturing: {what} wants values, and those of a graph are "
        "there when it is replayed"
    )


class _Noting(TorchDispatchMode):
    """Notes torch's operators, and gives tensors for what they will compute."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name, returns = func._schema.name.rpartition("::")[2], func._schema.returns
        if func.namespace == "c10d":
            raise RuntimeError(f"c10d.{name} cannot be captured; use the functions of torch.distributed")
        if name in _ASKING:
            _refuse(f"torch.{name}")
        if name in _ALLOCATING or (returns and all(_is_view(value) or not _is_tensor(value) for value in returns)):
            return func(*args, **kwargs)
        if func.namespace not in _WHOLE:
            with self:
                return func.redispatch(DispatchKeySet(DispatchKey.CPU), *args, **kwargs)
        if name == "wait_tensor":
            return args[0]
        if not any(value.alias_info is None for value in returns):
            stream_work.do(func, *args, **kwargs)
            return _written(func, args, kwargs)
        made = _allocated(func, args, kwargs)
        stream_work.do(_compute_into, tree_leaves(made), func, args, kwargs)
        return made


def _is_tensor(value: Any) -> bool:
    return "Tensor" in str(value.type)


def _is_view(value: Any) -> bool:
    return value.alias_info is not None and not value.alias_info.is_write


def _written(func: Any, args: Any, kwargs: Any) -> Any:
    """The arguments that an operator writes and returns."""
    given = {
        frozenset(declared.alias_info.before_set): args[at] if at < len(args) else kwargs.get(declared.name)
        for at, declared in enumerate(func._schema.arguments)
        if declared.alias_info is not None
    }
    results = [given[frozenset(value.alias_info.before_set)] for value in func._schema.returns]
    return results[0] if len(results) == 1 else tuple(results) or None


def _allocated(func: Any, args: Any, kwargs: Any) -> Any:
    """Tensors like those that an operator gives."""
    with FakeTensorMode(allow_non_fake_inputs=True):
        shown = func(*args, **kwargs)

    def like(tensor: Any) -> Any:
        # Not `torch.empty_strided`, which would be a program's call for a tensor of the host.
        return torch.ops.aten.empty_strided.default(tensor.size(), tensor.stride(), dtype=tensor.dtype)

    return tree_map_only(torch.Tensor, like, shown)


def _compute_into(made: list[Any], func: Any, args: Any, kwargs: Any) -> None:
    for tensor, value in zip(made, tree_leaves(func(*args, **kwargs)), strict=True):
        if isinstance(tensor, torch.Tensor):
            if func.namespace == "_c10d_functional":
                value = torch.ops._c10d_functional.wait_tensor(value)
            tensor.copy_(value)


def _noted_launch(kernel: Any, grid: Any, args: Any, named: Any) -> Any:
    """Compiles now and launches with every replay, with the grid as it is now."""
    if callable(grid):
        defaults = {param.name: param.default for param in kernel.params if param.has_default}
        grid = grid({**defaults, **dict(zip(kernel.arg_names, args)), **named})
    stream_work.do(_native.Kernel.run, kernel, *args, grid=grid, **named)
    return _native.Kernel.warmup(kernel, *args, grid=grid, **named)


def _run(self: Any, *args: Any, grid: Any, warmup: bool = False, **named: Any) -> Any:
    if warmup:
        return _native.Kernel.run(self, *args, grid=grid, warmup=True, **named)
    return _noted_launch(self, grid, args, named)


def _getitem(self: Any, grid: Any) -> Callable[..., Any]:
    return lambda *args, **named: _noted_launch(self, grid, args, named)


def _asked(name: str) -> Callable[..., Any]:
    return lambda *_, **__: _refuse(f"torch.{name}")


_WHILE_CAPTURED: tuple[tuple[Any, str, Any], ...] = (
    (JITFunction, "run", _run),
    (JITFunction, "__getitem__", _getitem),
    (torch.Tensor, "tolist", _asked("Tensor.tolist")),
    (torch.Tensor, "numpy", _asked("Tensor.numpy")),
    (torch.cuda, "synchronize", _asked("cuda.synchronize")),
)


@contextmanager
def _replaced() -> Iterator[None]:
    before = [(owner, name, vars(owner).get(name)) for owner, name, _ in _WHILE_CAPTURED]
    for owner, name, by in _WHILE_CAPTURED:
        setattr(owner, name, by)
    try:
        yield
    finally:
        for owner, name, value in before:
            delattr(owner, name) if value is None else setattr(owner, name, value)


class CUDAGraph:
    """`torch.cuda.CUDAGraph`."""

    def __init__(self, keep_graph: bool = False) -> None:
        self._work: list[Callable[[], Any]] | None = None
        self._capture: Any = None
        self._pool: Any = None

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        """From here on what is put into streams is noted."""
        if stream_work.is_captured():
            raise RuntimeError("a CUDA graph is being captured already")
        if self._work is not None:
            raise RuntimeError("This CUDAGraph instance already owns a captured graph; reset() it first")
        self._pool = pool if pool is not None else graph_pool_handle()
        self._capture = self._capturing()
        self._capture.__enter__()

    @contextmanager
    def _capturing(self) -> Iterator[None]:
        work: list[Callable[[], Any]] = []
        stream_work.note_into(work)
        try:
            with _replaced(), _Noting():
                yield
        finally:
            stream_work.note_into(None)
        self._work = work

    def capture_end(self) -> None:
        """Ends the capture."""
        if self._capture is None:
            raise RuntimeError("capture_end() without a capture_begin()")
        capture, self._capture = self._capture, None
        capture.__exit__(None, None, None)

    def _capture_failed(self, *error: Any) -> None:
        capture, self._capture = self._capture, None
        capture.__exit__(*error)

    def instantiate(self) -> None:
        """A graph is ready when it is captured."""

    @torch.no_grad()
    def replay(self) -> None:
        """Does what was captured, in its order."""
        if self._work is None:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        for step in self._work:
            step()

    def reset(self) -> None:
        """Forgets what was captured."""
        self._work = None

    def pool(self) -> Any:
        """What other graphs share memory by; each has its own here."""
        return self._pool

    def register_generator_state(self, generator: Any) -> None:
        """Random numbers of replays go on where others have ended."""

    def enable_debug_mode(self) -> None:
        """Nothing else can be seen of a graph."""


class graph:
    """`torch.cuda.graph`: captures what is put into streams in its block."""

    def __init__(self, cuda_graph: CUDAGraph, pool: Any = None, stream: Any = None, **named: Any) -> None:
        self.cuda_graph, self.pool = cuda_graph, pool
        self.stream_ctx = torch.cuda.stream(stream)
        self.capture_error_mode = named.get("capture_error_mode", "global")

    def __enter__(self) -> None:
        torch.cuda.synchronize()
        self.stream_ctx.__enter__()
        self.cuda_graph.capture_begin(self.pool, self.capture_error_mode)

    def __exit__(self, *error: Any) -> None:
        if error[0] is None:
            self.cuda_graph.capture_end()
        else:
            self.cuda_graph._capture_failed(*error)
        self.stream_ctx.__exit__(*error)


def graph_pool_handle() -> tuple[int, int]:
    """A name for memory that graphs share."""
    return (0, next(_pools))
