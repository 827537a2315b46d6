"""This machine's CPU as torch's device modules show their devices."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from shoal.runtime import cpu_facts


class Event:
    """A point in time, as torch's device interfaces have it."""

    def __init__(self, enable_timing: bool = False, **_: Any) -> None:
        self._time: float | None = None

    def record(self, stream: Any = None) -> None:
        """Remembers the time. Launches are over when they return, so nothing has to be waited for."""
        self._time = time.perf_counter()

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds until a later event."""
        if self._time is None or end_event._time is None:
            raise RuntimeError("both events must be recorded before the time between them is known")
        return (end_event._time - self._time) * 1000

    def query(self) -> bool:
        """Whether everything before it is over."""
        return True

    def synchronize(self) -> None:
        """Waits until everything before it is over."""

    def wait(self, stream: Any = None) -> None:
        """Makes a queue of work wait for it."""


class Stream:
    """The one queue of work that a CPU has."""

    cuda_stream = native_handle = stream_id = 0
    priority = 0

    device_index = 0

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """The least and the greatest priority, which change nothing."""
        return (0, -1)

    def is_capturing(self) -> bool:
        """Whether its work is put into a graph, of which there are none."""
        return False

    def query(self) -> bool:
        """Whether the work in it is over."""
        return True

    def synchronize(self) -> None:
        """Waits for the work in it, which is over already."""

    def wait_stream(self, stream: Any) -> None:
        """Waits for another stream."""

    def wait_event(self, event: Event) -> None:
        """Waits for an event."""

    def record_event(self, event: Event | None = None) -> Event:
        """An event at this point."""
        event = event if event is not None else Event()
        event.record()
        return event


class DeviceInterface:
    """What torch's device modules (`torch.cuda`, …) offer to code that works on any of them."""

    Event = Event
    Stream = Stream

    def is_available(self) -> bool:
        """Whether there is such a device."""
        return True

    def device_count(self) -> int:
        """How many there are: the whole machine is one."""
        return 1

    def current_device(self) -> int:
        """The number of the current one."""
        return 0

    def set_device(self, device: Any) -> None:
        """Makes one of them the current one."""

    def synchronize(self, device: Any = None) -> None:
        """Waits for all work, which is over already."""

    def current_stream(self, device: Any = None) -> Any:
        """The queue of work."""
        return Stream()

    default_stream = current_stream

    @contextmanager
    def stream(self, stream: Any) -> Iterator[None]:
        """Uses a queue of work."""
        yield

    @contextmanager
    def device(self, device: Any) -> Iterator[None]:
        """Uses a device."""
        yield

    def get_device_name(self, device: Any = None) -> str:
        """What the CPU is called."""
        return cpu_facts.name()

    def get_device_properties(self, device: Any = None) -> dict[str, Any]:
        """Facts about the CPU."""
        return cpu_facts.properties()

    def empty_cache(self) -> None:
        """Gives memory back, of which none is held."""
