"""Files that outlive the process: what was measured, what was dumped.

Compiled kernels are not here: the compiler keeps them in a cache of its own, with a format of its own.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import os
import tempfile
from abc import ABC, abstractmethod
from typing import Any

from shoal import knobs


class CacheManager(ABC):
    """The files that belong to one key."""

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        self.key = key

    @abstractmethod
    def get_file(self, filename: str) -> str | None:
        """The path of a file, if it is there."""

    @abstractmethod
    def put(self, data: Any, filename: str, binary: bool = True) -> str:
        """Writes a file, as a whole or not at all, and gives its path."""

    @abstractmethod
    def get_group(self, filename: str) -> dict[str, str] | None:
        """The files that were put as one group, if all are there."""

    @abstractmethod
    def put_group(self, filename: str, group: dict[str, str]) -> Any:
        """Notes that files belong together."""


class FileCacheManager(CacheManager):
    """Files in a directory of this machine."""

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        super().__init__(key, override, dump)
        if dump:
            root = knobs.cache.dump_dir
        elif override:
            root = knobs.cache.override_dir
        else:
            root = knobs.cache.dir
        self.cache_dir = os.path.join(root, key)
        if not override:
            os.makedirs(self.cache_dir, exist_ok=True)

    def _path(self, filename: str) -> str:
        return os.path.join(self.cache_dir, filename)

    def has_file(self, filename: str) -> bool:
        """Whether a file is there."""
        return os.path.exists(self._path(filename))

    def get_file(self, filename: str) -> str | None:
        return self._path(filename) if self.has_file(filename) else None

    def put(self, data: Any, filename: str, binary: bool = True) -> str:
        content = data if isinstance(data, bytes) else str(data).encode()
        path = self._path(filename)
        handle, temporary = tempfile.mkstemp(dir=self.cache_dir, prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
        return path

    def get_group(self, filename: str) -> dict[str, str] | None:
        index = self.get_file(f"__grp__{filename}")
        if index is None:
            return None
        try:
            with open(index) as file:
                paths = json.load(file)["child_paths"]
        except (OSError, ValueError, KeyError, TypeError):
            # A damaged index is as good as none.
            return None
        return dict(paths) if all(os.path.exists(path) for path in paths.values()) else None

    def put_group(self, filename: str, group: dict[str, str]) -> str:
        return self.put(json.dumps({"child_paths": group}), f"__grp__{filename}")


class RemoteCacheBackend(ABC):
    """A store of files that several machines share."""

    def __init__(self, key: str) -> None:
        self.key = key

    @abstractmethod
    def get(self, filenames: list[str]) -> dict[str, bytes]:
        """The files that are there."""

    @abstractmethod
    def put(self, filename: str, data: bytes) -> None:
        """Keeps a file."""


class RedisRemoteCacheBackend(RemoteCacheBackend):
    """Files in a Redis server."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        import redis

        self._redis = redis.Redis(host=knobs.redis.host, port=knobs.redis.port)

    def _name(self, filename: str) -> str:
        return knobs.redis.key_format.format(key=self.key, filename=filename)

    def get(self, filenames: list[str]) -> dict[str, bytes]:
        found = self._redis.mget([self._name(name) for name in filenames])
        return {name: data for name, data in zip(filenames, found) if data is not None}

    def put(self, filename: str, data: bytes) -> None:
        self._redis.set(self._name(filename), data)


class RemoteCacheManager(CacheManager):
    """Files that several machines share, with copies in a directory of this one."""

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        super().__init__(key, override, dump)
        backend = knobs.cache.remote_manager_class
        if backend is None:
            raise RuntimeError(
                "a shared cache needs TRITON_REMOTE_CACHE_BACKEND, as in `shoal.runtime.cache:RedisRemoteCacheBackend`"
            )
        # What is dumped or overridden concerns this machine only.
        self._backend = None if override or dump else backend(key)
        self._files = FileCacheManager(key, override=override, dump=dump)

    def get_file(self, filename: str) -> str | None:
        if self._backend is None:
            return self._files.get_file(filename)
        data = self._backend.get([filename]).get(filename)
        return None if data is None else self._files.put(data, filename)

    def put(self, data: Any, filename: str, binary: bool = True) -> str:
        content = data if isinstance(data, bytes) else str(data).encode()
        if self._backend is not None:
            self._backend.put(filename, content)
        return self._files.put(content, filename)

    def get_group(self, filename: str) -> dict[str, str] | None:
        index = self.get_file(f"__grp__{filename}")
        if self._backend is None or index is None:
            return self._files.get_group(filename)
        try:
            with open(index) as file:
                names = list(json.load(file)["child_paths"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        found = self._backend.get(names)
        if len(found) != len(names):
            return None
        return {name: self._files.put(data, name) for name, data in found.items()}

    def put_group(self, filename: str, group: dict[str, str]) -> str:
        return self.put(json.dumps({"child_paths": group}), f"__grp__{filename}")


def _base32(key: str) -> str:
    return base64.b32encode(bytes.fromhex(key)).decode().rstrip("=")


def _manager(key: str, **kind: bool) -> CacheManager:
    return (knobs.cache.manager_class or FileCacheManager)(_base32(key), **kind)


def get_cache_manager(key: str) -> CacheManager:
    """The files of a key, which is a hash in hexadecimal digits."""
    return _manager(key)


def get_override_manager(key: str) -> CacheManager:
    """The files that replace what a key's compilation makes."""
    return _manager(key, override=True)


def get_dump_manager(key: str) -> CacheManager:
    """The files that a key's compilation is dumped to."""
    return _manager(key, dump=True)


def default_cache_dir() -> str:
    """Where files are kept."""
    return knobs.cache.dir


def default_dump_dir() -> str:
    """Where dumps are written."""
    return knobs.cache.dump_dir


def default_override_dir() -> str:
    """Where replacements are looked for."""
    return knobs.cache.override_dir


@functools.cache
def triton_key() -> str:
    """What cache keys hold of the compiler: its version and the bytes it is made of."""
    from shoal import _native

    with open(_native.__file__, "rb") as file:
        return f"shoal-{_native.__version__}-{hashlib.sha256(file.read()).hexdigest()}"


def get_cache_key(src: Any, backend: Any, backend_options: Any, env_vars: dict[str, str]) -> str:
    """The key of a compilation."""
    parts = (triton_key(), src.hash(), backend.hash(), backend_options.hash(), str(sorted(env_vars.items())))
    return "-".join(parts)


def make_so_cache_key(version_hash: str, signature: dict[Any, str], constants: Any, ids: Any, **kwargs: Any) -> str:
    """The key of a launcher."""
    types = ["ptr" if ty.startswith("*") else ty for ty in signature.values()]
    facts = repr((version_hash, types, constants, ids, sorted(kwargs.items())))
    return _base32(hashlib.sha256(facts.encode()).hexdigest())
