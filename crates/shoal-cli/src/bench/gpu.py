"""Kernels on a GPU, side by side: Shoal, Triton and torch, in one process, on the same data.

gpu.py KERNELS FILTER ROUNDS: prints a line of JSON for each row. Times are medians of device events; the cache is
emptied before each call, and the peers take turns.
"""

import importlib.util
import json
import math
import os
import statistics
import sys
import tempfile
import time

import torch

import shoal

try:
    import triton
except ImportError:
    triton = None

KERNELS, FILTER, ROUNDS = sys.argv[1], sys.argv[2], int(sys.argv[3])
# Cycles of the GPU, some tenths of a millisecond.
HEAD_START = 600_000
FLUSH = torch.empty(256 << 20, dtype=torch.int8, device="cuda")


def compiled_by(name, header):
    """The kernels, decorated by one of the packages."""
    path = os.path.join(tempfile.mkdtemp(), f"kernels_{name}.py")
    with open(KERNELS) as kernels, open(path, "w") as file:
        file.write(header + kernels.read())
    spec = importlib.util.spec_from_file_location(f"kernels_{name}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


OURS = compiled_by("shoal", "import shoal as triton\nimport shoal.language as tl\n\n\n")
THEIRS = triton and compiled_by("triton", "import triton\nimport triton.language as tl\n\n\n")
PACKAGES = {"shoal": OURS, **({"triton": THEIRS} if THEIRS else {})}


def say(**row):
    print(json.dumps(row), flush=True)


def once(fn):
    FLUSH.zero_()
    # The GPU waits while the host prepares the call, long enough for a busy one.
    torch.cuda._sleep(HEAD_START)
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    fn()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / 1e3


def medians(calls):
    """Seconds of each call. They take turns at being first: what a call follows decides how warm the GPU is."""
    for fn in calls.values():
        for _ in range(3):
            fn()
    torch.cuda.synchronize()
    times = {name: [] for name in calls}
    turns = list(calls)
    for _ in range(ROUNDS):
        for name in turns:
            times[name].append(once(calls[name]))
        turns.append(turns.pop(0))
    return {name: statistics.median(t) for name, t in times.items()}


def error(found, expected):
    found, expected = found.double(), expected.double()
    return ((found - expected).norm() / expected.norm()).item()


def rows(bench, case, work, unit, calls, result, expected, tolerance):
    """Checks what ours writes, then measures it next to the others. `None` for work: the time counts."""
    result.fill_(float("nan")) if result.is_floating_point() else result.fill_(77)
    calls["shoal"]()
    torch.cuda.synchronize()
    wrong = error(result.float(), expected.float())
    if not wrong <= tolerance:
        say(bench=bench, case=case, error=f"wrong by {wrong:.3g}")
        return
    times = medians(calls)
    of = (lambda s: work / s / 1e9) if work else (lambda s: s * 1e6)
    for peer, seconds in times.items():
        if peer != "shoal":
            say(bench=bench, case=case, metric=unit, ours=of(times["shoal"]), peer=peer, peer_value=of(seconds),
                ratio=seconds / times["shoal"])


def both(make, **more):
    """Calls of both packages, and others."""
    calls = {"shoal": make(OURS)}
    if THEIRS:
        calls["triton"] = make(THEIRS)
    return {**calls, **more}


def bench_add():
    n = 1 << 27
    x, y = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
    out = torch.empty_like(x)
    calls = both(lambda m: lambda: m.add_kernel[(n // 1024,)](x, y, out, n, BLOCK=1024), torch=lambda: torch.add(x, y, out=out))
    rows("vector_add", f"f32 {n}", 12 * n, "GB/s", calls, out, x + y, 0)


def bench_softmax():
    for cols in (1024, 4096, 12288):
        x = torch.randn(8192, cols, device="cuda")
        out = torch.empty_like(x)
        block = 1 << (cols - 1).bit_length()
        warps = 4 if block <= 2048 else 8 if block <= 4096 else 16
        calls = both(
            lambda m: lambda: m.softmax_kernel[(8192,)](out, x, x.stride(0), cols, BLOCK=block, num_warps=warps),
            torch=lambda: torch.softmax(x, 1),
        )
        rows("softmax", f"f32 8192x{cols}", 8 * x.numel(), "GB/s", calls, out, torch.softmax(x.double(), 1), 1e-5)


def bench_norms():
    x = torch.randn(8192, 4096, device="cuda", dtype=torch.bfloat16)
    w, b = (torch.randn(4096, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    out = torch.empty_like(x)
    exact = torch.nn.functional.rms_norm(x.double(), (4096,), w.double(), 1e-6)
    calls = best_of_warps(
        lambda m, warps: m.rms_norm_kernel[(8192,)](out, x, w, 4096, 4096, 1e-6, BLOCK=4096, num_warps=warps),
    )
    calls["torch"] = lambda: torch.nn.functional.rms_norm(x, (4096,), w, 1e-6)
    rows("rms_norm", "bf16 8192x4096", 4 * x.numel(), "GB/s", calls, out, exact, 1e-2)
    exact = torch.nn.functional.layer_norm(x.double(), (4096,), w.double(), b.double(), 1e-6)
    calls = best_of_warps(
        lambda m, warps: m.layer_norm_kernel[(8192,)](out, x, w, b, 4096, 4096, 1e-6, BLOCK=4096, num_warps=warps),
    )
    calls["torch"] = lambda: torch.nn.functional.layer_norm(x, (4096,), w, b, 1e-6)
    rows("layer_norm", "bf16 8192x4096", 4 * x.numel(), "GB/s", calls, out, exact, 1e-2)


def best_of_warps(launch):
    """Calls of both packages, each with the number of warps that is best for it."""
    calls = {}
    for name, module in (("shoal", OURS), ("triton", THEIRS)):
        if module:
            config, _ = tuned(lambda config: launch(module, config["num_warps"]), [dict(num_warps=4), dict(num_warps=8)], 15)
            say(note=f"{name}: {config}")
            calls[name] = lambda module=module, config=config: launch(module, config["num_warps"])
    return calls


CONFIGS = [
    dict(BM=128, BN=256, BK=64, GROUP=8, num_warps=8, num_stages=3),
    dict(BM=128, BN=256, BK=64, GROUP=8, num_warps=8, num_stages=4),
    dict(BM=128, BN=128, BK=64, GROUP=8, num_warps=4, num_stages=4),
    dict(BM=128, BN=128, BK=64, GROUP=8, num_warps=8, num_stages=4),
    dict(BM=128, BN=128, BK=32, GROUP=8, num_warps=4, num_stages=4),
    dict(BM=64, BN=128, BK=64, GROUP=8, num_warps=4, num_stages=4),
]


# The same product through tensor descriptors: by as many programs as there are multiprocessors, or one for each tile.
BLOCK_CONFIGS = [
    dict(BM=128, BN=256, BK=64, GROUP=8, num_warps=8, num_stages=3, WS=True, PERSISTENT=True),
    dict(BM=128, BN=128, BK=64, GROUP=8, num_warps=8, num_stages=4, WS=True, PERSISTENT=True),
    dict(BM=128, BN=256, BK=64, GROUP=8, num_warps=8, num_stages=3, WS=False, PERSISTENT=True),
    dict(BM=128, BN=256, BK=64, GROUP=8, num_warps=8, num_stages=4, WS=False, PERSISTENT=False),
    dict(BM=128, BN=256, BK=64, GROUP=8, num_warps=8, num_stages=3, WS=True, PERSISTENT=False),
]


def tuned(launch, configs, rounds=7):
    """The fastest of the configurations that work, and what did not. They take turns, after two rounds that warm the GPU
    up: a cool one runs faster for some milliseconds, which would speak for whatever comes first."""
    failed, times = [], {}
    for at, config in enumerate(configs):
        try:
            launch(config)
            torch.cuda.synchronize()
            times[at] = []
        except Exception as error:
            failed.append(f"{config}: {str(error).splitlines()[0]}")
    for turn in range(-2, rounds):
        for at, found in times.items():
            seconds = once(lambda: launch(configs[at]))
            if turn >= 0:
                found.append(seconds)
    for at, found in times.items():
        say(note=f"{configs[at]}: {1e6 * statistics.median(found):.1f} us")
    best = min(times, key=lambda at: statistics.median(times[at]), default=None)
    return (configs[best] if times else None), failed


def bench_matmul():
    cases = [(torch.float16, 4096), (torch.bfloat16, 4096), (torch.float16, 8192), (torch.bfloat16, 8192)]
    if hasattr(torch, "float8_e4m3fn"):
        cases.append((torch.float8_e4m3fn, 8192))
    for dtype, n in cases:
        small = dtype.itemsize == 1
        a, b = ((torch.randn(n, n, device="cuda") * 0.5).to(torch.float16).to(dtype) for _ in range(2))
        if small:
            b = b.T.contiguous().T
        c = torch.empty(n, n, device="cuda", dtype=torch.float16 if small else dtype)

        def launch(module, config):
            grid = (triton_cdiv(n, config["BM"]) * triton_cdiv(n, config["BN"]),)
            if "WS" in config:
                launch_blocks(module, grid[0], dict(config), (a, b, c))
                return
            module.matmul_kernel[grid](
                a, b, c, n, n, n, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1), **config
            )

        calls = {}
        for name, module in (("shoal", OURS), ("triton", THEIRS)):
            if module:
                configs = CONFIGS if small else CONFIGS + BLOCK_CONFIGS
                config, failed = tuned(lambda config: launch(module, config), configs)
                say(bench="matmul", case=f"{dtype} {n}", note=f"{name}: {config}; failed: {failed}")
                if config:
                    calls[name] = lambda module=module, config=config: launch(module, config)
        if "shoal" not in calls:
            say(bench="matmul", case=f"{dtype} {n}", error="no configuration works")
            continue
        if not small:
            calls["torch"] = lambda: torch.matmul(a, b, out=c)
        exact = a.float() @ b.float()
        rows("matmul", f"{str(dtype).split('.')[1]} {n}", 2 * n**3, "GFLOP/s", calls, c, exact, 2e-2)


VIEWS = {}


def launch_blocks(module, tiles, config, tensors):
    (bm, bn, bk), n = (config[name] for name in ("BM", "BN", "BK")), tensors[0].shape[0]
    package = "shoal" if module is OURS else "triton"
    key = (package, bm, bn, bk, *(tensor.data_ptr() for tensor in tensors))
    if key not in VIEWS:
        # Host code makes them once, not for each launch.
        Descriptor = importlib.import_module(f"{package}.tools.tensor_descriptor").TensorDescriptor
        blocks = ([bm, bk], [bk, bn], [bm, bn])
        VIEWS[key] = [Descriptor.from_tensor(tensor, block) for tensor, block in zip(tensors, blocks)]
    views = VIEWS[key]
    out = getattr(module.tl, str(tensors[2].dtype).split(".")[1])
    programs = torch.cuda.get_device_properties(0).multi_processor_count if config.pop("PERSISTENT") else tiles
    module.matmul_blocks_kernel[(min(programs, tiles),)](*views, n, n, n, OUT=out, **config)


def triton_cdiv(a, b):
    return -(-a // b)


def bench_attention():
    for d in (128, 64):
        for causal in (False, True):
            z, h, n = 4, 32, 4096
            q, k, v = (torch.randn(z, h, n, d, device="cuda", dtype=torch.float16) for _ in range(3))
            out = torch.empty_like(q)
            configs = [
                dict(BM=bm, BN=bn, num_warps=w, num_stages=s)
                for bm, bn, w, s in ((128, 64, 4, 3), (128, 128, 8, 2), (128, 64, 8, 3), (64, 64, 4, 3))
            ]

            def launch(module, config):
                module.attention_kernel[(n // config["BM"], z * h)](
                    q, k, v, out, d**-0.5 * 1.44269504, n, n * d, D=d, CAUSAL=causal, **config
                )

            calls = {}
            for name, module in (("shoal", OURS), ("triton", THEIRS)):
                if module:
                    config, failed = tuned(lambda config: launch(module, config), configs)
                    say(bench="attention", case=f"d{d} causal={causal}", note=f"{name}: {config}; failed: {failed}")
                    if config:
                        calls[name] = lambda module=module, config=config: launch(module, config)
            if "shoal" not in calls:
                say(bench="attention", case=f"d{d} causal={causal}", error="no configuration works")
                continue
            sdpa = torch.nn.functional.scaled_dot_product_attention
            calls["torch"] = lambda: sdpa(q, k, v, is_causal=causal)
            flops = 4 * z * h * n * n * d * (0.5 if causal else 1)
            exact = sdpa(q.float(), k.float(), v.float(), is_causal=causal)
            rows("attention", f"fp16 d{d}{' causal' if causal else ''}", flops, "GFLOP/s", calls, out, exact, 1e-2)


def bench_compile():
    """From a launch of what is not compiled yet to its end: of a kernel's first configuration, and of two more of them."""
    x = torch.randn(8, 4096, device="cuda")
    half, small = x.to(torch.bfloat16), torch.randn(256, 256, device="cuda", dtype=torch.float16)
    heads = torch.randn(256, 128, device="cuda", dtype=torch.float16)
    blocks, attention = (1024, 2048, 4096), ((128, 64, 8, 3), (128, 128, 8, 2), (64, 64, 4, 3))

    def attend(m, bm, bn, warps, stages):
        m.attention_kernel[(1, 1)](
            heads, heads, heads, heads, 1.0, 256, 256 * 128,
            BM=bm, BN=bn, D=128, CAUSAL=False, num_warps=warps, num_stages=stages,
        )

    for case, launch in {
        "matmul": lambda m, at: launch_small(m, small, dict(BM=128, BN=128, BK=64, GROUP=8 + at, num_warps=4, num_stages=3)),
        "attention": lambda m, at: attend(m, *attention[at]),
        "vector add": lambda m, at: m.add_kernel[(1,)](x, x, x, 64, BLOCK=blocks[at]),
        "softmax": lambda m, at: m.softmax_kernel[(1,)](x, x, 4096, 1024, BLOCK=blocks[at]),
        "layer norm": lambda m, at: m.layer_norm_kernel[(1,)](half, half, half, half, 4096, 1024, 1e-6, BLOCK=blocks[at]),
        "rms norm": lambda m, at: m.rms_norm_kernel[(1,)](half, half, half, 4096, 1024, 1e-6, BLOCK=blocks[at]),
    }.items():
        times = {name: [timed(lambda: launch(m, at)) for at in range(3)] for name, m in PACKAGES.items()}
        compile_row(f"{case}, first", {name: t[0] for name, t in times.items()})
        compile_row(f"{case}, another", {name: statistics.mean(t[1:]) for name, t in times.items()})
    bench_sweep(small)


def launch_small(m, a, config):
    m.matmul_kernel[(1,)](a, a, a, 256, 256, 256, 256, 1, 256, 1, 256, 1, **config)


SWEEP = [
    dict(BM=bm, BN=bn, BK=bk, GROUP=4, num_warps=warps, num_stages=stages)
    for bm, bn, bk, warps, stages in (
        (128, 256, 64, 8, 3), (128, 256, 64, 8, 4), (128, 128, 64, 4, 4), (128, 128, 64, 8, 4), (128, 128, 32, 4, 4),
        (64, 128, 64, 4, 4), (64, 256, 64, 8, 3), (64, 256, 32, 4, 4), (64, 64, 64, 4, 4), (64, 64, 32, 4, 5),
        (128, 64, 64, 4, 4), (128, 64, 32, 4, 4), (256, 64, 32, 8, 3), (256, 128, 64, 8, 3), (32, 64, 64, 4, 4),
        (32, 128, 64, 4, 4),
    )
]


def bench_sweep(a):
    """All that an autotuner compiles: ours does so at once, Triton's one after another."""
    options = ("num_warps", "num_stages")
    configs = [
        shoal.Config({k: v for k, v in config.items() if k not in options}, **{k: config[k] for k in options})
        for config in SWEEP
    ]
    autotuned = shoal.autotune(configs, key=["M"])(OURS.matmul_kernel)
    arguments = (a, a, a, 256, 256, 256, 256, 1, 256, 1, 256, 1)
    times = {"shoal": timed(lambda: autotuned.warmup(*arguments, grid=(1,)))}
    if THEIRS:
        times["triton"] = timed(lambda: [launch_small(THEIRS, a, config) for config in SWEEP])
    compile_row(f"matmul, {len(SWEEP)} configurations of an autotuner", times)


def timed(fn):
    start = time.perf_counter()
    fn()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def compile_row(case, times):
    ours = times["shoal"]
    if "triton" in times:
        theirs = times["triton"]
        say(bench="compile", case=case, metric="ms", ours=1e3 * ours, peer="triton", peer_value=1e3 * theirs,
            ratio=theirs / ours)
    else:
        say(bench="compile", case=case, note=f"shoal {1e3 * ours:.1f} ms")


def bench_launch():
    x = torch.ones(64, device="cuda")
    numbers = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    for case, make in (
        ("4 arguments", lambda m: lambda: m.add_kernel[(1,)](x, x, x, 64, BLOCK=64)),
        ("19 arguments", lambda m: lambda: m.many_arguments[(1,)](x, x, x, x, x, x, x, x, *numbers)),
    ):
        times = per_launch({name: make(m) for name, m in PACKAGES.items()})
        ours = times["shoal"]
        spread = "; ".join(f"{name}: {1e6 * min(t):.2f} to {1e6 * max(t):.2f} us" for name, t in times.items())
        say(bench="launch", case=case, note=spread)
        if "triton" in times:
            theirs = times["triton"]
            ratio = statistics.median(t / o for t, o in zip(theirs, ours))
            say(bench="launch", case=case, metric="µs", ours=1e6 * statistics.median(ours), peer="triton",
                peer_value=1e6 * statistics.median(theirs), ratio=ratio)


def per_launch(calls, batches=101, batch=100):
    """Seconds of a launch in each of many batches. The packages take turns: the host's speed changes now and then."""
    times = {name: [] for name in calls}
    for at in range(-10, batches):
        for name, fn in calls.items():
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(batch):
                fn()
            if at >= 0:
                times[name].append((time.perf_counter() - start) / batch)
    return times


BENCHES = {
    "launch": bench_launch, "compile": bench_compile, "vector_add": bench_add, "softmax": bench_softmax,
    "norms": bench_norms, "matmul": bench_matmul, "attention": bench_attention,
}

if __name__ == "__main__":
    if not any(FILTER in name for name in BENCHES):
        sys.exit(f"no benchmark contains `{FILTER}`; there are {', '.join(BENCHES)}")
    say(machine=torch.cuda.get_device_name(0), torch=torch.__version__, triton=triton and triton.__version__,
        shoal=shoal.__version__)
    for name, bench in BENCHES.items():
        if FILTER in name:
            try:
                bench()
            except Exception as error:
                say(bench=name, case="", error=f"{type(error).__name__}: {error}")
