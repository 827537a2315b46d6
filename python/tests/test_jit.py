"""Launching kernels: grids, arguments, options, hooks, and what a launch returns."""

from __future__ import annotations

import copy
import gc
import json
import os
import pickle
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import shoal
import shoal.language as sl
from shoal import knobs
from shoal.runtime.jit import JITFunction
from shoal.runtime.preload import call_hook


@shoal.jit
def fill(out, value, n, BLOCK: sl.constexpr = 64):
    at = sl.program_id(0) * BLOCK + sl.arange(0, BLOCK)
    sl.store(out + at, value, mask=at < n)


@shoal.jit
def ids(out):
    x, y, z = sl.program_id(0), sl.program_id(1), sl.program_id(2)
    w, h = sl.num_programs(0), sl.num_programs(1)
    sl.store(out + (z * h + y) * w + x, 100 * x + 10 * y + z)


@pytest.mark.parametrize("grid", [4, (4,), [4], (4, 1), (4, 1, 1), np.int64(4), (np.int32(4),)])
def test_grids(grid):
    out = np.zeros(4, np.int32)
    ids[grid](out)
    np.testing.assert_array_equal(out, [0, 100, 200, 300])


def test_grids_of_three_dimensions():
    out = np.zeros((2, 3, 4), np.int32)
    ids[(4, 3, 2)](out)
    z, y, x = np.indices(out.shape)
    np.testing.assert_array_equal(out, 100 * x + 10 * y + z)


def test_empty_grids_run_nothing():
    out = np.zeros(4, np.int32)
    ids[(0,)](out)
    assert not out.any()


def test_grids_computed_from_the_arguments():
    seen = {}

    def grid(args):
        seen.update(args)
        return (shoal.cdiv(args["n"], args["BLOCK"]),)

    out = np.zeros(100, np.float32)
    fill[grid](out, 3.0, n=100)
    np.testing.assert_array_equal(out, np.full(100, 3, np.float32))
    assert seen["BLOCK"] == 64 and seen["n"] == 100 and seen["value"] == 3.0 and seen["out"] is out
    fill[lambda meta: shoal.cdiv(100, meta["BLOCK"])](out, 4.0, 100, BLOCK=32)
    assert (out == 4).all()


@pytest.mark.parametrize(
    ("grid", "error", "text"),
    [
        ((), ValueError, "one to three extents, not 0"),
        ((1, 1, 1, 1), ValueError, "one to three extents, not 4"),
        ((-1,), ValueError, "but one is -1"),
        ((1 << 40,), ValueError, "from 0 to 4294967295"),
        ((1 << 80,), ValueError, "from 0 to 4294967295"),
        ((1.5,), TypeError, "this is of type float"),
        (None, TypeError, "this is of type NoneType"),
    ],
)
def test_wrong_grids(grid, error, text):
    with pytest.raises(error, match=text):
        ids[grid](np.zeros(4, np.int32))


def test_run_is_a_launch_in_other_words():
    out = np.zeros(10, np.int32)
    fill.run(out, 7, 10, grid=(1,), warmup=False)
    assert (out == 7).all()


@pytest.mark.parametrize(
    "value",
    [True, 5, -5, 1, 16, 1 << 31, -(1 << 40), (1 << 63) + 1, 2.5, np.int8(-3), np.uint64(1 << 63), np.float32(0.5),
     np.float64(0.25), np.bool_(True), np.float16(1.5)],
)  # fmt: skip
def test_numbers(value):
    out = np.zeros(3, np.float64)
    fill[(1,)](out, value, 3)
    np.testing.assert_array_equal(out, np.full(3, float(value)))


@pytest.mark.parametrize(
    ("value", "spec"),
    [(True, "i1"), (2, "i32"), (32, "i32:16"), (1 << 40, "i64:16"), ((1 << 40) + 1, "i64"), ((1 << 64) - 1, "u64"),
     (2.0, "fp32"), (1, "1"), (None, "None")],
)  # fmt: skip
def test_what_is_compiled_in(value, spec):
    @shoal.jit
    def kernel(x):
        pass

    assert kernel.warmup(value, grid=(1,)).signature == {"x": spec}


def test_what_is_not_to_be_compiled_in():
    @shoal.jit(do_not_specialize=["a", 1], do_not_specialize_on_alignment=["c"])
    def kernel(a, b, c, d: sl.int64, e: sl.float64):
        pass

    signature = kernel.warmup(1, 16, 32, 16, 2, grid=(1,)).signature
    assert signature == {"a": "i32", "b": "i32", "c": "i32", "d": "i64:16", "e": "fp64"}
    assert [param.do_not_specialize for param in kernel.params] == [True, True, False, False, False]
    assert [param.annotation_type for param in kernel.params] == ["", "", "", "i64", "fp64"]


def test_variants_are_shared_by_what_is_compiled_in():
    @shoal.jit
    def kernel(x, n):
        pass

    x = np.zeros(64, np.float32)
    first = kernel[(1,)](x, 17)
    assert kernel[(1,)](x, 18) is first
    assert kernel[(1,)](x, 16) is not first
    assert kernel[(1,)](x, 17, num_warps=8) is not first
    assert kernel[(1,)](x, 19, num_warps=8).metadata.num_warps == 8
    assert len(kernel.device_caches[0][0]) == 3
    kernel.device_caches.clear()
    assert kernel[(1,)](x, 17) is not first


def test_numbers_that_are_too_large():
    out = np.zeros(3, np.float32)
    with pytest.raises(OverflowError, match="more than 64 bits"):
        fill[(1,)](out, 1 << 64, 3)
    with pytest.raises(OverflowError, match="too large"):
        fill[(1,)](out, 1 << 200, 3)

    @shoal.jit
    def narrow(x: sl.int8):
        pass

    with pytest.raises(OverflowError, match="does not fit into int8"):
        narrow[(1,)](300)


def test_arguments_that_do_not_fit():
    out = np.zeros(3, np.float32)
    with pytest.raises(TypeError, match="takes 4 arguments, but 5 were passed"):
        fill[(1,)](out, 1, 3, 64, 5)
    with pytest.raises(TypeError, match="missing for `value`, `n`"):
        fill[(1,)](out)
    with pytest.raises(TypeError, match="`out` was passed twice"):
        fill[(1,)](out, 1, 3, out=out)
    with pytest.raises(KeyError, match="Keyword argument BLOK was specified but unrecognised"):
        fill[(1,)](out, 1, 3, BLOK=64)
    with pytest.raises(TypeError, match="argument `value`: failed to specialize argument of type: object"):
        fill[(1,)](out, object(), 3)
    with pytest.raises(TypeError, match="can only be passed at compile time"):
        fill[(1,)](out, "text", 3)
    with pytest.raises(TypeError, match="`BLOCK` must be known at compile time, but a pointer to float32"):
        fill[(1,)](out, 1, 3, BLOCK=out)


@pytest.mark.parametrize("name", ["device", "stream", "device_type"])
def test_devices_and_streams_cannot_be_chosen(name):
    with pytest.raises(TypeError, match=f"`{name}` cannot be passed"):
        fill[(1,)](np.zeros(3, np.float32), 1, 3, **{name: 0})


def test_launch_options_of_other_devices_are_accepted():
    out = np.zeros(3, np.float32)
    options = dict(num_warps=8, num_stages=2, num_ctas=2, maxnreg=64, enable_fp_fusion=False, waves_per_eu=2)
    compiled = fill[(1,)](out, 5, 3, **options)
    assert (out == 5).all()
    assert {name: getattr(compiled.metadata, name) for name in options} == options
    with pytest.raises(ValueError, match="`ir_override` is not supported"):
        fill[(1,)](out, 5, 3, ir_override="kernel.ttir")


def test_the_number_of_threads():
    out = np.zeros(1000, np.float32)
    for threads in (1, 2, 0):
        fill[(16,)](out, threads + 0.5, 1000, num_cpu_threads=threads)
        assert (out == threads + 0.5).all()
    with pytest.raises(TypeError, match="`num_cpu_threads` must be a small whole number, not -1"):
        fill[(16,)](out, 1, 1000, num_cpu_threads=-1)


def test_a_parameter_with_the_name_of_an_option_is_both():
    from shoal.language.extra.language_extra import ntid

    @shoal.jit
    def kernel(out, num_warps: sl.constexpr):
        sl.store(out, num_warps)
        sl.store(out + 1, ntid(0))

    out = np.zeros(2, np.int32)
    kernel[(1,)](out, num_warps=2)
    assert out.tolist() == [2, 64]
    kernel[(1,)](out, **{"num_" + "warps"[:]: 8})
    assert out.tolist() == [8, 256]


def test_defaults_are_those_of_the_function():
    size = 8

    @shoal.jit
    def kernel(out, value=size + 1, BLOCK: sl.constexpr = size):
        sl.store(out + sl.arange(0, BLOCK), value)

    size = 16
    out = np.zeros(8, np.int32)
    kernel[(1,)](out)
    assert (out == 9).all() and size == 16


def test_any_number_of_arguments():
    @shoal.jit
    def total(out, *values):
        result = 0
        for i in sl.static_range(len(values)):
            result += values[i]
        sl.store(out, result)

    out = np.zeros(1, np.int32)
    total[(1,)](out, 2, 3, 5)
    assert out[0] == 10
    total[(1,)](out)
    assert out[0] == 0


def test_hooks_before_a_launch():
    seen = []
    kernel = shoal.jit(fill.fn)
    kernel.add_pre_run_hook(lambda *args, **named: seen.append((len(args), named)))
    kernel[(1,)](np.zeros(3, np.float32), 1, n=3)
    assert seen == [(2, {"n": 3})]
    with pytest.raises(TypeError):
        kernel.add_pre_run_hook("not a function")


def test_launch_hooks():
    kernel = shoal.jit(launch_metadata=lambda grid, metadata, args: {"n": args["n"], "grid": grid})(fill.fn)
    seen = []

    def enter(metadata):
        facts = metadata.get()
        seen.append(("enter", facts["name"], facts["n"], facts["grid"]))

    def exit(metadata):
        seen.append(("exit", metadata.get()["name"]))

    knobs.runtime.launch_enter_hook.add(enter)
    knobs.runtime.launch_exit_hook.add(exit)
    try:
        kernel[(2,)](np.zeros(3, np.float32), 1, 3)
    finally:
        knobs.runtime.launch_enter_hook.remove(enter)
        knobs.runtime.launch_exit_hook.remove(exit)
    kernel[(2,)](np.zeros(3, np.float32), 1, 3)
    assert seen == [("enter", "fill", 3, (2, 1, 1)), ("exit", "fill")]


def test_a_chain_of_hooks_is_the_list_of_them():
    chain, seen = knobs.HookChain(reversed=True), []
    first, second = (lambda: seen.append(1)), (lambda: seen.append(2))
    for hook in (first, second, first):
        chain.add(hook)
    assert isinstance(chain, list) and chain.calls == [first, second]
    chain()
    chain.remove(first)
    chain.remove(first)
    assert seen == [2, 1] and chain and not knobs.HookChain()


def test_compile_hooks_and_preload(monkeypatch):
    told, after = [], []
    monkeypatch.setattr(knobs.runtime, "jit_cache_hook", lambda **named: told.append(named))
    monkeypatch.setattr(knobs.runtime, "jit_post_compile_hook", lambda **named: after.append(named))
    kernel = shoal.jit(fill.fn)
    out = np.zeros(3, np.float32)
    kernel[(1,)](out, 1.5, 3)
    kernel[(1,)](out, 2.5, 3)
    assert len(told) == len(after) == 1
    assert told[0]["fn"].name == "fill" and told[0]["compile"]["signature"]["value"] == "fp32"
    data = told[0]["compile"]["specialization_data"]
    assert json.loads(data)["name"].endswith("fill")
    assert (
        told[0]["compile"]["key"] in kernel.device_caches[0][0] and kernel.device_caches[3] == kernel.device_caches[0]
    )
    again = shoal.jit(fill.fn)
    preloaded = again.preload(data)
    again[(1,)](out, 1.5, 3)
    assert len(told) == 1 and len(again.device_caches[0][0]) == 1
    assert dict(json.loads(data)["signature"]) == preloaded.signature and preloaded.signature["BLOCK"] == "64"

    monkeypatch.setattr(knobs.language, "default_fp_fusion", False)
    shoal.jit(fill.fn)[(1,)](out, 1.5, 3, num_warps=8)
    assert told[1]["compile"]["enable_fp_fusion"] is False and told[1]["compile"]["extern_libs"] == ()
    shown = (
        "fill[num_warps=8, num_ctas=1, num_stages=3, enable_fp_fusion=False, launch_cooperative_grid=False](out: *fp32"
    )
    assert told[1]["repr"].startswith(shown)
    call_hook(lambda **named: told.append(named), kernel, [], {"extern_libs": {"b": "b.bc", "a": "a.bc"}}, False)
    assert told[2]["compile"]["extern_libs"] == (("a", "a.bc"), ("b", "b.bc"))

    monkeypatch.setattr(knobs.runtime, "jit_cache_hook", lambda **named: True)
    out[:] = 0
    assert shoal.jit(fill.fn)[(1,)](out, 1.5, 3) is None
    assert not out.any()


def test_warmup_compiles_and_does_not_run():
    out = np.zeros(3, np.float32)
    compiled = fill.warmup(out, 1.5, 3, grid=(1,))
    assert not out.any()
    assert compiled.signature["out"].startswith("*fp32")
    for dtype, spec in [(np.float64, "*fp64"), (np.dtype("int8"), "*i8"), (sl.bfloat16, "*bf16")]:
        assert fill.warmup(dtype, 1.5, 3, grid=(1,)).signature["out"] == f"{spec}:16"
    assert fill.warmup(shoal.MockTensor("float16"), 1.5, 3, grid=(1,)).signature["out"] == "*fp16:16"


def test_compiled_kernels():
    out = np.zeros(70, np.float32)
    compiled = fill[(2,)](out, 1.5, 70)
    assert compiled.name == "fill" and len(compiled.hash) == 64
    assert compiled.metadata.name == "fill" and compiled.metadata.target.backend == "cpu"
    assert compiled.metadata.num_warps == 4 and compiled.metadata.hash == compiled.hash
    compiled._init_handles()
    assert compiled.n_regs > 0 and compiled.n_spills == 0
    assert compiled.src.fn is fill
    assert set(compiled.asm) >= {"source", "tile", "ttir", "llir", "asm", "obj"}
    assert list(compiled.asm.keys()) == list(compiled.asm) and len(compiled.asm) == len(dict(compiled.asm))
    assert compiled.asm["source"] == fill.src
    assert "store" in compiled.asm["tile"] and compiled.asm["ttir"] == compiled.asm["tile"]
    assert "define" in compiled.asm["llir"] and "ret" in compiled.asm["asm"]
    assert compiled.asm["obj"][:4] == b"\x7fELF"
    with pytest.raises(KeyError):
        compiled.asm["ptx"]


def test_compiled_kernels_can_be_launched():
    out = np.zeros(70, np.float32)
    compiled = fill.warmup(out, 1.5, 70, grid=(2,), num_warps=8)
    compiled[(2, 1, 1)](out, 2.5, 70, 64)
    assert (out == 2.5).all()
    compiled.run(2, 1, 1, 0, compiled.function, compiled.packed_metadata, None, None, None, out, 3.5, 70, 64)
    assert (out == 3.5).all()


def test_printing_a_compiled_kernel_shows_what_it_is():
    text = repr(fill[(1,)](np.zeros(3, np.float32), 1.5, 3))
    for part in ("compiled kernel fill", "out: *fp32", "value: fp32, n: i32", "BLOCK=64", "backend='cpu'", " ms ("):
        assert part in text
    page = fill[(1,)](np.zeros(3, np.float32), 1.5, 3)._repr_html_()
    assert "<table>" in page and "BLOCK=64" in page


def test_a_second_process_finds_the_code_on_disk(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np, shoal, shoal.language as sl\n"
        "@shoal.jit\n"
        "def kernel(x, B: sl.constexpr):\n"
        "    sl.store(x + sl.arange(0, B), 3.0)\n"
        "x = np.zeros(8, np.float32)\n"
        "print(kernel[(1,)](x, 8))\n"
        "assert (x == 3).all()\n"
    )
    first, second = (subprocess.run([sys.executable, script], capture_output=True, text=True) for _ in range(2))
    assert "compiled in" in first.stdout, first.stderr
    assert "found in the cache" in second.stdout, second.stderr


def test_attributes_of_functions():
    @shoal.jit(noinline=True, debug=False, version=3)
    def documented(x, n: sl.int32, B: sl.constexpr = 4):
        """What it does."""

    assert documented.__doc__ == "What it does." and documented.__name__ == "documented"
    assert documented.arg_names == ["x", "n", "B"] and documented.constexprs == [2]
    assert [param.has_default for param in documented.params] == [False, False, True]
    assert documented.noinline is True and documented.debug is False and documented.version == 3
    assert documented.module == __name__ and isinstance(documented, (JITFunction, shoal.KernelInterface))
    assert documented.src.startswith("def documented(x") and documented.fn.__name__ == "documented"
    assert len(documented.cache_key) == 64 and documented.hash == documented.cache_key
    assert "documented" in repr(documented)
    with pytest.raises(AttributeError, match="_unsafe_update_src"):
        documented.src = "def documented(): pass"
    with pytest.raises(RuntimeError, match="outside of the scope of a kernel"):
        documented(1, 2)


def test_kernels_are_sent_to_other_processes_by_name():
    assert pickle.loads(pickle.dumps(fill)) is fill and copy.deepcopy(fill) is fill
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(shoal.jit(fill.fn))


def test_source_can_be_replaced():
    kernel = shoal.jit(fill.fn)
    out = np.zeros(3, np.float32)
    kernel[(1,)](out, 1.5, 3)
    before = kernel.cache_key
    kernel._unsafe_update_src(kernel.src.replace("value, mask", "value + 1, mask"))
    kernel[(1,)](out, 1.5, 3)
    assert (out == 2.5).all() and kernel.cache_key != before


def test_names_of_compiled_kernels():
    kernel = shoal.jit(repr=lambda specialization: "my_fill")(fill.fn)
    assert kernel[(1,)](np.zeros(3, np.float32), 1.5, 3).name == "my_fill"


def test_printing_goes_to_the_standard_output_of_python(capsys):
    @shoal.jit
    def kernel(B: sl.constexpr):
        sl.static_print("block", B)
        sl.device_print("id", sl.program_id(0))

    kernel[(2,)](4)
    printed = capsys.readouterr().out
    assert "block 4" in printed
    assert "pid (0, 0, 0) idx () id: 0" in printed and "pid (1, 0, 0) idx () id: 1" in printed


PRINTING = """
import shoal
import shoal.language as sl

@shoal.jit
def kernel(N: sl.constexpr, M: sl.constexpr):
    sl.device_print("", sl.full((N, M), 1, sl.int32))

kernel[(4,)](64, 128)
"""


def test_long_prints_of_programs_do_not_mix(tmp_path):
    script = tmp_path / "printing.py"
    script.write_text(PRINTING)
    # A pipe that takes a text in parts, and nothing that puts the parts together.
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    printed = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=True)
    lines = sorted(printed.stdout.splitlines())
    expected = [f"pid ({p}, 0, 0) idx ({i:2}, {j:3}): 1" for p in range(4) for i in range(64) for j in range(128)]
    assert lines == sorted(expected)


def test_launches_from_many_threads():
    out = np.zeros((8, 1000), np.int32)
    failures = []

    def work(row):
        try:
            for number in range(50):
                fill[(shoal.cdiv(1000, 64),)](out[row], number + row, 1000)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(row,)) for row in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert not failures
    np.testing.assert_array_equal(out, np.repeat(np.arange(8)[:, None] + 49, 1000, axis=1))


def test_kernels_are_freed():
    def make():
        scale = sl.constexpr(3)

        @shoal.jit
        def kernel(out):
            sl.store(out, scale)

        kernel[(1,)](np.zeros(1, np.int32))
        return weakref.ref(kernel)

    gone = make()
    for _ in range(3):
        gc.collect()
    assert gone() is None


@shoal.jit
def wait_for_flag(flag, seen):
    while sl.atomic_add(flag, 0) == 0:
        pass
    sl.store(seen, 1)


def test_other_threads_run_during_a_launch():
    flag, seen = np.zeros(1, np.int32), np.zeros(1, np.int32)
    wait_for_flag.warmup(flag, seen, grid=(1,))

    def release():
        flag[0] = 1

    timer = threading.Timer(0.1, release)
    timer.start()
    wait_for_flag[(1,)](flag, seen)
    timer.join(timeout=60)
    assert seen[0] == 1


def test_listeners_hear_no_lowering_of_what_was_in_the_cache(tmp_path):
    program = tmp_path / "listens.py"
    program.write_text(
        "import numpy as np, shoal, shoal.language as tl\n"
        "def made():\n"
        "    @shoal.jit\n"
        "    def kernel(x):\n"
        "        tl.store(x, 1.0)\n"
        "    return kernel\n"
        "heard = []\n"
        "shoal.knobs.compilation.listener = lambda **facts: heard.append(facts)\n"
        "for _ in range(2):\n"
        "    made()[(1,)](np.zeros(1, np.float32))\n"
        "for facts in heard:\n"
        "    times = facts['times']\n"
        "    print(facts['cache_hit'], times.total_lowering > 0, times.store_results > 0, times.total > 0)\n"
    )
    environment = {**os.environ, "SHOAL_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, str(program)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "False True True True\nTrue False False True\n", done.stdout + done.stderr
