"""Choosing among configurations, and computing parameters."""

import io
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import shoal
import shoal.language as tl
from shoal import knobs
from shoal.errors import AutotunerError, CompileTimeAssertionFailure, OutOfResources
from shoal.runtime.tuning_progress import Progress

N = 1024


def grid(meta):
    return (shoal.cdiv(meta["n"], meta["BLOCK"]),)


def arrays():
    x = np.arange(N, dtype=np.float32)
    return x, np.zeros_like(x)


class Bench:
    """A measurement that runs the call and says what it is told to: no clock decides a test."""

    def __init__(self, *milliseconds: float) -> None:
        self.times = list(milliseconds)
        self.calls = 0

    def __call__(self, call, quantiles):
        call()
        self.calls += 1
        time = self.times[(self.calls - 1) % len(self.times)]
        return [time, time, time]


def blocks(*sizes: int, **options) -> list[shoal.Config]:
    return [shoal.Config({"BLOCK": size}, **options) for size in sizes]


def copy_kernel(**how):
    """A kernel of its own for each test, so that what one has tuned is not known to another."""

    @shoal.autotune(**{"configs": blocks(128, 256, 512), "key": ["n"], "do_bench": Bench(3.0, 1.0, 2.0), **how})
    @shoal.jit
    def copy(x, out, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)

    return copy


# Configurations


def test_a_config_has_values_and_options():
    config = shoal.Config({"BLOCK": 128}, num_warps=8, maxnreg=32)
    assert config.all_kwargs() == {"BLOCK": 128, "num_warps": 8, "num_ctas": 1, "num_stages": 3, "maxnreg": 32}
    assert str(config) == ("BLOCK: 128, num_warps: 8, num_ctas: 1, num_stages: 3, maxnreg: 32, ir_override: None")
    assert repr(config) == f"Config({config})"


def test_configs_are_equal_by_value():
    hook = print
    one, same = shoal.Config({"A": 1}, pre_hook=hook), shoal.Config({"A": 1}, pre_hook=hook)
    assert one == same and hash(one) == hash(same) and len({one, same}) == 1
    assert one != shoal.Config({"A": 1}) and one != shoal.Config({"A": 2}, pre_hook=hook) and one != "A"
    assert shoal.Config({"A": 1}, num_stages=1) != shoal.Config({"A": 1}, num_stages=2)


# Choosing


def test_the_fastest_is_taken_and_remembered():
    bench = Bench(3.0, 1.0, 2.0)
    copy = copy_kernel(do_bench=bench)
    x, out = arrays()
    copy[grid](x, out, n=N)
    assert (out == x).all()
    assert copy.best_config.kwargs == {"BLOCK": 256}
    assert {config.kwargs["BLOCK"]: time for config, time in copy.configs_timings.items()} == {
        128: [3.0] * 3,
        256: [1.0] * 3,
        512: [2.0] * 3,
    }
    assert copy.bench_time > 0 and copy.compile_time > 0
    assert copy.nargs is None
    assert bench.calls == 3
    copy[grid](x, out, n=N)
    assert bench.calls == 3, "the second launch measures nothing"
    assert list(copy.cache) == [(N, "float32", "float32")]
    copy[grid](x, out, n=N - 1)
    assert bench.calls == 6, "another value of a key is measured again"
    copy[grid](x.astype(np.float64), out.astype(np.float64), n=N)
    assert bench.calls == 9, "so is another type"


def test_it_is_a_kernel_with_the_names_people_know():
    copy = copy_kernel()
    assert copy.__name__ == "copy" and copy.keys == ["n"] and len(copy.configs) == 3
    assert copy.base_fn.__name__ == "copy" and isinstance(copy.fn, shoal.JITFunction)
    assert copy.arg_names == ["x", "out", "n", "BLOCK"]


def test_measuring_really_measures():
    x, out = arrays()
    copy = copy_kernel(do_bench=lambda call, quantiles: shoal.testing.do_bench(call, 1, 2, quantiles=quantiles))
    copy[grid](x, out, n=N)
    assert all(0 < median < 1e4 for median, *_ in copy.configs_timings.values())
    assert copy.best_config == min(copy.configs_timings, key=lambda config: copy.configs_timings[config][0])


def test_one_configuration_is_not_measured():
    bench = Bench(1.0)
    x, out = arrays()
    copy_kernel(configs=blocks(64), do_bench=bench)[grid](x, out, n=N)
    assert (out == x).all() and bench.calls == 0


def test_no_configuration_means_the_default_one():
    @shoal.autotune([], key=[])
    @shoal.jit
    def fill(out, BLOCK: tl.constexpr):
        tl.store(out + tl.arange(0, BLOCK), 7.0)

    _, out = arrays()
    fill[(1,)](out, BLOCK=16)
    assert (out[:16] == 7).all() and fill.best_config == shoal.Config({})


@pytest.mark.parametrize("parameter", ["reset_to_zero", "restore_value"])
def test_names_that_are_none_are_refused(parameter: str):
    with pytest.raises(ValueError, match=rf"{parameter} contains names that are not kernel arguments: m\b.*x, out, n"):
        copy_kernel(**{parameter: ["m"]})


def test_keys_that_are_no_arguments_are_left_out():
    said = r"key contains names that are not kernel arguments: m\b.*x, out, n.*left out"
    with pytest.warns(UserWarning, match=said) as warned:
        tuned = copy_kernel(key=["m", "n"])
    assert warned[0].filename == __file__
    x, out = arrays()
    for n in (100, 200, 100):
        tuned[(2,)](x, out, n)
    assert len(tuned.cache) == 2


@pytest.mark.parametrize("configs", [blocks(64), blocks(64, 128)])
def test_values_that_the_autotuner_chooses_are_not_passed(configs):
    x, out = arrays()
    with pytest.raises(ValueError, match="Conflicting meta-parameters: BLOCK"):
        copy_kernel(configs=configs)[grid](x, out, n=N, BLOCK=64)
    with pytest.raises(TypeError, match="multiple values for keyword argument 'num_warps'"):
        copy_kernel(configs=configs)[grid](x, out, n=N, num_warps=2)


# Configurations that cannot be used


def picky_kernel(bench, configs):
    @shoal.autotune(configs, key=["n"], do_bench=bench)
    @shoal.jit
    def picky(x, out, n, BLOCK: tl.constexpr):
        tl.static_assert(BLOCK < 256, "too large")
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)

    return picky


def test_what_cannot_be_compiled_never_wins():
    bench = Bench(1.0)
    picky = picky_kernel(bench, blocks(512, 128, 256))
    x, out = arrays()
    picky[grid](x, out, n=N)
    assert (out == x).all()
    assert [time[0] for time in picky.configs_timings.values()] == [float("inf"), 1.0, float("inf")]
    assert picky.best_config.kwargs == {"BLOCK": 128} and bench.calls == 1


def test_if_none_can_be_used_all_reasons_are_told():
    picky = picky_kernel(Bench(1.0), blocks(256, 512))
    x, out = arrays()
    with pytest.raises(AutotunerError, match="none of 2 configurations") as caught:
        picky[grid](x, out, n=N)
    assert "BLOCK: 256" in str(caught.value) and "BLOCK: 512" in str(caught.value)
    assert isinstance(caught.value.__cause__, CompileTimeAssertionFailure)
    assert "too large" in str(caught.value.__cause__)


def test_want_of_resources_while_measuring_is_data():
    def bench(call, quantiles):
        call()
        bench.calls += 1
        if bench.calls == 1:
            raise OutOfResources(4096, 1024, "shared memory")
        return [1.0, 1.0, 1.0]

    bench.calls = 0
    copy = copy_kernel(configs=blocks(128, 256), do_bench=bench)
    x, out = arrays()
    copy[grid](x, out, n=N)
    assert copy.best_config.kwargs == {"BLOCK": 256}


def test_other_errors_are_the_users():
    @shoal.autotune(blocks(128, 256), key=["n"], do_bench=Bench(1.0))
    @shoal.jit
    def wrong(x, out, n, BLOCK: tl.constexpr):
        tl.store(out, nothing_of_that_name)  # noqa: F821

    x, out = arrays()
    with pytest.raises(shoal.CompilationError, match="nothing_of_that_name"):
        wrong[grid](x, out, n=N)
    assert wrong.nargs is None


def test_stopping_leaves_nothing_half_done():
    """Ctrl-C while measuring, and while compiling."""
    copy = copy_kernel()
    x, out = arrays()

    def stop(*_, **__):
        raise KeyboardInterrupt

    measure, copy.do_bench = copy.do_bench, stop
    with pytest.raises(KeyboardInterrupt):
        copy[grid](x, out, n=N)
    assert not copy.cache and copy.nargs is None and copy.best_config is None
    copy.do_bench = measure
    copy.fn.warmup = stop
    with pytest.raises(KeyboardInterrupt):
        copy[grid](x, out, n=N)
    assert not copy.cache and copy.nargs is None
    del copy.fn.warmup
    copy[grid](x, out, n=N)
    assert (out == x).all() and copy.best_config.kwargs == {"BLOCK": 256}


# Pruning


def test_early_pruning_sees_configurations_and_arguments():
    def early(configs, named_args, **kwargs):
        assert set(named_args) == {"x", "out"} and kwargs["n"] == N
        return [config for config in configs if config.kwargs["BLOCK"] != 256]

    copy = copy_kernel(prune_configs_by={"early_config_prune": early})
    x, out = arrays()
    copy[grid](x, out, n=N)
    assert [config.kwargs["BLOCK"] for config in copy.configs_timings] == [128, 512]


def test_early_pruning_keeps_something():
    copy = copy_kernel(prune_configs_by={"early_config_prune": lambda configs, named_args, **kwargs: []})
    x, out = arrays()
    with pytest.raises(AutotunerError, match="must keep a configuration"):
        copy[grid](x, out, n=N)


@pytest.mark.parametrize(("top_k", "kept"), [(1, [512]), (2, [512, 256]), (0.4, [512]), (0.7, [512, 256]), (5, None)])
def test_a_model_keeps_the_best(top_k, kept):
    def model(x, out, n, BLOCK, num_warps, **_):
        assert num_warps == 4
        return n / BLOCK

    bench = Bench(1.0, 2.0, 3.0)
    copy = copy_kernel(do_bench=bench, prune_configs_by={"perf_model": model, "top_k": top_k})
    x, out = arrays()
    copy[grid](x, out, n=N)
    if len(kept or ()) == 1:
        assert bench.calls == 0, "what is left alone is not measured"
        assert copy.best_config.kwargs["BLOCK"] == kept[0]
    else:
        assert [config.kwargs["BLOCK"] for config in copy.configs_timings] == (kept or [128, 256, 512])


def test_top_k_is_a_number_or_a_part():
    copy = copy_kernel(prune_configs_by={"perf_model": lambda **_: 1.0, "top_k": 1.5})
    x, out = arrays()
    with pytest.raises(TypeError, match="not 1.5"):
        copy[grid](x, out, n=N)


# What measuring changes


def accumulate_kernel(**how):
    @shoal.autotune(blocks(128, 256), key=["n"], **how)
    @shoal.jit
    def accumulate(x, out, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        before = tl.load(out + at, mask=at < n)
        tl.store(out + at, before + tl.load(x + at, mask=at < n), mask=at < n)

    return accumulate


def five_times(call, quantiles):
    for _ in range(5):
        call()
    return [1.0, 1.0, 1.0]


def test_sums_start_from_zero():
    x, out = arrays()
    out[:] = 99
    accumulate_kernel(reset_to_zero=["out"], do_bench=five_times)[grid](x, out, n=N)
    assert (out == x).all()


def test_values_are_restored():
    x, out = arrays()
    out[:] = 1
    accumulate_kernel(restore_value=["out"], do_bench=five_times)[grid](x, out, n=N)
    assert (out == 1 + x).all()


def test_an_array_that_is_not_given_is_left_alone():
    @shoal.autotune(blocks(128, 256), key=[], reset_to_zero=["out"], restore_value=["x"], do_bench=five_times)
    @shoal.jit
    def nothing(x, out, BLOCK: tl.constexpr):
        if out is not None:
            tl.store(out, 1.0)

    nothing[(1,)](None, None)


@pytest.mark.torch
def test_tensors_are_reset_and_restored():
    torch = pytest.importorskip("torch")
    for how, expected in (("reset_to_zero", 2.0), ("restore_value", 3.0)):
        x, out = torch.full((N,), 2.0), torch.ones(N)
        accumulate_kernel(**{how: ["out"]}, do_bench=five_times)[grid](x, out, n=N)
        assert (out == expected).all()


def test_hooks_replace_resetting_and_restoring():
    seen = []
    x, out = arrays()
    accumulate = accumulate_kernel(
        do_bench=Bench(1.0),
        pre_hook=lambda args, reset_only=False: seen.append(("pre", args["BLOCK"], reset_only)),
        post_hook=lambda args, exception: seen.append(("post", args["BLOCK"], exception)),
    )
    accumulate[grid](x, out, n=N)
    assert seen == [
        ("pre", 128, False),
        ("post", 128, None),
        ("pre", 256, False),
        ("post", 256, None),
        ("pre", 128, True),
    ]


def test_a_hook_after_a_failure_gets_the_exception():
    seen = []

    def bench(call, quantiles):
        with pytest.raises(OutOfResources):
            call()
        return [1.0, 1.0, 1.0]

    copy = copy_kernel(
        configs=blocks(64, 128), do_bench=bench, post_hook=lambda args, exception: seen.append(exception)
    )
    run = copy.fn.run

    def fail(*args, **kwargs):
        raise OutOfResources(2, 1, "memory")

    x, out = arrays()
    copy.fn.run = fail
    try:
        with pytest.raises(OutOfResources):
            copy[grid](x, out, n=N)
    finally:
        copy.fn.run = run
    assert [type(exception) for exception in seen] == [OutOfResources] * 2


def test_each_configuration_has_its_hook():
    seen = []

    def config(size):
        return shoal.Config({"BLOCK": size}, pre_hook=lambda args: seen.append((size, args["n"], args["BLOCK"])))

    x, out = arrays()
    copy = copy_kernel(configs=[config(128), config(256)], do_bench=Bench(2.0, 1.0))
    copy[grid](x, out, n=N)
    assert seen == [(128, N, 128), (256, N, 256), (256, N, 256)], "each when measured, the best at the launch"
    copy[grid](x, out, n=N)
    assert seen[3:] == [(256, N, 256)]


# Compiling


def test_configurations_are_compiled_in_parallel():
    """Every compilation waits until two are under way: one after another they would never meet."""
    copy = copy_kernel(configs=blocks(16, 32, 64, 128))
    both = threading.Barrier(2)
    compile = copy.fn.warmup
    threads = set()

    def meeting(*args, **kwargs):
        both.wait(timeout=60)
        threads.add(threading.get_ident())
        return compile(*args, **kwargs)

    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("there is one core")
    copy.fn.warmup = meeting
    x, out = arrays()
    copy[grid](x, out, n=N)
    assert (out == x).all() and len(threads) >= 2
    assert threading.get_ident() not in threads


def test_warmup_compiles_all_and_runs_none():
    bench = Bench(1.0)
    copy = copy_kernel(do_bench=bench)
    x, out = arrays()
    kernels = copy.warmup(x, out, n=N, grid=(4,))
    assert len(kernels) == 3 and bench.calls == 0 and not out.any()
    assert all("asm" in dir(kernel) for kernel in kernels)
    with pytest.raises(CompileTimeAssertionFailure, match="too large"):
        picky_kernel(bench, blocks(128, 512)).warmup(x, out, n=N, grid=(4,))


def test_old_parameters_are_taken_with_a_warning():
    x, out = arrays()
    for how in ({"warmup": 1, "rep": 1}, {"use_cuda_graph": True, "rep": 1}):
        with pytest.warns(DeprecationWarning, match="pass do_bench"):
            copy = copy_kernel(do_bench=None, **how)
        copy[grid](x, out, n=N)
        assert (out == x).all() and len(copy.configs_timings) == 3


# Telling


def test_what_was_found_is_printed_if_asked_for(capsys: pytest.CaptureFixture):
    x, out = arrays()
    copy_kernel()[grid](x, out, n=N)
    assert capsys.readouterr().out == ""
    with knobs.autotuning.scope():
        knobs.autotuning.print = True
        copy = copy_kernel()
        copy[grid](x, out, n=N)
        copy[grid](x, out, n=N)
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 4
    assert printed[0] == f"Autotuning of copy: measuring {copy.configs[0]}"
    assert re.fullmatch(
        r"Autotuning of copy for key \(1024, 'float32', 'float32'\) took \d+\.\d\d s \(\d+\.\d\d s to compile 3 "
        r"configurations, \d+\.\d\d s to measure them\)\. Best configuration: BLOCK: 256, .*; 1 ms",
        printed[3],
    )


@pytest.mark.parametrize("name", ["SHOAL_PRINT_AUTOTUNING", "TRITON_PRINT_AUTOTUNING"])
def test_environment_variables_ask_for_it(name: str, monkeypatch: pytest.MonkeyPatch):
    assert not knobs.autotuning.print
    monkeypatch.setenv(name, "1")
    assert knobs.autotuning.print


def test_listeners_hear_of_it():
    heard = []
    x, out = arrays()
    with knobs.autotuning.scope():
        knobs.autotuning.listener = lambda **facts: heard.append(facts)
        copy = copy_kernel()
        copy[grid](x, out, n=N)
        copy[grid](x, out, n=N)
    (facts,) = heard
    assert facts["fn"] is copy.fn and facts["key"] == (N, "float32", "float32")
    assert facts["best_config"] is copy.best_config and facts["configs_timings"] == copy.configs_timings
    assert facts["duration"] > 0 and facts["cache_hit"] is False


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_one_line_that_goes_away(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    progress = Progress("copy", 16)
    progress.step("compiled", 1)
    assert sys.stderr.getvalue() == "", "quick work shows nothing"
    progress.start -= 10
    progress.step("compiled", 9)
    progress.step("measuring", 10)
    progress.finish()
    shown = "autotune copy: measuring 10/16"
    assert sys.stderr.getvalue() == f"\rautotune copy: compiled 9/16\r{shown}\r{' ' * len(shown)}\r"


def test_progress_is_for_people(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    progress = Progress("copy", 16)
    progress.start -= 10
    progress.step("compiled", 9)
    progress.finish()
    assert sys.stderr.getvalue() == ""


# On disk

TUNED = """
import sys
import numpy as np, shoal, shoal.language as tl

times = iter(sys.argv[1:])

def bench(call, quantiles):
    call()
    print("measured")
    return [float(next(times)), 1.0, 1.0]

@shoal.autotune([shoal.Config({"BLOCK": size}) for size in (128, 256)], key=["n"], do_bench=bench, cache_results=True)
@shoal.jit
def double(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)

x = np.ones(100, np.float32)
double[(1,)](x, 100)
print(double.best_config.kwargs["BLOCK"], sorted(time[0] for time in double.configs_timings.values()))
"""


def test_timings_are_kept_for_the_next_process(tmp_path: Path):
    script = tmp_path / "tuned.py"
    script.write_text(TUNED)
    env = {**os.environ, "SHOAL_CACHE_DIR": str(tmp_path / "cache"), "TRITON_CACHE_DIR": str(tmp_path / "cache")}

    def run():
        command = [sys.executable, str(script), "5.0", "3.0"]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout.split("\n")

    assert run() == ["measured", "measured", "256 [3.0, 5.0]", ""]
    assert run() == ["256 [3.0, 5.0]", ""], "read from the disk"
    script.write_text(script.read_text().replace("* 2", "* 3"))
    assert run()[:2] == ["measured", "measured"], "another kernel is measured again"


# Heuristics


def test_heuristics_compute_parameters():
    @shoal.heuristics(
        {
            "EVEN": lambda args: args["n"] % args["BLOCK"] == 0,
            "FACTOR": lambda args: 2 if args["EVEN"] else 3,
        }
    )
    @shoal.jit
    def scale(x, n, BLOCK: tl.constexpr, EVEN: tl.constexpr, FACTOR: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        if EVEN:
            tl.store(x + at, tl.load(x + at) * FACTOR)
        else:
            tl.store(x + at, tl.load(x + at, mask=at < n) * FACTOR, mask=at < n)

    for n, factor in ((256, 2), (250, 3)):
        x = np.ones(256, np.float32)
        scale[(2,)](x, n, BLOCK=128)
        assert (x[:n] == factor).all() and (x[n:] == 1).all()
    assert scale.__name__ == "scale"
    assert "asm" in dir(scale.warmup(np.ones(256, np.float32), 256, BLOCK=128, grid=(1,)))


@pytest.mark.parametrize("order", ["autotune outside", "heuristics outside"])
def test_heuristics_and_autotuning_go_together(order: str):
    tune = shoal.autotune(blocks(64, 128), key=["n"], do_bench=Bench(2.0, 1.0))
    compute = shoal.heuristics({"TWICE": lambda args: args["n"] * 2})

    @shoal.jit
    def fill(out, n, BLOCK: tl.constexpr, TWICE: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, at * 0.0 + TWICE, mask=at < n)

    kernel = tune(compute(fill)) if order == "autotune outside" else compute(tune(fill))
    _, out = arrays()
    kernel[grid](out, n=N)
    assert (out == 2 * N).all()


def test_configurations_that_become_the_same_code_are_compiled_and_measured_once(monkeypatch: pytest.MonkeyPatch):
    compiled = []
    monkeypatch.setattr(knobs.compilation, "listener", lambda metadata, **_: compiled.append(metadata["num_warps"]))
    bench = Bench(2.0, 1.0)
    configs = [shoal.Config({"BLOCK": size}, num_warps=warps) for size in (128, 256) for warps in (1, 2, 4, 8)]
    copy = copy_kernel(configs=configs, do_bench=bench)
    x, out = np.arange(N, dtype=np.float32), np.zeros(N, np.float32)
    copy[grid](x, out, n=N)
    assert compiled == [1, 1]
    assert [time[0] for time in copy.configs_timings.values()] == [2.0] * 4 + [1.0] * 4
    assert copy.best_config is configs[4] and (out == x).all()


def test_a_parameter_called_as_an_option_makes_other_code():
    @shoal.autotune([shoal.Config({}, num_warps=w) for w in (1, 2)], key=[], do_bench=Bench(2.0, 1.0))
    @shoal.jit
    def warps(out, num_warps: tl.constexpr):
        tl.store(out, num_warps)

    out = np.zeros(1, np.int32)
    warps[(1,)](out)
    assert warps.best_config.num_warps == 2 and out[0] == 2


def test_others_subclass_the_autotuner():
    measured = []

    class Mine(shoal.runtime.autotuner.Autotuner):
        def _bench(self, *args, config, **meta):
            measured.append((config.kwargs["BLOCK"], meta["n"]))
            return super()._bench(*args, config=config, **meta)

        def run(self, *args, **kwargs):
            self.nargs = dict(zip(self.arg_names, args))
            assert self.nargs["x"] is args[0] and self.restore_copies == {}
            self.restore_copies = {}
            return super().run(*args, **kwargs)

    original = copy_kernel()
    mine = Mine(original.fn, original.arg_names, blocks(64, 128), ["n"], None, None, do_bench=Bench(2.0, 1.0))
    x, out = np.arange(N, dtype=np.float32), np.zeros(N, np.float32)
    mine[grid](x, out, n=N)
    assert measured == [(64, N), (128, N)] and mine.best_config.kwargs["BLOCK"] == 128 and (out == x).all()


@shoal.jit
def twice_of_eight(x):
    at = x + tl.arange(0, 8)
    tl.store(at, tl.load(at) * 2)


def test_too_many_warps_are_out_of_resources():
    x = np.zeros(8, np.float32)
    with pytest.raises(OutOfResources, match="threads, Required: 4096, Hardware limit: 1024"):
        twice_of_eight[(1,)](x, num_warps=128)
    configs = [shoal.Config({}, num_warps=128), shoal.Config({}, num_warps=4)]
    tuned = shoal.autotune(configs=configs, key=[])(twice_of_eight)
    tuned[(1,)](x)
    assert tuned.best_config.num_warps == 4
