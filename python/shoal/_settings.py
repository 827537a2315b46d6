"""What settings are made of: knobs with environment variables, groups of them, and chains of hooks."""

from __future__ import annotations

import functools
import importlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

_TRUE, _FALSE = {"1", "true", "on", "yes", "y"}, {"0", "false", "off", "no", "n", ""}
_UNSET = object()


class Env:
    """Given to a knob, makes it read its environment variable again."""


env = Env()


def getenv(key: str, default: Any = None) -> Any:
    """An environment variable; one that is set to nothing counts as not set."""
    return os.environ.get(key) or default


def getenv_bool(key: str, default: Any = False) -> Any:
    """An environment variable as a truth value. Shoal's own names are taken as well: SHOAL_X for TRITON_X."""
    names = (key, key.replace("TRITON_", "SHOAL_", 1))
    name = next((name for name in names if name in os.environ), None)
    if name is None:
        return default
    text = os.environ[name]
    if text.lower() in _TRUE:
        return True
    if text.lower() in _FALSE:
        return False
    raise RuntimeError(f"{name}={text} cannot be used: it must be 1 or 0")


def set_environment(variables: Mapping[str, str | None]) -> None:
    """Sets environment variables, and removes those whose value is None."""
    for key, value in variables.items():
        if value is None:
            os.environ.pop(key, None)
        else:
            os.environ[key] = value


def setenv(key: str, value: str | None) -> None:
    """Sets or removes an environment variable, if knobs may."""
    from shoal import knobs

    if knobs.propagate_env:
        set_environment({key: value})


def toenv(value: Any) -> tuple[str | None] | None:
    """What a knob's value is in its environment variable; None if it has no place there."""
    if value is None:
        return (None,)
    if isinstance(value, bool):
        return ("1" if value else "0",)
    return (str(value),) if isinstance(value, (str, int)) else None


class env_base:
    """A knob with an environment variable."""

    def __init__(self, key: str, default: Any = None) -> None:
        self.key = key
        self.default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        value = instance.__dict__.get(self.name, _UNSET)
        return self.get() if value is _UNSET else value

    def __set__(self, instance: Any, value: Any) -> None:
        if isinstance(value, Env):
            instance.__dict__.pop(self.name, None)
            return
        instance.__dict__[self.name] = value
        text = toenv(value)
        if text is not None:
            setenv(self.key, text[0])

    def __delete__(self, instance: Any) -> None:
        instance.__dict__.pop(self.name, None)

    def get(self) -> Any:
        """What the environment says."""
        default = self.default() if callable(self.default) else self.default
        return getenv(self.key, default)


class env_str(env_base):
    """A knob with a text."""


class env_opt_str(env_base):
    """A knob with a text, or none."""


class env_bool(env_base):
    """A knob that is on or off."""

    def __init__(self, key: str, default: bool = False) -> None:
        super().__init__(key, default)

    def get(self) -> Any:
        return getenv_bool(self.key, self.default)


class env_opt_bool(env_bool):
    """A knob that is on, off, or left to others."""

    def __init__(self, key: str) -> None:
        super().__init__(key, None)  # type: ignore[arg-type]


class env_int(env_base):
    """A knob with a number."""

    def get(self) -> int:
        text = getenv(self.key)
        try:
            return (self.default or 0) if text is None else int(text)
        except ValueError:
            raise RuntimeError(f"{self.key}={text} cannot be used: it must be an integer") from None


class env_class(env_base):
    """A knob with a class, written `module:Class` in its variable."""

    def __init__(self, key: str, base: str) -> None:
        super().__init__(key)
        self.base = base

    def get(self) -> type | None:
        text = getenv(self.key)
        if text is None:
            return None
        module, colon, name = text.partition(":")
        if not colon:
            raise RuntimeError(f"{self.key}={text} cannot be used: a class is written MODULE:CLASS")
        try:
            found = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise RuntimeError(f"{self.key}={text} cannot be used: {error}") from error
        if not isinstance(found, type) or all(parent.__name__ != self.base for parent in found.__mro__):
            raise RuntimeError(f"{self.key}={text} cannot be used: the class is no {self.base}")
        return found


@dataclass(frozen=True)
class NvidiaTool:
    """A program of NVIDIA's, and its version."""

    path: str
    version: str

    @staticmethod
    @functools.cache
    def from_path(path: str) -> NvidiaTool | None:
        """The program at a path; None if there is none that says its version."""
        try:
            said = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            return None
        found = re.search(r"release (\d+\.\d+)", said)
        return None if found is None else NvidiaTool(path, found[1])


class env_nvidia_tool(env_base):
    """A knob with a program of NVIDIA's: the one that its variable names, else the one on the search path."""

    def __init__(self, binary: str) -> None:
        super().__init__(f"TRITON_{binary.upper().replace('-', '_')}_PATH")
        self.binary = binary

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        value = super().__get__(instance, owner)
        return self._tool(value) if value is None or isinstance(value, str) else value

    def _tool(self, path: str | None) -> NvidiaTool:
        for place in (path, shutil.which(self.binary)):
            tool = NvidiaTool.from_path(place) if place is not None else None
            if tool is not None:
                return tool
        raise RuntimeError(f"Cannot find {self.binary}: set {self.key}, or put it on the search path")


class base_knobs:
    """A group of knobs."""

    @property
    def knob_descriptors(self) -> dict[str, env_base]:
        """The knobs that have an environment variable."""
        return {name: knob for name, knob in vars(type(self)).items() if isinstance(knob, env_base)}

    @property
    def knobs(self) -> dict[str, Any]:
        """Their values."""
        return {name: getattr(self, name) for name in self.knob_descriptors}

    def copy(self) -> Any:
        """The same settings in another object."""
        other = type(self)()
        other.__dict__.update(self.__dict__)
        return other

    def reset(self) -> Any:
        """Makes all knobs read their environment variables again."""
        for name in self.knob_descriptors:
            delattr(self, name)
        return self

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Undoes what is set inside, environment variables included."""
        settings = dict(self.__dict__)
        variables = {knob.key: os.environ.get(knob.key) for knob in self.knob_descriptors.values()}
        try:
            yield
        finally:
            self.__dict__.clear()
            self.__dict__.update(settings)
            set_environment(variables)


F = TypeVar("F", bound=Callable[..., Any])


class HookChain(list[F]):
    """Functions that are all called, in the order they were added, or in the opposite order.

    It is the list of them, so that a launch sees without calling anything that there are none.
    """

    def __init__(self, reversed: bool = False) -> None:
        super().__init__()
        self.reversed = reversed

    @property
    def calls(self) -> list[F]:
        """The functions."""
        return self

    def add(self, func: F) -> None:
        """Adds a function, unless it is there already."""
        if func not in self:
            self.append(func)

    def remove(self, func: F) -> None:
        """Removes a function, if it is there."""
        if func in self:
            super().remove(func)

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        for call in list(reversed(self) if self.reversed else self):
            call(*args, **kwargs)


@dataclass(frozen=True)
class CompileTimes:
    """How long a compilation took, in microseconds: reading the source, each stage after it, writing to the cache."""

    ir_initialization: int
    lowering_stages: list[tuple[str, int]]
    store_results: int

    @property
    def total_lowering(self) -> int:
        """All stages together."""
        return sum(microseconds for _, microseconds in self.lowering_stages)

    @property
    def total(self) -> int:
        """Everything together."""
        return self.ir_initialization + self.total_lowering + self.store_results
