"""`triton.profiler`: scopes of host programs and the kernels launched in them."""

import json

import numpy as np
import pytest

import shoal
import shoal.language as sl
from shoal.triton import profiler
from shoal.triton.profiler import viewer


def counted(grid, metadata, args):
    return {"name": f"fill [n={args['n']}]", "flops32": 2.0 * args["n"], "bytes": 4 * args["n"]}


@shoal.jit(launch_metadata=counted)
def fill(x, n, BLOCK: sl.constexpr):
    at = sl.arange(0, BLOCK)
    sl.store(x + at, 1.0, mask=at < n)


@pytest.fixture
def x(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = np.zeros(8, np.float32)
    fill[(1,)](x, 8, BLOCK=8)
    return x


def test_a_session_is_a_tree_of_scopes_and_kernels(x, tmp_path, capsys):
    session = profiler.start("run", hook="triton")
    for _ in range(2):
        with profiler.scope("outer", {"bytes": 100}):
            fill[(1,)](x, 8, BLOCK=8)
            with profiler.cpu_timed_scope("inner"):
                sum(range(1000))
    profiler.deactivate(session)
    fill[(1,)](x, 5, BLOCK=8)
    profiler.activate(session)
    profiler.finalize()
    fill[(1,)](x, 8, BLOCK=8)

    tree, metrics = viewer.parse(["time/ms", "count", "gbyte/s", "avg_time/us"], "run.hatchet")
    (outer,) = tree.children.values()
    kernel, inner = outer.children.values()
    assert (outer.name, kernel.name, inner.name) == ("outer", "fill [n=8]", "inner")
    assert outer.metrics == {"bytes": 200} and kernel.metrics["count"] == 2 and kernel.metrics["flops32"] == 32
    assert kernel.metrics["time (ns)"] > 0 and inner.metrics["time (ns)"] > 0
    assert inner.metrics["cpu_time (ns)(exc)"] == inner.metrics["time (ns)"]
    assert tree.total("bytes") == 264 and viewer.figure(inner, "avg_time/us") is None
    seconds = tree.total("time (ns)") * 1e-9
    assert viewer.figure(tree, "gbyte/s") == pytest.approx(264e-9 / seconds)
    viewer.print_tree(tree, metrics)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "time/ms  count  gbyte/s  avg_time/us"
    assert [line.rpartition("  ")[2] for line in lines[1:]] == ["ROOT", "outer", "fill [n=8]", "inner"]
    root, _ = json.loads((tmp_path / "run.hatchet").read_text())
    assert root["frame"] == {"name": "ROOT", "type": "function"}
    with pytest.raises(ValueError, match="no metric 'util'"):
        viewer.parse(["util"], "run.hatchet")


def test_scopes_without_a_session_record_nothing_and_names_must_match(x):
    profiler.enter_scope("left")
    profiler.exit_scope("left")
    first, second = profiler.start("first"), profiler.start("second")
    profiler.enter_scope("a", metrics={"n": 1})
    fill[(1,)](x, 8, BLOCK=8)
    profiler.exit_scope(metrics={"n": 2})
    profiler.enter_scope("b")
    with pytest.raises(ValueError, match="Scope name mismatch: c != b"):
        profiler.exit_scope("c")
    profiler.finalize(first)
    profiler.finalize(second)
    for name in ("first", "second"):
        a, _ = viewer.read(f"{name}.hatchet").children.values()
        assert a.metrics == {"n": 3} and list(a.children) == ["fill"]


def test_functions_are_profiled(x):
    @profiler.profile(name="decorated")
    @profiler.scope("all")
    def work():
        fill[(1,)](x, 8, BLOCK=8)

    work()
    profiler.finalize()
    assert viewer.read("decorated.hatchet").children["all"].count_kernels() == 1
    with pytest.raises(NotImplementedError, match="a tree of scopes"):
        profiler.start(backend="instrumentation")
    with pytest.raises(ValueError, match="Unsupported hook"):
        profiler.start(hook="other")
