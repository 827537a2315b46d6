"""Names of Triton's inner modules: no promise of Triton's, but libraries import them.

What exists here under another name is found there. What belongs to Triton's own compiler can be imported and says so
when it is used: many programs import more than they use.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

# Where the names of a module of Triton are: a module, or a module's object under another name.
_FOUND: dict[str, dict[str, str]] = {
    "_utils": {
        "apply_with_path find_paths_if get_iterable_path is_iterable "
        "set_iterable_path": "shoal.triton._inner_functions",
    },
    "backends.driver": {"find_paths_if": "shoal.triton._inner_functions"},
    "compiler.code_generator": {
        "JITCallable JITFunction ConstexprFunction": "shoal.runtime.jit",
        "BoundConstexprFunction": "shoal.runtime.callable:_Bound",
        "base_type base_value constexpr tensor str_to_ty _unwrap_if_constexpr": "shoal.language.core",
        "tl_tuple": "shoal.language.core:tuple",
        "language": "shoal.language:",
        "knobs": "shoal.knobs:",
        "is_namedtuple": "shoal.triton._utils",
        "apply_with_path set_iterable_path get_full_name check_identifier_legality _is_constexpr _is_list_like "
        "_is_non_scalar_tensor _is_triton_tensor _is_triton_value": "shoal.triton._inner_functions",
    },
    "compiler.compiler": {
        "Language": "shoal.backends.compiler",
        "OutOfResources": "shoal.errors",
        "get_cache_manager get_dump_manager get_override_manager": "shoal.runtime.cache",
        "get_cache_invalidating_env_vars": "shoal.triton._C.libtriton",
        "get_sass": "shoal.tools.disasm",
        "knobs": "shoal.knobs:",
        "__version__": "shoal.triton",
    },
    "compiler.errors": {"TritonError": "shoal.triton"},
    "knobs": {
        "ASTSource IRSource LazyDict": "shoal.compiler.compiler",
        "CacheManager RemoteCacheBackend": "shoal.runtime.cache",
        "Config": "shoal.runtime.autotuner",
        "JITFunction KernelParam": "shoal.runtime.jit",
        "JitFunctionInfo": "shoal.runtime.preload",
        "warn_once": "shoal.triton._utils",
        "AutotuneListener BuildImpl CompilationListener InitHandleHook JITHook JITHookCompileInfo KernelAttr "
        "LaunchHook PipelineStagesHook": "shoal.triton._inner_functions",
    },
    "language.core": {
        "JITCallable T": "shoal.runtime.jit",
        "knobs": "shoal.knobs:",
        "tensor_descriptor_base_type": "shoal.language.core:tensor_descriptor_type",
        "_normalize_tuple _type_for_tuple_values _wrap_axis check_bit_width": "shoal.triton._inner_functions",
        "builtin_max": "builtins:max",
        "builtin_min": "builtins:min",
        "warn_once": "shoal.triton._utils",
    },
    "language.extra.cuda.gdc": {"core": "shoal.language.core:"},
    "language.extra.cuda.libdevice": {"core": "shoal.language.core:"},
    "language.extra.cuda.utils": {"core": "shoal.language.core:"},
    "language.extra.hip.libdevice": {"core": "shoal.language.core:"},
    "language.extra.hip.utils": {"core": "shoal.language.core:"},
    "language.math": {"core": "shoal.language.core:"},
    "language.random": {"tl": "shoal.language.core:", "math": "shoal.language.math:", "jit": "shoal.runtime.jit"},
    "language.semantic": {
        "IncompatibleTypeErrorImpl TensorTy": "shoal.triton._inner_functions",
        "driver": "shoal.runtime.driver",
    },
    "language.standard": {
        "core": "shoal.language.core:",
        "math": "shoal.language.math:",
        "jit constexpr_function": "shoal.runtime.jit",
    },
    "language.target_info": {"constexpr_function": "shoal.runtime.jit", "driver": "shoal.runtime.driver"},
    "runtime.autotuner": {
        "PTXASError": "shoal.triton.runtime.errors",
        "driver": "shoal.runtime.driver",
        "get_cache_manager triton_key": "shoal.runtime.cache",
        "get_cache_invalidating_env_vars": "shoal.triton._C.libtriton",
    },
    "runtime.build": {"_load_module_from_path": "shoal.triton.runtime.build:_load"},
    "runtime.cache": {"__version__": "shoal.triton"},
    "runtime.driver": {"backends": "shoal.backends"},
    "runtime.interpreter": {
        "InterpreterError": "shoal.errors",
        "KernelInterface": "shoal.runtime.jit",
        "TensorDescriptor": "shoal.tools.tensor_descriptor",
        "tl": "shoal.language:",
    },
    "runtime.jit": {
        "BaseBackend": "shoal.backends.compiler",
        "BoundConstexprFunction": "shoal.runtime.callable:_Bound",
        "JitFunctionInfo": "shoal.runtime.preload",
        "driver": "shoal.runtime.driver",
        "_async_compile": "shoal.triton.runtime._async_compile:",
        "get_cache_key": "shoal.runtime.cache",
        "get_cache_invalidating_env_vars native_specialize_impl": "shoal.triton._C.libtriton",
        "is_namedtuple type_canonicalisation_dict": "shoal.triton._utils",
        "GLUON_MODULE TRITON_MODULE _normalize_ty compute_cache_key convert_to_tuple_if_list find_paths_if "
        "get_full_name get_iterable_path mangle_type": "shoal.triton._inner_functions",
    },
    "testing": {
        "_quantile cuda_graph_without_gc": "shoal.triton._inner_functions",
        "_summarize_statistics": "shoal.testing.timing",
        "runtime": "shoal.triton.runtime:",
        "tl": "shoal.language:",
    },
    "tools.tensor_descriptor": {"canonicalize_dtype validate_block_shape": "shoal.triton._utils"},
}

# What Triton's own compiler, interpreter and code generators for hosts are made of.
_REFUSED: dict[str, str] = {
    "_C.libtriton": "amd gluon_ir interpreter ir linear_layout llvm passes proton",
    "backends.driver": "decompose_descriptor expand_signature make_tensordesc_args wrap_handle_tensordesc_impl",
    "compiler.code_generator": "ASTFunction BoundJITMethod CodeGenerator ContainsReturnChecker ast_to_ttir "
    "enter_sub_region flatten_values_to_ir gluon_ir ir mangle_fn normalize_value unflatten_ir_values",
    "compiler.compiler": "CompileTimer convert_type_repr filter_traceback ir parse",
    "language.core": "_aggregate_type _insertion_guard _reduce_with_indices _unsplat binary_op_type_legalization "
    "dispatch ir",
    "language.extra.cuda.utils": "convert_custom_float8 convert_float16_to_fp8e4b15 convert_fp8e4b15_to_float16",
    "language.semantic": "TritonSemantic ir",
    "runtime.interpreter": "ASTTransformer FunctionRewriter GridExecutor InterpreterBuilder InterpreterOptions "
    "ReduceOps ReduceScanOpInterface ScanOps TensorDescHandle TensorHandle TritonSemantic interpreter_builder "
    "interpreter_semantic",
    "runtime.jit": "DependenciesFinder create_function_from_signature ir serialize_specialization_data",
    "tools.disasm": "extract parseCtrl processSassLines",
    "tools.link": "HeaderParser KernelLinkerMeta make_algo_decls make_default_algo_kernel make_func_pointers "
    "make_get_num_algos_decl make_get_num_algos_def make_global_decl make_kernel_hints_dispatcher make_kernel_load_def "
    "make_kernel_meta_const_dispatcher",
}


class _Refusal(type):
    """The class of names that can be imported and not used."""

    def __getattr__(cls, name: str) -> Any:
        raise AttributeError(cls.why(name))

    def __call__(cls, *args: Any, **named: Any) -> Any:
        raise NotImplementedError(cls.why())

    def why(cls, member: str = "") -> str:
        """What is to be said to those who use the name."""
        used = f"{cls.__module__}.{cls.__name__}" + (f".{member}" if member else "")
        return (
            f"`{used}` is part of Triton's own compiler, and this is Shoal's drop-in for Triton, whose compiler is not "
            "written in Python. `kernel.asm` has what a kernel became."
        )


def names(module: str) -> list[str]:
    """The inner names that a module of Triton (`runtime.jit`) has here."""
    found = [name for group in _FOUND.get(module, {}) for name in group.split()]
    return sorted([*found, *_REFUSED.get(module, "").split()])


def find(module: str, name: str) -> Any:
    """An inner name of a module of Triton; raises AttributeError if it has none of this name."""
    for group, place in _FOUND.get(module, {}).items():
        if name in group.split():
            home, colon, other = place.partition(":")
            loaded = importlib.import_module(home)
            return loaded if colon and not other else getattr(loaded, other or name)
    if name in _REFUSED.get(module, "").split():
        return _Refusal(name, (), {"__module__": f"triton.{module}"})
    raise AttributeError(f"module 'triton.{module}' has no attribute {name!r}")


_given: list[ModuleType] = []


def give(module: ModuleType, tail: str) -> None:
    """Lets the module that stands for `triton` + `tail` have Triton's inner names, until `take_back`."""
    inner = tail.lstrip(".")
    if module in _given or not names(inner):
        return
    own = module.__dict__.get("__getattr__")

    def look(name: str) -> Any:
        try:
            return find(inner, name)
        except AttributeError:
            if own is None:
                raise
        return own(name)

    look.own = own  # type: ignore[attr-defined]
    module.__dict__["__getattr__"] = look
    _given.append(module)


def take_back() -> None:
    """Takes Triton's inner names from the modules again."""
    while _given:
        space = _given.pop().__dict__
        own = space.pop("__getattr__").own
        if own is not None:
            space["__getattr__"] = own
