"""The backend "shoal" of `torch.compile`: Inductor's graphs and code, compiled and launched by Shoal on the CPU.

Inductor lowers a graph to Triton kernels, forward and backward, with dynamic shapes, as it does for GPUs. They are
compiled in this process; neither a C++ compiler nor worker processes are needed. What Inductor does for other backends
is left as it is: its settings are changed for one graph at a time, and Triton stays Triton for everybody else
(`_inductor_modules.py`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from shoal.torch._cpu_choices import choices
from shoal.torch._flex_attention import write_out_attention
from shoal.torch._inductor_modules import shoal_as_triton
from shoal.torch._registration import when_imported

NAME = "shoal"

# Inductor's settings for Shoal's graphs.
SETTINGS: dict[str, Any] = {
    "cpu_backend": "triton",
    # In this process: Shoal compiles a kernel in less time than a worker takes to be asked.
    "compile_threads": 1,
    # Both are for NVIDIA's code.
    "triton.cudagraphs": False,
    "use_static_triton_launcher": False,
    # It knows the configurations of the installed Triton only.
    "autotune_local_cache": False,
}


def register() -> None:
    """Registers the backend, as soon as `torch.compile` is used. Doing so again changes nothing."""
    when_imported("torch._dynamo.backends.registry", _register)


def _register(registry: ModuleType) -> None:
    # Listing them would import all of them, while `torch._dynamo` is still being imported.
    if NAME not in registry._BACKENDS:
        registry.register_backend(compile_graph, name=NAME)


def compile_graph(
    graph: Any, example_inputs: Sequence[Any], *, mode: str | None = None, options: Mapping[str, Any] | None = None
) -> Callable[..., Any]:
    """Compiles a graph; `options` are settings of Inductor's, as for its own backend."""
    import torch

    # Imported before Shoal takes Triton's place, so that what Inductor binds then is what others expect.
    from torch._inductor import compile_fx, config

    # The choices are part of what Inductor's cache of graphs goes by.
    ours = {**SETTINGS, "inductor_choices_class": choices}
    settings = {name: value for name, value in ours.items() if _is_setting(config, name)}
    if mode is not None:
        chosen = torch._inductor.list_mode_options(mode)
        settings = {**chosen, **settings}
    settings.update(options or {})

    def compile_one(*args: Any, **kwargs: Any) -> Any:
        with shoal_as_triton(), _choices_for_cpu():
            return _first_calls_with_shoal(compile_fx.compile_fx_inner(*args, **kwargs))

    write_out_attention(graph)
    with shoal_as_triton():
        return compile_fx.compile_fx(graph, example_inputs, inner_compile=compile_one, config_patches=settings)


def _choices_for_cpu() -> contextlib.AbstractContextManager[Any]:
    chosen = choices()
    if chosen is None:
        return contextlib.nullcontext()
    from torch._inductor.virtualized import V

    return V.set_choices_handler(chosen)


def _is_setting(config: Any, name: str) -> bool:
    return name in config.get_config_copy()


def _first_calls_with_shoal(code: Any) -> Any:
    """What Inductor leaves for the first launch (loading, tuning) looks for Triton again: Shoal is there for it."""
    run = getattr(code, "current_callable", None)
    if run is None:
        return code

    def first(inputs: Any) -> Any:
        with shoal_as_triton():
            result = run(inputs)
        code.current_callable = run
        return result

    code.current_callable = first
    return code
