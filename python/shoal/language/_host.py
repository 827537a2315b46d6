"""What the functions of the language are on the host: names with a signature and a text, not something to call.

The compiler reads a kernel's source and knows these functions by their path, `__shoal_path__`. Called from plain Python
they have nothing to work on, so they say what to do instead.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar, overload

F = TypeVar("F", bound=Callable[..., Any])

LANGUAGE = "shoal.language"
TRITON_BUILTIN = "__triton_builtin__"


def refuse(name: str) -> NoReturn:
    """Says that a function of the language was called outside a kernel."""
    raise ValueError(
        f"`{name}` only works inside a kernel, and this call came from plain Python. "
        "Did you forget to add @triton.jit ? (`_semantic` argument must be provided outside of JIT functions.)"
    )


@overload
def operation(fn: F) -> F: ...


@overload
def operation(*, module: str) -> Callable[[F], F]: ...


def operation(fn: Any = None, *, module: str = LANGUAGE) -> Any:
    """Makes a function of the language from its signature and docstring."""
    if fn is None:
        return functools.partial(operation, module=module)
    path = f"{module}.{fn.__name__}"

    @functools.wraps(fn)
    def outside_a_kernel(*args: Any, **kwargs: Any) -> NoReturn:
        refuse(path)

    return _name(outside_a_kernel, module, path, builtin=True)


def everywhere(fn: F) -> F:
    """Makes a function of the language that host programs may call, too."""
    return _name(fn, LANGUAGE, f"{LANGUAGE}.{fn.__name__}", builtin=True)


def operations(namespace: dict[str, Any], *, module: str) -> None:
    """Makes functions of the language from all that a module defines, and `__all__` from their names."""
    defined = [name for name, value in namespace.items() if getattr(value, "__module__", None) == namespace["__name__"]]
    namespace.update({name: operation(namespace[name], module=module) for name in defined})
    namespace["__all__"] = defined


def library(fn: F) -> F:
    """Makes a function of the language that is written in the language itself."""
    path = f"{LANGUAGE}.{fn.__name__}"

    @functools.wraps(fn)
    def outside_a_kernel(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(
            f"`{path}` only works inside a kernel: Cannot call @triton.jit'd outside of the scope of a kernel"
        )

    return _name(outside_a_kernel, LANGUAGE, path, builtin=False)


_package = "shoal"
_named: list[Any] = []


def name_package(package: str) -> None:
    """Makes the functions of the language say that they are of the modules of a package: programs that write programs,
    such as torch's Inductor, write imports from it.
    """
    global _package
    for fn in _named:
        fn.__module__ = package + fn.__module__.removeprefix(_package)
    _package = package


def _name(wrapper: Any, module: str, path: str, *, builtin: bool) -> Any:
    wrapper.__module__ = _package + module.removeprefix("shoal")
    _named.append(wrapper)
    wrapper.__shoal_path__ = path
    if builtin:
        setattr(wrapper, TRITON_BUILTIN, True)
    return wrapper


def builtin(fn: F) -> F:
    """Marks a function as one that builds IR: it refuses to run without `_semantic`."""

    @functools.wraps(fn)
    def needs_a_kernel(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("_semantic") is None:
            refuse(fn.__name__)
        return fn(*args, **kwargs)

    setattr(needs_a_kernel, TRITON_BUILTIN, True)
    return needs_a_kernel  # type: ignore[return-value]


def is_builtin(fn: object) -> bool:
    """Whether a function is one of the language's own operations."""
    return getattr(fn, TRITON_BUILTIN, False) is True


class ClassPath:
    """`__shoal_path__` of a class: seen on the class itself, not on its instances or subclasses."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.owner = owner
        self.path = f"{LANGUAGE}.{owner.__name__}"

    def __get__(self, instance: object, owner: type) -> str:
        if instance is not None or owner is not self.owner:
            raise AttributeError("__shoal_path__")
        return self.path
