"""Where results lie: where what they are computed from lies, as in torch.

Results that nothing is noted of count as CUDA's. So only what is computed from tensors of the host is noted, from the
first one on that a program makes: programs that compute on `cuda` alone pay nothing.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack, _pop_mode, _push_mode
from torch.utils._device import DeviceContext

from shoal.torch.cuda_as_cpu.notes import has_memory, made_for_cuda, note

# Their results lie where the first argument does: the others say which elements, and may lie elsewhere.
_INDEXING = (torch.Tensor.__getitem__, torch.Tensor.index_put, torch.index_put)


class _Following(TorchFunctionMode):
    """Sees every call of torch's functions that a program makes, and notes results of the host."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **kwargs) if kwargs else func(*args)
        if torch.compiler.is_compiling():
            return made
        if isinstance(made, (torch.Tensor, tuple, list)):
            _note_results(made, args[:1] if func in _INDEXING else (args, *kwargs.values()) if kwargs else args)
        return made


def _note_results(made: Any, given: Any) -> None:
    """Notes what was made anew from tensors of the host."""
    if results := list(_tensors((made,))):
        tensors = list(_tensors(given))
        if _lie_on_host(tensors):
            shown = {tensor.untyped_storage().data_ptr() for tensor in tensors} - {0}
            for result in results:
                if made_for_cuda(result) is None and result.untyped_storage().data_ptr() not in shown:
                    note(result, cuda=False)


def _lie_on_host(tensors: list[Any]) -> bool:
    """Whether what is computed from these lies on the host.

    The first tensor with dimensions of which something is noted decides; tensors without dimensions mix with all.
    """
    unknown = not tensors
    for tensor in tensors:
        noted = made_for_cuda(tensor)
        if noted is not None and tensor.dim():
            return not noted
        unknown = unknown or noted is not False
    return not unknown


def _tensors(given: Any) -> Iterator[Any]:
    for value in given:
        if isinstance(value, torch.Tensor):
            if has_memory(value):
                yield value
        elif isinstance(value, (tuple, list)):
            yield from _tensors(value)


_mode = _Following()
_of_thread = threading.local()


def follow() -> None:
    """From now on results of this thread are noted."""
    if getattr(_of_thread, "follows", False):
        return
    _of_thread.follows = True
    # Whoever has put a mode on the stack takes the top one off again; the default device's is the lowest.
    above = []
    while (stack := _get_current_function_mode_stack()) and not isinstance(stack[-1], DeviceContext):
        above.append(_pop_mode())
    for mode in (_mode, *reversed(above)):
        _push_mode(mode)


def install() -> None:
    """Lets functions that run in a backward pass be seen, too: torch's own call of it hides them."""
    graph: Any = torch.autograd.graph
    if hasattr(graph, "_engine_run_backward"):
        seen = _seen(graph._engine_run_backward)
        graph._engine_run_backward = seen
        torch.autograd._engine_run_backward = seen  # type: ignore[attr-defined]


def _seen(run: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(run)
    def called(*args: Any, **named: Any) -> Any:
        if not getattr(_of_thread, "follows", False) or _mode in _get_current_function_mode_stack():
            return run(*args, **named)
        with _mode:
            return run(*args, **named)

    return called
