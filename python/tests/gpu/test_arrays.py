"""Arrays of GPUs go in as they are, in the current stream of their package."""

import numpy as np
import pytest

import shoal
import shoal.language as sl
from shoal import _native

torch = pytest.importorskip("torch")


@shoal.jit
def add(x, y, out, n, BLOCK: sl.constexpr):
    at = sl.program_id(0) * BLOCK + sl.arange(0, BLOCK)
    sl.store(out + at, sl.load(x + at, mask=at < n) + sl.load(y + at, mask=at < n), mask=at < n)


@shoal.jit
def double(x, n, BLOCK: sl.constexpr):
    at = sl.program_id(0) * BLOCK + sl.arange(0, BLOCK)
    sl.store(x + at, sl.load(x + at, mask=at < n) * 2, mask=at < n)


def grid(n, block=1024):
    return (shoal.cdiv(n, block),)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64", "int32", "int8", "uint8", "int64"])
@pytest.mark.parametrize("n", [1, 1000, 98_432])
def test_torch_tensors(dtype, n):
    dtype = getattr(torch, dtype)
    if dtype.is_floating_point:
        x, y = (torch.randn(n, device="cuda").to(dtype) for _ in range(2))
    else:
        x, y = (torch.randint(0, 60, (n,), device="cuda").to(dtype) for _ in range(2))
    out = torch.full_like(x, 77)
    add[grid(n)](x, y, out, n, BLOCK=1024)
    torch.testing.assert_close(out, x + y, rtol=0, atol=0)


def test_views_start_where_they_start():
    x = torch.randn(5000, device="cuda")
    y, out = torch.randn(4097, device="cuda"), torch.empty(4097, device="cuda")
    add[grid(4097)](x[3:4100], y, out, 4097, BLOCK=1024)
    torch.testing.assert_close(out, x[3:4100] + y, rtol=0, atol=0)


def test_launches_go_to_the_current_stream():
    n = 1 << 20
    x = torch.ones(n, device="cuda")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        # If the launch went to another stream, it would not wait for this.
        torch.cuda._sleep(20_000_000)
        x.fill_(3.0)
        double[grid(n)](x, n, BLOCK=1024)
    stream.synchronize()
    assert torch.all(x == 6.0)


def test_graphs_capture_launches():
    n = 10_000
    x = torch.ones(n, device="cuda")
    double[grid(n)](x, n, BLOCK=1024)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        double[grid(n)](x, n, BLOCK=1024)
        double[grid(n)](x, n, BLOCK=1024)
    assert torch.all(x == 2.0)
    graph.replay()
    graph.replay()
    torch.cuda.synchronize()
    assert torch.all(x == 32.0)


def test_cupy_arrays():
    cupy = pytest.importorskip("cupy")
    x = cupy.random.rand(5000).astype(cupy.float32)
    y = cupy.random.rand(5000).astype(cupy.float32)
    out = cupy.full_like(x, 77)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        stream.wait_event(cupy.cuda.Stream.null.record())
        add[grid(5000)](x, y, out, 5000, BLOCK=1024)
        stream.synchronize()
    cupy.testing.assert_array_equal(out, x + y)


class Exchanged:
    """An array that speaks DLPack and nothing else."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, **kwargs):
        return self.tensor.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def test_dlpack():
    x, y = torch.randn(3000, device="cuda"), torch.randn(3000, device="cuda")
    out = torch.empty_like(x)
    torch.cuda.synchronize()
    add[grid(3000)](Exchanged(x), Exchanged(y), Exchanged(out), 3000, BLOCK=1024)
    torch.cuda.synchronize()
    torch.testing.assert_close(out, x + y, rtol=0, atol=0)


def test_arrays_of_two_devices_are_refused():
    x = torch.ones(10, device="cuda")
    for other in (torch.ones(10), np.ones(10, np.float32)):
        with pytest.raises(ValueError, match="one device"):
            add[grid(10)](x, other, x, 10, BLOCK=16)


def test_host_arrays_are_copied_to_the_default_device():
    x, y = np.random.rand(3000).astype(np.float32), np.random.rand(3000).astype(np.float32)
    out = np.full_like(x, 77)
    with shoal.device("cuda"):
        compiled = add[grid(3000)](x, y, out, 3000, BLOCK=1024)
    np.testing.assert_array_equal(out, x + y)
    assert compiled.metadata.target.backend == "cuda"
    assert shoal.device.current() == "cpu"


def test_what_is_told_of_a_kernel_is_real():
    n = 4096
    x = torch.ones(n, device="cuda")
    compiled = double[grid(n)](x, n, BLOCK=1024)
    assert compiled.n_regs > 0 and compiled.n_spills == 0
    assert compiled.metadata.shared >= 0 and compiled.metadata.num_warps == 4
    assert ".visible .entry double" in compiled.asm["ptx"] and compiled.asm["cubin"][:4] == b"\x7fELF"
    assert double[grid(n)](x, n, BLOCK=1024, num_warps=8) is not compiled
    assert ".reqntid 256" in double[grid(n)](x, n, BLOCK=1024, num_warps=8).asm["ptx"]


def test_blocks_of_a_cluster_become_warps_of_one_block():
    n = 5000
    for warps, blocks, in_all in [(4, 2, 8), (4, 8, 32), (8, 16, 32)]:
        x = torch.ones(n, device="cuda")
        compiled = double[grid(n)](x, n, BLOCK=1024, num_warps=warps, num_ctas=blocks)
        assert (x == 2).all()
        assert f".reqntid {32 * in_all}" in compiled.asm["ptx"]
        assert compiled.metadata.num_ctas == blocks and compiled.metadata.num_warps == in_all
        assert compiled.packed_metadata[:2] == (in_all, 1)
        compiled[grid(n)](x, n, 1024)
        assert (x == 4).all()


def test_properties_are_the_drivers():
    facts = shoal.runtime.driver.driver.active.utils.get_device_properties(0)
    known = torch.cuda.get_device_properties(0)
    assert facts["multiprocessor_count"] == known.multi_processor_count
    assert facts["max_shared_mem"] > 48 * 1024 and facts["warpSize"] == 32
    assert tuple(facts["capability"]) == torch.cuda.get_device_capability(0)
    target = shoal.runtime.driver.driver.active.get_current_target()
    assert target.backend == "cuda" and target.arch == 10 * known.major + known.minor


def test_too_much_shared_memory_is_told():
    limit = _native.cuda_properties(0)["max_shared_mem"]
    assert limit >= 99 * 1024


def test_do_bench_measures_on_the_gpu():
    n = 1 << 24
    x = torch.ones(n, device="cuda")
    ms = shoal.testing.do_bench(lambda: double[grid(n)](x, n, BLOCK=1024), warmup=5, rep=20, return_mode="median")
    # 128 MB at anything from 100 GB/s to 20 TB/s.
    assert 128e6 / 20e12 * 1e3 < ms < 128e6 / 100e9 * 1e3
    assert 0 < shoal.testing.do_bench_cudagraph(lambda: double[grid(n)](x, n, BLOCK=1024), rep=5) < 10 * ms
