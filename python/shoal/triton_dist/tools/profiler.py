"""The profiler of kernels, by its name in `triton_dist`."""

from shoal.tools.profiler import (
    Profiler,
    ProfilerBuffer,
    alloc_profiler_buffer,
    export_to_perfetto_trace,
    parse_to_tracks,
    reset_profiler_buffer,
    set_export_trace_off,
    set_export_trace_on,
)

__all__ = [
    "Profiler",
    "ProfilerBuffer",
    "alloc_profiler_buffer",
    "export_to_perfetto_trace",
    "parse_to_tracks",
    "reset_profiler_buffer",
    "set_export_trace_off",
    "set_export_trace_on",
]
