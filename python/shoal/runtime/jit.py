"""`@shoal.jit`: functions that become kernels.

What a launch does is in Rust (`_native.Kernel`); here is what is done once for a function, and what people look at.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar, overload

from .. import _native, knobs
from .interop import MockTensor, TensorWrapper, reinterpret
from .kernel import CompiledKernel
from .source import text_of

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
F = TypeVar("F", bound=Callable[..., Any])


class KernelInterface(Generic[T]):
    """Something that is launched as `kernel[grid](*args)`."""

    run: Callable[..., Any]

    def warmup(self, *args: Any, grid: Any = None, **kwargs: Any) -> Any:
        """Compiles without running."""
        return self.run(*args, grid=grid, warmup=True, **kwargs)

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        return lambda *args, **kwargs: self.run(*args, grid=grid, warmup=False, **kwargs)


class KernelParam:
    """A parameter of a kernel."""

    def __init__(self, num: int, param: inspect.Parameter, do_not_specialize: bool, unaligned: bool) -> None:
        self.num = num
        self._param = param
        self.do_not_specialize = do_not_specialize
        self.do_not_specialize_on_alignment = unaligned

    @property
    def name(self) -> str:
        """Its name."""
        return self._param.name

    @property
    def annotation(self) -> str:
        """Its annotation as a text; empty without one."""
        found = self._param.annotation
        if found is inspect.Parameter.empty:
            return ""
        return found if isinstance(found, str) else getattr(found, "__name__", None) or str(found)

    @property
    def annotation_type(self) -> str:
        """The type that its annotation fixes, as in signatures: `i32`, `*fp32`; empty if it fixes none."""
        from ..language._signature import short_name, written
        from ..language.core import dtype

        found = self._param.annotation
        return short_name(written(found) if isinstance(found, dtype) else self.annotation.split(".")[-1]) or ""

    @property
    def is_constexpr(self) -> bool:
        """Whether it is compiled in."""
        return "constexpr" in self.annotation

    @property
    def is_const(self) -> bool:
        """Whether it is a pointer that is only read."""
        return "const" in self.annotation and not self.is_constexpr

    @property
    def default(self) -> Any:
        """Its default; `inspect.Parameter.empty` without one."""
        return self._param.default

    @property
    def has_default(self) -> bool:
        """Whether it has a default."""
        return self._param.default is not inspect.Parameter.empty

    def __repr__(self) -> str:
        return f"<parameter {self._param}>"


class JITCallable:
    """A function that kernels call: its source, and one word for what it depends on."""

    fn: Callable[..., Any]

    def _take(self, fn: Callable[..., Any]) -> None:
        text = text_of(fn)
        self.fn = fn
        self.signature = inspect.signature(fn)
        self.raw_src = text.lines
        self.starting_line_number = text.first_line
        self.file_name = text.file
        self._src, self.def_file_line_number = text.from_def
        self._fn_name = f"{fn.__module__}.{fn.__qualname__}"
        self._hash_lock = threading.RLock()
        self.hash: str | None = None
        self.__doc__ = fn.__doc__
        self.__name__ = fn.__name__
        self.__qualname__ = fn.__qualname__
        self.__module__ = fn.__module__
        self.__globals__ = fn.__globals__
        self.__wrapped__ = fn

    @property
    def src(self) -> str:
        """The source from `def` on."""
        return self._src

    @src.setter
    def src(self, text: str) -> None:
        raise AttributeError(
            "Cannot set attribute 'src' directly: functions that call this one would not know. `_unsafe_update_src` "
            "sets it, and leaves it to you to set `hash` of all those functions to None."
        )

    def _unsafe_update_src(self, new_src: str) -> None:
        """Replaces the source. Functions that call this one keep what they were compiled with."""
        self.hash = None
        self._src = new_src

    @property
    def cache_key(self) -> str:
        """One word for the source, and for that of all functions and values it uses."""
        with self._hash_lock:
            if self.hash is None:
                # A function that calls itself finds this.
                self.hash = f"recursion:{self._fn_name}"
                facts = [self._src, str(self.starting_line_number), *map(repr, self._dependencies())]
                self.hash = hashlib.sha256("\0".join(facts).encode()).hexdigest()
            return self.hash

    def _dependencies(self) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        for name, value in sorted(self.get_capture_scope().items()):
            if isinstance(value, JITCallable):
                found.append((name, value.cache_key))
            elif isinstance(value, (bool, int, float, str, tuple)) or type(value).__name__ in ("constexpr", "dtype"):
                found.append((name, repr(value)))
        return found

    def get_capture_scope(self) -> dict[str, Any]:
        """The names of the function that are defined outside, and what they stand for now."""
        code = self.fn.__code__
        scope = {name: self.__globals__[name] for name in code.co_names if name in self.__globals__}
        for name, cell in zip(code.co_freevars, self.fn.__closure__ or (), strict=True):
            try:
                scope[name] = cell.cell_contents
            except ValueError:
                continue
        return scope

    def parse(self) -> ast.Module:
        """The source as Python's syntax tree."""
        return ast.parse(self._src)

    def __reduce__(self) -> str:
        # By name, as functions are: other processes have their own.
        return self.__qualname__

    def __hash__(self) -> int:
        return hash(self._fn_name)

    def __eq__(self, other: object) -> bool:
        return self is other


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
                f"kernel `{fn.__name__}` takes `**{self.arg_names[-1]}`, but kernels take named parameters only"
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
        return compile() if mode is None else mode.submit(object(), compile)

    def _compiling(self, signature: Sequence[tuple[str, str]], options: Mapping[str, Any], warmup: bool) -> Any:
        """Called before a compilation; it is left out if this returns true."""
        hook = knobs.runtime.jit_cache_hook
        return hook is not None and self._tell(hook, signature, options, warmup)

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


class InterpretedFunction(JITFunction[T]):
    """A kernel that the interpreter runs, with every access checked; made by `shoal.jit` where `SHOAL_INTERPRET=1`."""

    interpret = True


class CompiledKernels(dict[str, CompiledKernel]):
    """What is compiled of a kernel for one device."""

    def __init__(self, kernel: JITFunction[Any]) -> None:
        self._kernel = kernel
        super().__init__({made.hash: made for made in kernel._compiled_kernels()})

    def clear(self) -> None:
        """Forgets what is compiled."""
        self._kernel._reset()
        super().clear()


class DeviceCaches(dict[int, tuple[Any, ...]]):
    """What is compiled of a kernel, for each device."""

    def __init__(self, kernel: JITFunction[Any]) -> None:
        self._kernel = kernel
        super().__init__({0: (CompiledKernels(kernel), {}, None, None, None)})

    def clear(self) -> None:
        """Forgets what is compiled."""
        self._kernel._reset()
        super().clear()


class ConstexprFunction(JITCallable):
    """A function that runs in Python when a kernel that calls it is compiled; made by `shoal.constexpr_function`."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self._take(fn)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from ..language.core import _unwrap_if_constexpr as unwrap

        kwargs.pop("_semantic", None)
        return self.fn(*map(unwrap, args), **{name: unwrap(value) for name, value in kwargs.items()})

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else _Bound(self, instance)

    def __repr__(self) -> str:
        return f"ConstexprFunction({self.__module__}:{self.__qualname__})"


class _Bound:
    """A method of an instance that runs when a kernel is compiled."""

    def __init__(self, function: ConstexprFunction, instance: Any) -> None:
        self.__func__, self.__self__ = function, instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__func__(self.__self__, *args, **kwargs)


def constexpr_function(fn: F) -> ConstexprFunction:
    """Makes a function that kernels call with values known at compile time. It runs in Python, and may do all that
    Python can; its result is compiled in.
    """
    return ConstexprFunction(fn)


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
