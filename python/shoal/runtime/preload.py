"""Telling hooks about compilations, and repeating a compilation from what they were told."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal import knobs

from .kernel import variant_hash

if TYPE_CHECKING:
    from .jit import JITFunction
    from .kernel import CompiledKernel


# A type that is passed at launch: `i32`, `fp32`, `*fp32:16`, `tensordesc<...>`; anything else is a value.
_TYPE = re.compile(r"\*|tensordesc|\(|(u1|[iu](1|8|16|32|64)|fp\w+|bf16)(:\d+)?$")


# Options that the text of a compilation shows.
_SHOWN = ("num_warps", "num_ctas", "num_stages", "enable_fp_fusion", "launch_cooperative_grid")


@dataclass
class JitFunctionInfo:
    """Which kernel a hook is told about."""

    module: str
    name: str
    jit_function: JITFunction[Any]


def _types(kernel: JITFunction[Any], signature: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The types of a signature, without what is known of the values."""
    values = {param.name for param in kernel.params if param.is_constexpr}
    passed = {name: name not in values and _TYPE.match(spec) is not None for name, spec in signature}
    return {name: spec.split(":")[0] if passed[name] else "constexpr" for name, spec in signature}


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if isinstance(value, (bool, int, float, str, type(None)))}


def _pairs(libraries: Mapping[str, Any] | Sequence[Any]) -> tuple[tuple[str, str], ...]:
    """Libraries of bitcode with their names, in order."""
    named = libraries.items() if isinstance(libraries, Mapping) else libraries
    return tuple(sorted((name, str(path)) for name, path in named))


def call_hook(
    hook: Callable[..., Any],
    kernel: JITFunction[Any],
    signature: Sequence[tuple[str, str]],
    options: Mapping[str, Any],
    warmup: bool,
) -> Any:
    """Calls `jit_cache_hook` or `jit_post_compile_hook` of `shoal.knobs.runtime`."""
    shown = ", ".join(f"{name}: {spec}" for name, spec in signature)
    name = kernel.fn.__qualname__
    data = json.dumps(
        {"name": kernel._fn_name, "signature": [list(pair) for pair in signature], "options": _plain(options)}
    )
    types = _types(kernel, signature)
    constants = {(at,): spec for at, (name, spec) in enumerate(signature) if types[name] == "constexpr"}
    divisible = {
        (at,): [["tt.divisibility", 16]]
        for at, (name, spec) in enumerate(signature)
        if types[name] != "constexpr" and spec.endswith(":16")
    }
    compile = {
        "signature": types,
        "device": 0,
        "constants": constants,
        "num_warps": options.get("num_warps", 4),
        "num_ctas": options.get("num_ctas", 1),
        "num_stages": options.get("num_stages", 3),
        "enable_fp_fusion": knobs.language.fp_fusion_enabled(options.get("enable_fp_fusion")),
        "launch_cooperative_grid": options.get("launch_cooperative_grid", False),
        "extern_libs": _pairs(options.get("extern_libs") or ()),
        "configs": [divisible],
        "specialization_data": data,
        "is_warmup": warmup,
    }
    return hook(
        key=str((dict(signature), _plain(options))),
        repr=f"{name}[{', '.join(f'{option}={compile[option]}' for option in _SHOWN)}]({shown})",
        fn=JitFunctionInfo(kernel.module, name, kernel),
        compile={**compile, "key": variant_hash(kernel, dict(signature), options)},
        is_manual_warmup=warmup,
        already_compiled=False,
    )


def preload(kernel: JITFunction[Any], specialization_data: str) -> CompiledKernel | None:
    """Compiles what a hook was told about."""
    told = json.loads(specialization_data)
    if told["name"] != kernel._fn_name:
        raise RuntimeError(f"Specialization data is for {told['name']}, not for {kernel._fn_name}")
    return kernel._compile_signature(", ".join(f"{name}={spec}" for name, spec in told["signature"]), told["options"])
