"""Measuring calls, comparing results, and reports."""

import os
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from pathlib import Path

import numpy as np
import pytest

from shoal import testing
from shoal.testing import report, timing
from shoal.testing.line_plot import svg


class Clock:
    """A clock that stands still unless it is told otherwise: measurements become exact."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)

    def work(self, *milliseconds: float):
        """A function that takes these times, in turn; the last one from then on."""
        left = list(milliseconds)

        def fn() -> None:
            self.now += (left.pop(0) if len(left) > 1 else left[0]) / 1e3
            self.calls += 1

        self.calls = 0
        return fn


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_do_bench_counts_calls_by_time(clock: Clock):
    assert testing.do_bench(clock.work(2.0), warmup=21, rep=101) == pytest.approx(2.0)
    assert clock.calls == 1 + 5 + 10 + 50, "to compile, to estimate, to warm up, to measure"


def test_do_bench_summarises_as_asked(clock: Clock):
    times = [1.0] * 6 + [1.0] + [1.0, 2.0, 3.0, 4.0, 1.0]

    def bench(**how):
        return testing.do_bench(clock.work(*times), warmup=1.5, rep=5.5, **how)

    assert bench(return_mode="all") == pytest.approx([1, 2, 3, 4, 1])
    assert bench(return_mode="min") == pytest.approx(1)
    assert bench(return_mode="max") == pytest.approx(4)
    assert bench(return_mode="median") == pytest.approx(2)
    assert bench() == pytest.approx(11 / 5)
    assert bench(quantiles=[0.5, 0.0, 1.0, 0.75, 0.9]) == pytest.approx([2, 1, 4, 3, 3.6])
    assert bench(quantiles=[0.5]) == pytest.approx(2), "one quantile is a number"


def test_do_bench_of_nothing_at_all_ends(clock: Clock):
    calls = []
    assert testing.do_bench(lambda: calls.append(0), warmup=1e-5, rep=1e-4) == 0
    assert calls


def test_do_bench_refuses_what_it_does_not_know():
    with pytest.raises(ValueError, match="return_mode is one of min, max, mean, median, all, not 'fastest'"):
        testing.do_bench(lambda: None, return_mode="fastest")
    with pytest.raises(ValueError, match="from 0 to 1, not 1.5"):
        testing.do_bench(lambda: None, warmup=0, rep=0, quantiles=[1.5])


def test_gradients_are_dropped_before_each_call():
    class Tensor:
        grad = 1.0

    tensor = Tensor()
    seen = []

    def fn() -> None:
        seen.append(tensor.grad)
        tensor.grad = 2.0

    testing.do_bench(fn, warmup=0, rep=0, grad_to_none=[tensor])
    assert seen[1:6] == [None] * 5
    assert seen[-1] is None


@pytest.mark.parametrize("bench", [testing.do_bench_cudagraph, testing.do_bench_cudagraph_proton])
def test_do_bench_cudagraph_times_calls_in_a_row(clock: Clock, bench):
    assert bench(clock.work(2.0), rep=21) == pytest.approx(2.0)
    assert clock.calls == 1 + 5 + 10 * 10, "to compile, to estimate, ten times as many as fit"


def test_do_bench_proton_is_do_bench(clock: Clock):
    assert testing.do_bench_proton(clock.work(3.0), warmup=3, rep=9, return_mode="median") == pytest.approx(3.0)


def test_quantiles_lie_on_a_line():
    assert [timing.quantile([1.0, 2.0, 4.0], q) for q in (0, 0.25, 0.5, 0.75, 1)] == [1, 1.5, 2, 3, 4]


# Comparing


def test_assert_close():
    testing.assert_close(1.0, 1.005)
    testing.assert_close([1, 2], np.array([1, 2]))
    testing.assert_close(np.array([np.nan, 1]), np.array([np.nan, 1]))
    testing.assert_close(np.array([100.0]), np.array([101.0]), rtol=0.02, atol=0)
    testing.assert_close(
        np.float16([1, 2]), np.float32([1.005, 2]), atol=lambda dtype: 0.01 if dtype == np.float16 else 0
    )
    with pytest.raises(AssertionError, match="the message"):
        testing.assert_close(np.zeros(3), np.ones(3), err_msg="the message")
    with pytest.raises(AssertionError):
        testing.assert_close(1.0, 1.02)
    with pytest.raises(AssertionError):
        testing.assert_close(np.array([np.nan]), np.array([1.0]))


def test_assert_close_knows_small_floats():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    testing.assert_close(np.array([1, 2], ml_dtypes.bfloat16), np.array([1, 2], np.float32))
    with pytest.raises(AssertionError):
        testing.assert_close(np.array([1], ml_dtypes.float8_e4m3fn), np.array([2], ml_dtypes.float8_e5m2))


@pytest.mark.torch
def test_assert_close_of_tensors():
    torch = pytest.importorskip("torch")
    x = torch.ones(4, requires_grad=True)
    testing.assert_close(x, np.ones(4, np.float32))
    testing.assert_close(x.to(torch.bfloat16), x)
    with pytest.raises(AssertionError):
        testing.assert_close(x, torch.zeros(4))


# Reports


def benchmark(**changes) -> testing.Benchmark:
    facts = {
        "x_names": ["n"],
        "x_vals": [1, 10, 100],
        "line_arg": "who",
        "line_vals": ["a", "b"],
        "line_names": ["A", "B"],
        "plot_name": "speed",
        "args": {"factor": 2},
        "ylabel": "GB/s",
        "x_log": True,
    }
    return testing.Benchmark(**{**facts, **changes})


def measure(n, who, factor, extra=0):
    return n * factor + (0.5 if who == "b" else 0.0) + extra


def test_a_report_prints_and_saves(capsys: pytest.CaptureFixture, tmp_path: Path):
    where = tmp_path / "new" / "folder"
    marked = testing.perf_report(benchmark())(measure)
    assert isinstance(marked, testing.Mark)
    assert marked.run(print_data=True, save_path=str(where), save_precision=2) is None
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "speed:"
    assert lines[1].split() == ["n", "A", "(GB/s)", "B", "(GB/s)"]
    assert [line.split() for line in lines[2:]] == [
        ["0", "1", "2.000000", "2.500000"],
        ["1", "10", "20.000000", "20.500000"],
        ["2", "100", "200.000000", "200.500000"],
    ]
    assert (where / "speed.csv").read_text() == "n,A (GB/s),B (GB/s)\n1,2.00,2.50\n10,20.00,20.50\n100,200.00,200.50\n"
    assert 'src="speed.' in (where / "results.html").read_text()


def test_a_report_takes_tuples_and_further_arguments():
    marked = testing.perf_report(benchmark(x_names=["n", "extra"], x_vals=[(1, 5)]))(measure)
    measured = marked._measure(marked.benchmarks, {})
    assert (measured.points, measured.values) == ([[1, 5]], [[7.0, 7.5]])
    same = testing.perf_report(benchmark(x_names=["n", "extra"], x_vals=[3]))(measure)
    assert same._measure(same.benchmarks, {}).points == [[3, 3]], "one value is for all names"
    with pytest.raises(ValueError, match="Expected 2 values for n, extra"):
        testing.perf_report(benchmark(x_names=["n", "extra"], x_vals=[(1, 2, 3)]))(measure).run()
    more = testing.perf_report(benchmark())(measure)
    assert more._measure(more.benchmarks, {"extra": 100}).values[0] == [102.0, 102.5]


def test_a_report_has_ranges_and_differences():
    marked = testing.perf_report(benchmark())(lambda n, who, factor: (n, n - 1, n + 1))
    measured = marked._measure(marked.benchmarks, {})
    assert measured.values[0] == [1, 1]
    assert measured.ranges[0] == [(0, 2), (0, 2)]
    assert measured.columns(True)[-1] == "Diff"
    assert measured.rows(True)[0] == [1, 1, 1, 0]


def test_a_report_gives_data_frames():
    pytest.importorskip("pandas")
    one = testing.perf_report(benchmark())(measure).run(return_df=True)
    assert list(one.columns) == ["n", "A (GB/s)", "B (GB/s)"]
    assert one["A (GB/s)"].tolist() == [2, 20, 200]
    several = testing.perf_report([benchmark(), benchmark(plot_name="other")])(measure).run(return_df=True)
    assert len(several) == 2


def test_a_report_is_a_png_with_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    styles = [("blue", "-"), ("green", "--")]
    testing.perf_report(benchmark(styles=styles, y_log=True))(measure).run(save_path=str(tmp_path))
    assert (tmp_path / "speed.png").read_bytes().startswith(b"\x89PNG")
    assert 'src="speed.png"' in (tmp_path / "results.html").read_text()


@pytest.mark.parametrize("missing", ["matplotlib", "pandas"])
def test_a_report_needs_neither_matplotlib_nor_pandas(tmp_path: Path, monkeypatch, capsys, missing: str):
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    mark = testing.perf_report(benchmark())(measure)
    mark.run(print_data=True, show_plots=True, save_path=str(tmp_path))
    assert "plots are shown by matplotlib, which is not installed" in capsys.readouterr().err
    assert sorted(os.listdir(tmp_path)) == ["results.html", "speed.csv", "speed.svg"]
    if missing == "pandas":
        with pytest.raises(ImportError, match="pip install pandas"):
            mark.run(return_df=True)


def test_the_svg_has_a_line_for_each_name():
    marked = testing.perf_report(benchmark(styles=[("b", "-"), ("g", ":")], y_log=True))(measure)
    picture = xml.fromstring(svg(marked._measure(marked.benchmarks, {})))
    lines = [part for part in picture.iter() if part.tag.endswith("polyline")]
    assert [line.get("stroke") for line in lines] == ["blue", "green"]
    x, y = zip(*(map(float, place.split(",")) for place in lines[0].get("points").split()))
    assert x == (80, 350, 620), "a logarithmic axis"
    assert y[0] > y[1] > y[2], "up is more"
    texts = [part.text for part in picture.iter() if part.tag.endswith("text")]
    assert {"A (GB/s)", "B (GB/s)", "n"} <= set(texts)


def test_the_svg_shows_names_and_equal_values():
    marked = testing.perf_report(benchmark(x_vals=["<one>", "two"]))(lambda n, who, factor: 3.0)
    text = svg(marked._measure(marked.benchmarks, {}))
    assert "&lt;one&gt;" in text
    xml.fromstring(text)


def test_what_was_measured_is_saved_even_if_a_later_one_fails(tmp_path: Path):
    def fails(n, who, factor):
        if factor == 3:
            raise RuntimeError("no")
        return 1.0

    marked = testing.perf_report([benchmark(), benchmark(plot_name="bad", args={"factor": 3})])(fails)
    with pytest.raises(RuntimeError, match="no"):
        marked.run(save_path=str(tmp_path))
    assert "speed." in (tmp_path / "results.html").read_text()
    assert "bad" not in (tmp_path / "results.html").read_text()


def test_numbers_are_shown_with_six_digits():
    assert report._table(["x"], [[1], [2.5]]).splitlines() == ["          x", "0         1", "1  2.500000"]


# The machine


def test_peaks_follow_from_cores_and_vectors(monkeypatch: pytest.MonkeyPatch):
    from shoal.runtime import cpu_facts

    monkeypatch.setattr(cpu_facts, "cores", lambda: 4)
    monkeypatch.setattr(cpu_facts, "flags", lambda: frozenset({"avx512f", "amx_bf16"}))
    gigahertz = 1_000_000
    assert testing.get_max_simd_tflops(np.float32, gigahertz) == pytest.approx(4 * 16 * 4 / 1000)
    assert testing.get_max_simd_tflops(np.dtype("float64"), gigahertz) == pytest.approx(4 * 8 * 4 / 1000)
    assert testing.get_max_simd_tflops("bfloat16", gigahertz) == pytest.approx(4 * 16 * 4 / 1000), "as 32-bit floats"
    assert testing.get_max_tensorcore_tflops("torch.bfloat16", gigahertz) == pytest.approx(4 * 1024 / 1000)
    assert testing.get_max_tensorcore_tflops("float16", gigahertz) == testing.get_max_simd_tflops("float16", gigahertz)
    monkeypatch.setattr(cpu_facts, "flags", lambda: frozenset({"avx2"}))
    assert testing.get_max_simd_tflops(np.float32, gigahertz) == pytest.approx(4 * 8 * 4 / 1000)
    with pytest.raises(RuntimeError, match="no peak is known for complex64"):
        testing.get_max_simd_tflops(np.complex64, gigahertz)


def test_the_memory_has_a_bandwidth():
    assert testing.get_dram_gbps() > 0.1


def test_tools_for_gpus_say_that_there_is_none(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "/nothing/here")
    with pytest.raises(RuntimeError, match="nvidia-smi, which is not on this machine"):
        testing.nvsmi(["clocks.current.sm"])
    with pytest.raises(RuntimeError, match="no meaning here.*cpupower"), testing.set_gpu_clock():
        pass
    with pytest.raises(RuntimeError, match="no meaning here.*torch.matmul"):
        testing.cublas()


def test_cuda_memcheck_runs_the_test_with_every_access_checked(tmp_path: Path):
    (tmp_path / "test_it.py").write_text(
        """
import os
import pytest
from shoal.testing import cuda_memcheck


@pytest.mark.parametrize("size", [1, 2])
@cuda_memcheck(size=2)
def test_it(size, request):
    with open(os.environ["SEEN"], "a") as file:
        file.write(f"{size} {os.environ.get('SHOAL_INTERPRET')}\\n")


@pytest.mark.parametrize("size", [2])
@cuda_memcheck(size=2)
def test_bad(size, request):
    assert os.environ.get("SHOAL_INTERPRET") != "1", "out of bounds"
"""
    )
    # A knob that was set leaves Triton's name of it in the environment, which comes first.
    env = {**os.environ, "SEEN": str(tmp_path / "seen"), "TRITON_INTERPRET": "0"}
    env.pop("SHOAL_INTERPRET", None)
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path / "test_it.py")]
    outcome = subprocess.run(run, env=env, capture_output=True, text=True, timeout=120)
    assert "2 passed" in outcome.stdout and "1 failed" in outcome.stdout, outcome.stdout
    assert "with every access checked, the test fails" in outcome.stdout
    assert (tmp_path / "seen").read_text() == "1 None\n2 1\n"
