"""Triton's profiler of hosts (Proton): a tree of scopes and the kernels launched in them, with times and counts.

A kernel takes as long as its launch until it is over. A scope without kernels takes as long as what is in it. What
looks into kernels (`backend="instrumentation"`, sampling) is not here: `shoal.tools.profiler` records in kernels.
"""

from .scope import cpu_timed_scope, enter_scope, exit_scope, scope
from .session import DEFAULT_PROFILE_NAME, activate, deactivate, finalize, profile, start

__all__ = [
    "DEFAULT_PROFILE_NAME",
    "activate",
    "cpu_timed_scope",
    "deactivate",
    "enter_scope",
    "exit_scope",
    "finalize",
    "profile",
    "scope",
    "start",
]
