"""Compiling C for Python, as drivers and extensions of Triton's kind do: into the cache, and found there again.

Kernels never come here: no C compiler is needed for them.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from shoal import knobs
from shoal.runtime.cache import get_cache_manager

_COMPILERS = {"c": ("CC", ("gcc", "clang")), "c++": ("CXX", ("g++", "clang++"))}
_ENDINGS = {".c": "c", ".cc": "c++", ".cpp": "c++", ".cxx": "c++"}


@functools.cache
def _find_compiler(language: str) -> str:
    variable, names = _COMPILERS[language]
    found = os.environ.get(variable) or next(filter(None, map(shutil.which, names)), None)
    if found is None:
        raise RuntimeError(
            f"Failed to find {language.upper()} compiler. Please specify via {variable} environment variable or set "
            "triton.knobs.build.impl."
        )
    return found


@functools.cache
def platform_key() -> str:
    """What compiled files depend on besides their source."""
    return ",".join([platform.machine(), platform.system(), *platform.architecture()])


def _build(
    name: str,
    src: str,
    srcdir: str,
    library_dirs: Sequence[str],
    include_dirs: Sequence[str],
    libraries: Sequence[str],
    ccflags: Sequence[str],
    language: str = "c",
) -> str:
    """Compiles a file into a module of Python; gives its path."""
    if knobs.build.impl is not None:
        return knobs.build.impl(name, src, srcdir, library_dirs, include_dirs, libraries)
    out = os.path.join(srcdir, name + sysconfig.get_config_var("EXT_SUFFIX"))
    includes = [*include_dirs, srcdir, sysconfig.get_paths()["include"]]
    exact = re.compile(r"\.so(\.\d+)*$|\.a$")
    command = [_find_compiler(language), src, "-O3", "-shared", "-fPIC", "-Wno-psabi", "-o", out]
    command += ["-std=c++17"] if language == "c++" else []
    command += [f"-l:{library}" if exact.search(library) else f"-l{library}" for library in libraries]
    command += [f"-L{folder}" for folder in library_dirs] + [f"-I{folder}" for folder in includes if folder]
    subprocess.check_call([*command, *ccflags], stdout=subprocess.DEVNULL)
    return out


def _load(name: str, path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise RuntimeError(f"Failed to load newly compiled {name} from {path}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _compiled(source: bytes, name: str, language: str, ending: str, **how: Sequence[str] | None) -> str:
    """The path of the compiled source in the cache."""
    facts = [platform_key(), language, *(f"{key}={':'.join(value)}" for key, value in how.items() if value)]
    cache = get_cache_manager(hashlib.sha256(source + "\n".join(facts).encode()).hexdigest())
    file = name + sysconfig.get_config_var("EXT_SUFFIX")
    found = cache.get_file(file)
    if found is not None:
        return found
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name + ending)
        path.write_bytes(source)
        given = [how.get(key) or [] for key in ("library_dirs", "include_dirs", "libraries", "ccflags")]
        made = _build(name, str(path), folder, *given, language=language)
        return cache.put(Path(made).read_bytes(), file, binary=True)


def _language_of(path: str) -> str:
    ending = Path(path).suffix
    if ending not in _ENDINGS:
        raise ValueError(f"Unrecognized file extension: {path}")
    return _ENDINGS[ending]


def compile_so_from_src(
    src: str,
    name: str,
    library_dirs: Sequence[str] | None = None,
    include_dirs: Sequence[str] | None = None,
    libraries: Sequence[str] | None = None,
    ccflags: Sequence[str] | None = None,
    language: str = "c",
) -> str:
    """Compiles source into a shared library; gives its path."""
    ending = ".c" if language == "c" else ".cpp"
    how = {"library_dirs": library_dirs, "include_dirs": include_dirs, "libraries": libraries, "ccflags": ccflags}
    return _compiled(src.encode(), name, language, ending, **how)


def compile_so_from_file(
    src_path: str,
    name: str,
    library_dirs: Sequence[str] | None = None,
    include_dirs: Sequence[str] | None = None,
    libraries: Sequence[str] | None = None,
    ccflags: Sequence[str] | None = None,
) -> str:
    """Compiles a file into a shared library; gives its path."""
    folders = [*(include_dirs or []), str(Path(src_path).resolve().parent)]
    how = {"library_dirs": library_dirs, "include_dirs": folders, "libraries": libraries, "ccflags": ccflags}
    return _compiled(Path(src_path).read_bytes(), name, _language_of(src_path), Path(src_path).suffix, **how)


def compile_module_from_src(src: str, name: str, *args: Any, **kwargs: Any) -> ModuleType:
    """Compiles source into a module of Python, and imports it."""
    return _load(name, compile_so_from_src(src, name, *args, **kwargs))


def compile_module_from_file(src_path: str, name: str, *args: Any, **kwargs: Any) -> ModuleType:
    """Compiles a file into a module of Python, and imports it."""
    return _load(name, compile_so_from_file(src_path, name, *args, **kwargs))
