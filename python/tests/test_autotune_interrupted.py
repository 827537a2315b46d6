"""What tuning leaves behind when it is stopped, and what it says about what cannot be tuned."""

import numpy as np
import pytest

import shoal
import shoal.language as tl

CONFIGS = [shoal.Config({"BLOCK": 16}), shoal.Config({"BLOCK": 32})]


def test_arrays_are_put_back_when_tuning_is_interrupted():
    def interrupted(call, quantiles):
        call()
        runs.append(x[0])
        add_one.fn.run = stop_after_the_run
        call()

    def stop_after_the_run(*args, **kwargs):
        run(*args, **kwargs)
        raise KeyboardInterrupt

    @shoal.autotune(CONFIGS, key=["n"], restore_value=["x"], do_bench=interrupted)
    @shoal.jit
    def add_one(x, n, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        tl.store(x + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)

    runs: list[float] = []
    run = add_one.fn.run
    x = np.zeros(10, np.float32)
    with pytest.raises(KeyboardInterrupt):
        add_one[(1,)](x, 10)
    assert runs == [0.0]
    assert (x == 0).all()
    assert not add_one.cache


def test_an_array_in_the_key_is_refused_with_a_way_out():
    @shoal.autotune(CONFIGS, key=["x"])
    @shoal.jit
    def fill(x, BLOCK: tl.constexpr):
        tl.store(x + tl.arange(0, BLOCK), 1.0)

    with pytest.raises(TypeError, match="autotuning of fill: .*ndarray.*Name sizes in `key`"):
        fill[(1,)](np.zeros(32, np.float32))


@pytest.mark.parametrize("decorator", [shoal.autotune(CONFIGS, key=[]), shoal.heuristics({})])
def test_decorators_in_the_wrong_order_are_told_the_right_one(decorator):
    with pytest.raises(TypeError, match="of type function: write @.* above @jit"):

        @shoal.jit
        @decorator
        def kernel(x):
            tl.store(x, 1.0)
