"""Timings of configurations on disk, so that the next process does not measure again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from .. import _native
from .cache import get_cache_manager
from .config import Config
from .driver import driver
from .jit import JITFunction


class StoredTimings:
    """The file for one kernel, tuning key and list of configurations, on this CPU and with this compiler."""

    def __init__(self, kernel: JITFunction, key: tuple[Any, ...], configs: Sequence[Config]) -> None:
        target = driver.active.compiled_target()
        facts = (_native.__version__, str(target), kernel.cache_key, str(key), *map(str, configs))
        self.key = key
        self.entry = get_cache_manager(hashlib.sha256("\n".join(facts).encode()).hexdigest())
        self.name = f"{kernel.__name__[:150]}.autotune.json"

    def read(self) -> dict[Config, list[float]] | None:
        """What an earlier process has measured, if any has."""
        path = self.entry.get_file(self.name)
        if not path:
            return None
        with open(path, encoding="utf-8") as file:
            return {Config(**config): timing for config, timing in json.load(file)["configs_timings"]}

    def write(self, timings: Mapping[Config, list[float]]) -> None:
        """Keeps what was measured."""
        rows = [({"kwargs": config.kwargs, **config.options()}, timing) for config, timing in timings.items()]
        text = json.dumps({"key": [str(part) for part in self.key], "configs_timings": rows})
        self.entry.put(text, self.name, binary=False)
