"""Hooks around compilations and launches."""

import gc

import numpy as np
import triton
import triton.language as tl
from triton import knobs

events = []


def named(grid, metadata, args):
    return {"name": "doubling", "flops32": args["n"], "grid": tuple(grid)}


@triton.jit(launch_metadata=named)
def double(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


def before_compile(*, key, repr, fn, compile, is_manual_warmup, already_compiled):
    events.append(
        ("cache", fn.name.split(".")[-1], is_manual_warmup, already_compiled, sorted(compile["signature"].values()))
    )
    return False


def after_compile(*, key, repr, fn, compile, is_manual_warmup, already_compiled):
    events.append(("compiled", fn.jit_function is double, already_compiled))


def listener(*, src, metadata, metadata_group, times, cache_hit):
    events.append(("listener", src.name, metadata["num_warps"], times.total >= 0))


def enter(metadata):
    facts = metadata.get()
    events.append(("enter", facts["name"], facts["flops32"], facts["grid"]))


def leave(metadata):
    events.append(("exit", metadata.get()["name"]))


def loading(module, function, name, metadata_group, hash):
    events.append(("load", name, module is not None, len(hash) >= 32))


def unloaded(module, function, name, metadata_group, hash):
    # Kernels that came before this script may be dropped at any time.
    if name == "double":
        events.append(("unload", name))


knobs.runtime.kernel_load_start_hook.add(loading)
knobs.runtime.kernel_load_end_hook.add(loading)
knobs.runtime.kernel_unload_hook.add(unloaded)
knobs.runtime.jit_cache_hook = before_compile
knobs.runtime.jit_post_compile_hook = after_compile
knobs.compilation.listener = listener
knobs.runtime.launch_enter_hook.add(enter)
knobs.runtime.launch_exit_hook.add(leave)

x = np.ones(100, dtype=np.float32)
double[(1,)](x, 100, BLOCK=128, num_warps=2)
double[(1,)](x, 100, BLOCK=128, num_warps=2)
knobs.runtime.launch_enter_hook.remove(enter)
knobs.runtime.launch_exit_hook.remove(leave)
double[(1,)](x, 100, BLOCK=128, num_warps=2)
np.testing.assert_array_equal(x, np.full(100, 8, dtype=np.float32))
loads = [event for event in events if event[0] == "load"]
assert loads == [("load", "double", False, True), ("load", "double", True, True)], loads
events = [event for event in events if event[0] != "load"]
listened = [event for event in events if event[0] == "listener"]
assert listened == [("listener", "double", 2, True)], listened
events = [event for event in events if event[0] != "listener"]
kinds = [event[0] for event in events]
assert kinds == ["cache", "compiled", "enter", "exit", "enter", "exit"], kinds
assert events[0] == ("cache", "double", False, False, ["*fp32", "constexpr", "i32"]), events[0]
assert events[1] == ("compiled", True, False), events[1]
assert events[2] == ("enter", "doubling", 100, (1, 1, 1)), events[2]
double.device_caches.clear()
gc.collect()
assert ("unload", "double") in events, events
print("ok")
