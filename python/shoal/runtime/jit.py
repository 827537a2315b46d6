"""`@shoal.jit`: functions that become kernels.

What a launch does is in Rust (`_native.Kernel`); here is what is done once for a function, and what people look at.
"""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar, overload

from .. import _native, knobs
from .callable import ConstexprFunction, JITCallable, constexpr_function
from .device_caches import DeviceCaches
from .interop import MockTensor, TensorWrapper, reinterpret
from .kernel import CompiledKernel, variant_hash
from .param import KernelParam

__all__ = [
    "ConstexprFunction",
    "InterpretedFunction",
    "JITCallable",
    "JITFunction",
    "KernelInterface",
    "KernelParam",
    "MockTensor",
    "TensorWrapper",
    "constexpr_function",
    "jit",
    "reinterpret",
]

T = TypeVar("T")


class KernelInterface(Generic[T]):
    """Something that is launched as `kernel[grid](*args)`."""

    run: Callable[..., Any]

    def warmup(self, *args: Any, grid: Any = None, **kwargs: Any) -> Any:
        """Compiles without running."""
        return self.run(*args, grid=grid, warmup=True, **kwargs)

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        return lambda *args, **kwargs: self.run(*args, grid=grid, warmup=False, **kwargs)


class JITFunction(_native.Kernel, JITCallable, KernelInterface[T]):
    """A kernel, or a function that kernels call; made by `shoal.jit`.

    `kernel[grid](*args, **named)` compiles it for arguments of this kind, if that was not done yet, runs it, and
    returns when all programs have ended. The result is the `CompiledKernel`.
    """

    interpret = False

    def __init__(
        self,
        fn: Callable[..., Any],
        version: Any = None,
        do_not_specialize: Iterable[int | str] | None = None,
        do_not_specialize_on_alignment: Iterable[int | str] | None = None,
        debug: bool | None = None,
        noinline: bool | None = None,
        repr: Callable[[Any], str] | None = None,
        launch_metadata: Callable[..., dict[str, Any]] | None = None,
    ) -> None:
        self._take(fn)
        self.module = fn.__module__
        self.version = version
        self.do_not_specialize = list(do_not_specialize or [])
        self.do_not_specialize_on_alignment = list(do_not_specialize_on_alignment or [])
        self.debug = debug
        self.noinline = noinline
        self._repr = repr
        self.launch_metadata = launch_metadata
        self.kernel = None
        self.pre_run_hooks: list[Callable[..., Any]] = []
        self.params = [
            KernelParam(
                num,
                param,
                num in self.do_not_specialize or param.name in self.do_not_specialize,
                num in self.do_not_specialize_on_alignment or param.name in self.do_not_specialize_on_alignment,
            )
            for num, param in enumerate(self.signature.parameters.values())
        ]
        self.arg_names = [param.name for param in self.params]
        self.constexprs = [param.num for param in self.params if param.is_constexpr]
        kinds = [param.kind for param in self.signature.parameters.values()]
        if inspect.Parameter.VAR_KEYWORD in kinds:
            raise TypeError(
                f"JIT functions do not support **{self.arg_names[-1]} parameters: kernel `{fn.__name__}` takes named "
                "parameters only"
            )
        variadic = kinds.index(inspect.Parameter.VAR_POSITIONAL) if inspect.Parameter.VAR_POSITIONAL in kinds else None
        self._declare(
            self.arg_names,
            [(param.default,) if param.has_default else () for param in self.params],
            variadic,
            self.pre_run_hooks,
            self.interpret,
            debug,
        )

    @property
    def has_own_repr(self) -> bool:
        """Whether the decorator says what the kernel is called."""
        return self._repr is not None

    def repr(self, specialization: Any) -> str:
        """What the kernel is called."""
        return self._fn_name if self._repr is None else self._repr(specialization)

    def add_pre_run_hook(self, hook: Callable[..., Any]) -> None:
        """Adds a function that is called with the arguments before each launch."""
        if not callable(hook):
            raise TypeError("a hook must be a function")
        self.pre_run_hooks.append(hook)

    def is_gluon(self) -> bool:
        """Whether the kernel is written in Gluon, Triton's language of layouts: it never is."""
        return False

    @property
    def used_global_vals(self) -> dict[tuple[str, int], tuple[Any, dict[str, Any]]]:
        """The globals that were compiled in: `{(name, id of its namespace): (value, namespace)}`."""
        return self._used_values()

    @property
    def device_caches(self) -> DeviceCaches:
        """What is compiled, for each device: `{0: ({key: CompiledKernel}, ...)}`. Clearing it compiles anew."""
        return DeviceCaches(self)

    def _unsafe_update_src(self, new_src: str) -> None:
        super()._unsafe_update_src(new_src)
        self._reset()

    def preload(self, specialization_data: str) -> CompiledKernel | None:
        """Compiles what a cache hook was told about: the `specialization_data` of another process."""
        from .preload import preload

        return preload(self, specialization_data)

    def _show(self, native: _native.Compiled, options: Mapping[str, Any]) -> CompiledKernel:
        """Called by a launch for what it has compiled."""
        from ..compiler import listening

        made = CompiledKernel(self, native, options)
        listening.compiled(made)
        return made

    def warmup(self, *args: Any, grid: Any = None, **kwargs: Any) -> Any:
        """Compiles for arguments of this kind without running. Dtypes stand for pointers to them.

        While an `AsyncCompileMode` is entered this returns at once, with a `FutureKernel`.
        """
        from ..compiler.asynchronous import active_mode

        compile = functools.partial(super().warmup, *args, grid=grid, **kwargs)
        mode = active_mode.get()
        return compile() if mode is None else mode.submit(_kinds(self, args, kwargs), compile)

    def _compiling(self, signature: Sequence[tuple[str, str]], options: Mapping[str, Any], warmup: bool) -> Any:
        """Called before a compilation; it is left out if this returns true. What was preloaded is no news."""
        hook = knobs.runtime.jit_cache_hook
        if hook is None or variant_hash(self, dict(signature), options) in self.device_caches[0][0]:
            return False
        return self._tell(hook, signature, options, warmup)

    def _compiled(
        self,
        signature: Sequence[tuple[str, str]],
        options: Mapping[str, Any],
        warmup: bool,
        notes: Sequence[tuple[str, str]],
    ) -> None:
        """Called after a compilation, with what the compiler had to say."""
        self._say(notes, stacklevel=4)
        hook = knobs.runtime.jit_post_compile_hook
        if hook is not None:
            self._tell(hook, signature, options, warmup)

    def _say(self, notes: Sequence[tuple[str, str]], stacklevel: int = 3) -> None:
        """Prints what `static_print` printed, and warns of what the compiler warned of."""
        for severity, text in notes:
            if severity == "warning":
                warnings.warn(text, stacklevel=stacklevel)
            else:
                print(text, file=sys.stdout)

    def _tell(self, hook: Any, signature: Sequence[tuple[str, str]], options: Mapping[str, Any], warmup: bool) -> Any:
        from .preload import call_hook

        return call_hook(hook, self, signature, options, warmup)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            f"`{self.__name__}` is a kernel: launch it with `{self.__name__}[grid](...)`. "
            "(Cannot call @triton.jit'd outside of the scope of a kernel)"
        )

    def __get__(self, instance: Any, owner: type | None = None) -> JITFunction[T]:
        return self

    def __repr__(self) -> str:
        return f"JITFunction({self.module}:{self.fn.__qualname__})"


def _kinds(kernel: JITFunction[Any], args: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """What of a launch's arguments is compiled in: equal for launches that need the same code."""

    def kind(arg: Any) -> Any:
        if isinstance(arg, type):
            return arg
        if hasattr(arg, "data_ptr") and hasattr(arg, "dtype"):
            return str(arg.dtype), arg.data_ptr() % 16 == 0
        if hasattr(arg, "__array_interface__"):
            return arg.__array_interface__["typestr"], arg.__array_interface__["data"][0] % 16 == 0
        return type(arg).__name__, repr(arg)

    return kernel, tuple(map(kind, args)), tuple((name, kind(arg)) for name, arg in sorted(named.items()))


class InterpretedFunction(JITFunction[T]):
    """A kernel that the interpreter runs, with every access checked; made by `shoal.jit` where `SHOAL_INTERPRET=1`."""

    interpret = True


@overload
def jit(fn: T) -> JITFunction[T]: ...


@overload
def jit(
    *,
    version: Any = None,
    repr: Callable[[Any], str] | None = None,
    launch_metadata: Callable[..., dict[str, Any]] | None = None,
    do_not_specialize: Iterable[int | str] | None = None,
    do_not_specialize_on_alignment: Iterable[int | str] | None = None,
    debug: bool | None = None,
    noinline: bool | None = None,
) -> Callable[[T], JITFunction[T]]: ...


def jit(
    fn: Any = None,
    *,
    version: Any = None,
    repr: Callable[[Any], str] | None = None,
    launch_metadata: Callable[..., dict[str, Any]] | None = None,
    do_not_specialize: Iterable[int | str] | None = None,
    do_not_specialize_on_alignment: Iterable[int | str] | None = None,
    debug: bool | None = None,
    noinline: bool | None = None,
) -> Any:
    """Makes a kernel of a function: `@jit` or `@jit(debug=True)`.

    - `do_not_specialize`: parameters, by name or number, whose values are never compiled in;
    - `do_not_specialize_on_alignment`: parameters whose divisibility by 16 is never compiled in;
    - `debug`: whether `assert` and `device_assert` are checked;
    - `noinline`: calls of the function stay calls;
    - `repr`: gives the name of a compiled kernel; `launch_metadata`: adds facts for launch hooks.

    With `SHOAL_INTERPRET=1` (or `TRITON_INTERPRET=1`) the kernel is run by the interpreter, with every access checked.
    """

    def decorate(fn: Any) -> Any:
        made = InterpretedFunction if knobs.runtime.interpret else JITFunction
        return made(
            fn,
            version=version,
            do_not_specialize=do_not_specialize,
            do_not_specialize_on_alignment=do_not_specialize_on_alignment,
            debug=debug,
            noinline=noinline,
            repr=repr,
            launch_metadata=launch_metadata,
        )

    return decorate if fn is None else decorate(fn)
