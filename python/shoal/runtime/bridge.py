"""What live Python objects mean to the compiler.

The compiler reads the text of one function. Every name that the text does not define is looked up here, as Python
would look it up, and what is found is described in a few words: a value, a function with source, a name of the
language, or an object whose attributes and calls the compiler asks for in turn.
"""

from __future__ import annotations

import builtins
import copy
import ctypes
import enum
import importlib
import linecache
import math
import types
from dataclasses import dataclass
from typing import Any

from shoal.language._signature import str_to_ty, written
from shoal.language.core import constexpr, dtype, is_builtin

from .callable import JITCallable
from .machinery import SEMANTIC, STAND_IN, with_machinery
from .source import name_in, text_of

# Modules whose functions the compiler knows itself.
_LANGUAGE_ROOTS = ("shoal", "shoal.language", "triton", "triton.language")
_LANGUAGE_TREES = ("shoal.language.", "triton.language.")

_BUFFER_LETTERS = {
    "?": "bool", "b": "int8", "B": "uint8", "c": "uint8", "h": "int16", "H": "uint16", "i": "int32", "I": "uint32",
    "l": "int64", "L": "uint64", "q": "int64", "Q": "uint64", "e": "float16", "f": "float32", "d": "float64",
}  # fmt: skip


@dataclass(frozen=True)
class Source:
    """A function and its source."""

    name: str
    file: str
    first_line: int
    text: str
    kind: str
    noinline: bool = False
    do_not_specialize: tuple[str, ...] = ()
    do_not_specialize_on_alignment: tuple[str, ...] = ()
    debug: bool | None = None
    must_use: str | None = None


def source(function: Any) -> Source:
    """The source of a jit function, of a `constexpr_function`, or of a plain function."""
    from .jit import JITFunction

    if not isinstance(function, JITCallable):
        text = text_of(_written(function))
        body, line = text.from_def
        name = name_in(body, function.__name__)
        kind = "plain"
        if is_builtin(function):
            kind, body = "jit", with_machinery(body)
        return Source(name, text.file, line, body, kind, must_use=_must_use(function))
    name = name_in(function.src, function.fn.__name__)
    facts = (name, function.file_name, function.def_file_line_number, function.src)
    if not isinstance(function, JITFunction):
        return Source(*facts, "compile time", must_use=_must_use(function))
    return Source(
        *facts,
        "jit",
        bool(function.noinline),
        tuple(str(which) for which in function.do_not_specialize or ()),
        tuple(str(which) for which in function.do_not_specialize_on_alignment or ()),
        None,  # a launch knows what the decorator says of `debug`, and may say otherwise
        _must_use(function),
    )


def _must_use(function: Any) -> str | None:
    """What `must_use_result` says of a function, possibly nothing; None if nothing marks it."""
    said = getattr(function, "_must_use_result", False)
    return said if isinstance(said, str) else "" if said else None


def _written(function: Any) -> Any:
    """The function as its author wrote it: `extern` and `builtin` wrap what the compiler is to read."""
    return function.__wrapped__ if is_builtin(function) else function


def name(function: Any, wanted: str) -> tuple[Any, dict[str, Any] | None, Any] | None:
    """A free name of a function: its object, the namespace it can change in, and what to compare it with later."""
    if wanted == STAND_IN:
        return SEMANTIC, None, SEMANTIC
    fn = _written(getattr(function, "fn", function))
    free = fn.__code__.co_freevars
    if wanted in free:
        try:
            found = fn.__closure__[free.index(wanted)].cell_contents
        except ValueError:
            # Assigned later, or not at all: Python would not find it either.
            return None
        kept = _kept(found)
        # A name of a function around it stays what it was, but its object may change.
        return found, None if kept is found else {wanted: found}, kept
    if wanted in fn.__globals__:
        found = fn.__globals__[wanted]
        # `WIDTH: constexpr = 8` at module level says that the value may be compiled in.
        declared = fn.__globals__.get("__annotations__", {}).get(wanted)
        return (constexpr(found) if _is_constexpr(declared) else found), fn.__globals__, _kept(found)
    if hasattr(builtins, wanted):
        found = getattr(builtins, wanted)
        return found, None, found
    return None


def annotation(function: Any, parameter: str) -> Any:
    """The annotation that a decorator gave a parameter; None without one."""
    return getattr(_written(getattr(function, "fn", function)), "__annotations__", {}).get(parameter)


def file_text(function: Any) -> str:
    """The text of the file, or of the notebook's cell, that a function stands in."""
    fn = _written(getattr(function, "fn", function))
    return "".join(linecache.getlines(fn.__code__.co_filename, fn.__globals__))


def attribute(owner: Any, wanted: str) -> tuple[Any, dict[str, Any] | None, Any] | None:
    """An attribute of an object, as for `name`."""
    try:
        found = getattr(owner, wanted)
    except AttributeError:
        return None
    namespace = vars(owner) if isinstance(owner, types.ModuleType) else None
    return found, namespace, _kept(found)


def _is_constexpr(annotation: Any) -> bool:
    """Whether an annotation is `constexpr`, as an object or as a text."""
    return annotation is constexpr or isinstance(annotation, str) and annotation.split(".")[-1] == "constexpr"


def _kept(value: Any) -> Any:
    """What a value is compared with later: itself, or how it is now if it can change."""
    inside = value.value if isinstance(value, constexpr) else value
    return copy.deepcopy(value) if isinstance(inside, (list, dict)) else value


def describe(value: Any) -> tuple[Any, ...]:
    """What an object is to the compiler: a word, and what belongs to it."""
    if isinstance(value, constexpr):
        return ("constexpr", value.value)
    path = getattr(value, "__shoal_path__", None)
    if isinstance(path, str):
        return ("language", path)
    if isinstance(value, dtype):
        return ("dtype", written(value))
    if isinstance(value, JITCallable):
        return ("function", source(value))
    if isinstance(value, types.ModuleType):
        return _module(value)
    if isinstance(value, type):
        return _class(value)
    if isinstance(value, enum.Enum):
        return ("member", _members(type(value)), value.name)
    if isinstance(value, tuple):
        return ("named tuple", _fields(type(value))) if hasattr(value, "_fields") else ("value", tuple(value))
    if isinstance(value, types.BuiltinFunctionType):
        return _builtin(value)
    if isinstance(value, types.FunctionType):
        try:
            return ("function", source(value))
        except ValueError:
            return ("object", value.__qualname__)
    return _number(value) or ("object", _callable_name(value) or _shown(value))


def _module(module: types.ModuleType) -> tuple[Any, ...]:
    known = module.__name__ in _LANGUAGE_ROOTS or module.__name__.startswith(_LANGUAGE_TREES) or module is math
    return ("language", module.__name__) if known else ("object", module.__name__)


def _class(value: type) -> tuple[Any, ...]:
    if getattr(value, "__shoal_aggregate__", None) is value:
        return ("aggregate class", value.__name__, _aggregate_fields(value), *_aggregate_methods(value))
    if issubclass(value, enum.Enum):
        return ("enum class", _members(value))
    if issubclass(value, tuple) and hasattr(value, "_fields"):
        return ("named tuple class", _fields(value))
    if getattr(builtins, value.__name__, None) is value:
        return ("language", f"builtins.{value.__name__}")
    return ("object", value.__qualname__)


def _builtin(value: Any) -> tuple[Any, ...]:
    for module in (math, builtins):
        if getattr(module, value.__name__, None) is value:
            return ("language", f"{module.__name__}.{value.__name__}")
    return ("object", value.__qualname__)


def _number(value: Any) -> tuple[Any, ...] | None:
    """Numbers and texts of other classes: NumPy's scalars, subclasses of Python's own."""
    if isinstance(value, str):
        return ("value", str.__str__(value))
    if isinstance(value, int):
        return ("value", int(value))
    if isinstance(value, float):
        return ("value", float(value))
    if hasattr(value, "dtype") and getattr(value, "shape", None) == () and hasattr(value, "item"):
        item = value.item()
        return ("value", item) if isinstance(item, (bool, int, float)) else None
    return None


def _callable_name(value: Any) -> str | None:
    """How programs call a function that is no function of Python's own, such as NumPy's: its text has an address."""
    name = getattr(value, "__name__", None)
    if not callable(value) or not isinstance(name, str):
        return None
    module = getattr(value, "__module__", None)
    return f"{module}.{name}" if isinstance(module, str) else name


def _shown(value: Any) -> str:
    try:
        text = str(value)
    except Exception:
        return type(value).__name__
    return text if len(text) <= 80 else type(value).__name__


def _fields(kind: Any) -> list[tuple[str, tuple[Any, ...]]]:
    defaults = getattr(kind, "_field_defaults", {})
    return [(field, (defaults[field],) if field in defaults else ()) for field in kind._fields]


def _members(kind: type[enum.Enum]) -> list[tuple[str, Any]]:
    return [(member, value.value) for member, value in kind.__members__.items()]


def _aggregate_fields(kind: Any) -> list[tuple[str, bool, tuple[Any, ...]]]:
    defaults = kind.__aggregate_defaults__
    return [
        (field, _is_constexpr(annotation), (defaults[field],) if field in defaults else ())
        for field, annotation in kind.__aggregate_annotations__.items()
    ]


def _aggregate_methods(kind: type) -> tuple[list[tuple[str, Any]], list[tuple[str, Any]]]:
    """The methods as their author wrote them, and the static ones."""
    methods: dict[str, Any] = {}
    statics: dict[str, Any] = {}
    for base in reversed(kind.__mro__[:-1]):
        for method, value in {**vars(base), **vars(base)["__shoal_made__"]}.items():
            called = value.__func__ if isinstance(value, staticmethod) else value
            statics.pop(method, None)
            methods.pop(method, None)
            if isinstance(called, (JITCallable, types.FunctionType)):
                (methods if called is value else statics)[method] = called
    return list(methods.items()), list(statics.items())


def dtype_named(text: str) -> Any:
    """The dtype with this name: `fp32`, `float32`, `*fp32`."""
    return str_to_ty(text)


def object_at(path: str) -> Any:
    """The object with this dotted path: `shoal.language.load`, `builtins.range`."""
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for part in parts[length:]:
            found = getattr(found, part)
        return found
    raise AttributeError(f"there is nothing at {path}")


def buffer(value: Any) -> tuple[int, int, str, Any] | None:
    """Address, bytes, element type and keeper of an object with Python's buffer protocol; None if it has none."""
    try:
        view = memoryview(value)
    except TypeError:
        return None
    letter = view.format.lstrip("@=<")
    if letter not in _BUFFER_LETTERS:
        raise TypeError(f"kernels have no element type for the buffer format {view.format!r}; convert it")
    if view.readonly:
        raise TypeError("the buffer is read-only; pass `numpy.frombuffer(...)` of it, which says so to the kernel")
    if not view.c_contiguous:
        raise TypeError("the buffer is not contiguous; pass `numpy.asarray(...)` of it, which knows about strides")
    keeper = (ctypes.c_char * view.nbytes).from_buffer(view.cast("B"))
    return ctypes.addressof(keeper), view.nbytes, _BUFFER_LETTERS[letter], keeper
