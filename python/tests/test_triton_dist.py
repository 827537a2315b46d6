"""`triton_dist` through the drop-in: programs written for it run on CPU ranks."""

import sys

import pytest
from distributed import needs_oshrun, oshrun, run, shoal_launch, torchrun

pytestmark = pytest.mark.torch

PROGRAM = """
import ctypes
import os
import torch
import triton
import triton.language as tl
import triton_dist
import triton_dist.language as dl
from triton_dist.language.distributed_ops import notify
from triton_dist.language.simt_ops import make_vector
from triton_dist.profiler_utils import perf_func
from triton_dist.test.utils import assert_allclose
from triton_dist.utils import (
    NVSHMEM_SIGNAL_DTYPE, NVSHMEMLazyAllocator, dist_print, finalize_distributed, generate_data, get_bool_env,
    get_int_env, group_profile, initialize_distributed, is_cuda, is_nvshmem_multimem_supported, is_shmem_initialized,
    nvshmem_barrier_all_on_stream, nvshmem_create_tensor, nvshmem_create_tensors, nvshmem_free_tensor_sync, rand_tensor,
)

assert notify is dl.notify and make_vector is dl.make_vector
assert not is_shmem_initialized()
group = initialize_distributed()
assert is_shmem_initialized() and not is_cuda() and is_nvshmem_multimem_supported()
rank, ranks = group.rank(), group.size()


@triton_dist.jit
def all_gather(shard, out, signals, n, BLOCK: tl.constexpr):
    peer = tl.program_id(0)
    me = dl.rank()
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(dl.symm_at(out, peer) + me * n + at, tl.load(shard + at, mask=at < n), mask=at < n)
    dl.notify(signals + me, peer, signal=1, sig_op="set", comm_scope="intra_node")
    token = dl.wait(signals + peer, 1, "sys", "acquire")
    out = dl.consume_token(out, token)


shard = rand_tensor((100,), torch.bfloat16)
outs = nvshmem_create_tensors((ranks, 100), torch.bfloat16, rank, ranks)
signals = nvshmem_create_tensor((ranks,), NVSHMEM_SIGNAL_DTYPE)
assert len(outs) == ranks and not signals.any()


def gather():
    signals.zero_()
    nvshmem_barrier_all_on_stream(None)
    all_gather[(ranks,)](shard, outs[rank], signals, 100, BLOCK=64)
    nvshmem_barrier_all_on_stream()
    return outs[rank]


outs[rank].fill_(float("nan"))
out, milliseconds = perf_func(gather, 3, 1)
expected = torch.empty_like(out)
torch.distributed.all_gather_into_tensor(expected.view(-1), shard, group=group)
assert_allclose(out, expected)
for peer in outs:
    assert_allclose(peer, expected)
try:
    assert_allclose(torch.tensor([float("nan")]), torch.tensor([float("nan")]))
except AssertionError:
    pass
else:
    raise RuntimeError("NaN is never close")

a, none = next(generate_data([((4, lambda: 5), torch.float16, (0.1, 0)), None]))
assert a.shape == (4, 5) and a.abs().max() <= 0.1 and none is None
assert rand_tensor((1000,), torch.int8).min() < -100
os.environ["A_FLAG"], os.environ["A_NUMBER"] = "On", "12"
assert get_bool_env("A_FLAG", False) and get_int_env("A_NUMBER", 3) == 12 and get_int_env("NOBODY", 3) == 3
allocator = NVSHMEMLazyAllocator(lazy=True)
lazy = allocator.create_tensor("a", [4, 2], torch.float32, fill_value=3)
assert allocator.get_total_size() == 32 and not lazy.is_materialized
allocator.sync()
assert torch.equal(torch.ones_like(lazy.tensor) * 3, lazy.tensor) and lazy.sum() == 24
allocator.free_tensor(lazy)
with group_profile("gather", group=group):
    gather()
assert rank != 0 or os.path.exists("prof/gather_merged.json.gz")
nvshmem_free_tensor_sync(signals)
used = nvshmem_create_tensor((64,), torch.int32).fill_(7)
nvshmem_free_tensor_sync(used)
flag = nvshmem_create_tensor((1,), torch.int32)
assert flag.data_ptr() == used.data_ptr() and not any((ctypes.c_int32 * 64).from_address(flag.data_ptr()))
dist_print(f"rank {rank} is done", allowed_ranks="all", need_sync=True, prefix=True)
finalize_distributed()
"""


@pytest.mark.parametrize(
    ("start", "n"), [(torchrun, 2), (shoal_launch, 3), pytest.param(oshrun, 2, marks=needs_oshrun)]
)
def test_a_program_runs(start, n, tmp_path):
    options = ["-m", "shoal.triton"]
    output = run(start(n), PROGRAM, tmp_path, *options)
    assert all(f"[rank:{rank}]rank {rank} is done" in output for rank in range(n)), output


def test_a_program_runs_alone(tmp_path):
    run([sys.executable, "-m", "shoal.triton"], PROGRAM, tmp_path)


NO_TENSORS = """
import pytest
import torch
from triton_dist.utils import finalize_distributed, initialize_distributed, nvshmem_create_tensor

initialize_distributed()
for shape, dtype, error, why in (
    ((-2,), torch.int32, ValueError, "no negative sizes"),
    ((2.5,), torch.int32, TypeError, "a shape is a whole number or several, not \\(2.5,\\)"),
    ((2,), "int32", TypeError, "one of torch, such as torch.float32, not 'int32'"),
):
    with pytest.raises(error, match=why):
        nvshmem_create_tensor(shape, dtype)
finalize_distributed()
"""


AGAIN = """
import torch, torch.distributed as dist
from triton_dist.utils import finalize_distributed, initialize_distributed

for _ in range(4):
    group = initialize_distributed()
    ranks = torch.ones(1)
    dist.all_reduce(ranks, group=group)
    assert ranks.item() == group.size()
    finalize_distributed()
"""


def test_ranks_may_begin_again(tmp_path):
    run(shoal_launch(3), AGAIN, tmp_path, "-m", "shoal.triton")


def test_tensors_that_cannot_be_are_told(tmp_path):
    run(shoal_launch(2), NO_TENSORS, tmp_path, "-m", "shoal.triton")


MISSING = """
import triton_dist
try:
    import triton_dist.mega_triton_kernel
except ModuleNotFoundError as error:
    assert "Shoal's drop-in has none" in str(error)
else:
    raise AssertionError
"""


def test_what_is_missing_says_so(tmp_path):
    run([sys.executable, "-m", "shoal.triton"], MISSING, tmp_path)


BY_HAND = """
import os
import warnings
import pytest
import torch
import triton
import triton.language as tl
import triton_dist
from triton_dist.jit import _parse_cga_cluster_size
from triton_dist.language.extra.cuda.tma_language import mbarrier_init, tma_load_2d
from triton_dist.language.smem_ops import SharedMemDescType, allocate_smem, smem_load, smem_store
from triton_dist.language.tma import ELEM_BF16, TmaPipeline
from triton_dist.tma_utils import create_tmap_scratch
from triton_dist.utils import get_nvshmem_home


@triton_dist.jit
def kernel(x, SHAPE: tl.constexpr):
    block = allocate_smem(tl.int32, SHAPE)
    smem_store(block, 5, [0])
    tl.store(x, smem_load(block, [0]))


for shape, why in (((4,), "works on the shared memory of one GPU by hand"), ((), "non-empty"), ((0,), "positive")):
    with pytest.raises(triton.CompilationError, match=why):
        kernel[(1,)](torch.zeros(1), shape)
types = [SharedMemDescType(element, (4, 8), (4, 8), 1, 1, 1) for element in (tl.int32, tl.int32, tl.bfloat16)]
assert types[0] == types[1] != types[2] and len(set(types)) == 2 and "SharedMemDescType" in repr(types[0])
with pytest.raises(NotImplementedError, match="TmaPipeline"):
    TmaPipeline()
assert create_tmap_scratch(2, 3).numel() == 768
with pytest.raises(ValueError, match="num_descs_per_cta"):
    create_tmap_scratch(1, 0)
for said, means in (("2", (2, 1, 1)), ("2, 4", (2, 4, 1)), ("4,2,2", (4, 2, 2)), ("", None)):
    os.environ["TRITON_DIST_CGA_CLUSTER_SIZE"] = said
    assert _parse_cga_cluster_size() == means
for said, why in (("x", "form"), ("1,1,1,1", "form"), ("2,3", "not a power of 2"), ("4,8", "exceeds maximum of 16")):
    os.environ["TRITON_DIST_CGA_CLUSTER_SIZE"] = said
    with pytest.warns(UserWarning, match=why):
        assert _parse_cga_cluster_size() is None
os.environ["NVSHMEM_HOME"] = "/somewhere"
assert str(get_nvshmem_home()) == "/somewhere"
"""


def test_shared_memory_by_hand_is_refused_where_it_is_used(tmp_path):
    run([sys.executable, "-m", "shoal.triton"], BY_HAND, tmp_path)


BESIDE = """
from triton_dist.profiler_utils import perf_func, report
from triton_dist.nv_utils import get_intranode_max_speed_gbps, get_numa_node, has_fullmesh_nvlink
from triton_dist.test.utils import LAYERS, assert_allclose
from triton_dist.tune import DEPENDENCIES
from triton_dist.utils import (
    LazyAllocator, NVSHMEMLazyAllocator, get_shmem_hash, get_shmem_version, get_underlying_tensor,
)
import torch
import triton_dist.test.utils

assert report() == "all is well" and perf_func(lambda: 5, 1, 0)[0] == 5
for turns, name in (((0, 0), "iters"), ((1, -1), "warmup_iters")):
    try:
        perf_func(lambda: 5, *turns)
    except ValueError as error:
        assert str(error).startswith(f"`{name}` is "), error
    else:
        raise AssertionError(name)
assert LAYERS == {"small": 4} and get_intranode_max_speed_gbps() > 0 and has_fullmesh_nvlink() and get_numa_node(0) == 0
assert DEPENDENCIES == (get_shmem_version(), get_shmem_hash())
assert_allclose(torch.ones(3), torch.ones(3))
allocator = LazyAllocator(lambda shape, dtype: torch.zeros(shape, dtype=dtype), lazy=True)
tensor = allocator.create_tensor("one", [4], torch.int32)
assert get_underlying_tensor(tensor) is None and NVSHMEMLazyAllocator(lazy=True).get_total_nvshmem_size() == 0
allocator.sync()
assert get_underlying_tensor(tensor).shape == (4,) and get_underlying_tensor(None) is None
try:
    triton_dist.test.utils.nobody
except AttributeError as error:
    assert "'triton_dist.test.utils' has no attribute 'nobody'" in str(error)
else:
    raise AssertionError
"""


def test_modules_beside_those_of_the_drop_in_are_found(tmp_path):
    package = tmp_path / "triton_dist"
    (package / "test").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "test" / "__init__.py").touch()
    (package / "test" / "utils.py").write_text('LAYERS = {"small": 4}\nassert_allclose = None\n')
    (package / "profiler_utils.py").write_text("def report():\n    return 'all is well'\n")
    (package / "tune.py").write_text(
        "from triton_dist.utils import get_nvshmem_hash, get_nvshmem_version\n"
        "DEPENDENCIES = (get_nvshmem_version(), get_nvshmem_hash())\n"
    )
    run([sys.executable, "-m", "shoal.triton"], BESIDE, tmp_path)


# Time that passes only when a script says so.
CLOCK = """
class Clock:
    now = 0.0

    def perf_counter(self):
        return self.now

"""

TUNED = (
    CLOCK
    + """
import torch
import triton_dist.tune
import triton
import triton.language as tl
import triton_dist
from triton_dist.tune import autotune, to_hashable
from triton_dist.utils import finalize_distributed, initialize_distributed

group = initialize_distributed()
rank, ranks = group.rank(), group.size()
calls = []


clock = triton_dist.tune.time = Clock()


@triton_dist.jit
def scale(x, out, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * factor, mask=at < n)


@autotune(
    config_space=[{"config": triton.Config({"BLOCK": block})} for block in (100, 4096, 64, 128)],
    key_fn=lambda x, factor, **named: (to_hashable(x), [factor]),
    prune_fn=lambda config, x, *args, **named: config["config"].kwargs["BLOCK"] <= x.numel(),
)
def scaled(x, factor, config, slow=0):
    calls.append(config.kwargs["BLOCK"])
    # The others alone would take 64: only what is fastest for all is good for all.
    clock.now += {64: 0.05 if rank == slow else 0.001}.get(config.kwargs["BLOCK"], 0.02)
    out = torch.empty_like(x)
    scale[(triton.cdiv(x.numel(), config.kwargs["BLOCK"]),)](x, out, x.numel(), factor, **config.all_kwargs())
    return out


x = torch.arange(1000.0)
assert torch.equal(scaled(x, 2.0, autotune_pg=group, autotune_verbose=rank == 0), 2 * x)
# 4096 elements are too many, blocks of 100 cannot be compiled, and 64 is slow on one rank.
assert calls == [100] + [64] * 4 + [128] * 5, calls
calls.clear()
assert torch.equal(scaled(x, 2.0, slow=1, autotune_pg=group), 2 * x) and calls == [128]
calls.clear()
assert torch.equal(scaled(x, 2.0), 2 * x) and calls[-1] == (128 if rank == 0 else 64), "each for itself"
calls.clear()
assert torch.equal(scaled(x[:64], 2.0, autotune=False), 2 * x[:64]) and calls == [64]
calls.clear()
assert torch.equal(scaled(x, 3.0, config=triton.Config({"BLOCK": 64})), 3 * x) and calls == [64]
assert to_hashable(x) == ((1000,), (1,), "torch.float32") and to_hashable({"a": [1, {}]}) == (("a", (1, ())),)
try:
    scaled(x[:5], 2.0)
except Exception as error:
    assert "none of the 4 configurations of scaled can be used" in str(error), error
else:
    raise AssertionError("a configuration that was pruned ran")
try:
    autotune(config_space=[], key_fn=None)
except ValueError as error:
    assert "no configuration to choose from" in str(error)
else:
    raise AssertionError("nothing was chosen from")
finalize_distributed()
print(f"done {rank}", flush=True)
"""
)


@pytest.mark.parametrize("n", [1, 2])
def test_ranks_choose_a_configuration_together(n, tmp_path):
    output = run(shoal_launch(n), TUNED, tmp_path, "-m", "shoal.triton")
    assert all(f"done {rank}" in output for rank in range(n)) and "cannot run" in output


FAILING = """
import pytest
import triton
from triton_dist.tune import autotune, to_hashable
from triton_dist.utils import finalize_distributed, initialize_distributed

group = initialize_distributed()
rank = group.rank()
ran = []


def work(x, block):
    ran.append(block)
    if rank == 1 and block == x:
        raise ValueError("cannot do it")
    return block


def fails_there(*args):
    if rank == 1:
        raise KeyError("not here")
    return True


def tuned(function=work, key=lambda x: x, prune=None, blocks=(1, 2, 3)):
    return autotune([{"block": block} for block in blocks], key, prune)(function)


def refuses(call, there, elsewhere):
    with pytest.raises(Exception) as raised:
        call(2, autotune_pg=group)
    assert (there if rank == 1 else elsewhere) in str(raised.value), raised.value


refuses(tuned(), "cannot do it", "tuning of work failed on rank 1: ValueError: cannot do it")
assert set(ran) == {1, 2}, "none goes on alone"
refuses(tuned(key=fails_there), "not here", "failed on rank 1: KeyError: 'not here'")
asked = []


def fails_once(x):
    asked.append(x)
    return asked[1:] or fails_there()


refuses(tuned(key=fails_once), "not here", "failed on rank 1: KeyError: 'not here'")
assert asked == [2], "a key is asked for once"
refuses(tuned(prune=fails_there), "not here", "failed on rank 1: KeyError: 'not here'")
none = "none of the 3 configurations of work can be used"
refuses(tuned(prune=lambda config, x: rank != 1), none, f"failed on rank 1: AutotunerError: Autotuner error: {none}")
left_out = "each of the 2 configurations of work is left out by some rank"
refuses(tuned(prune=lambda config, x: config["block"] == rank, blocks=(0, 1)), left_out, left_out)
lengths = "need as many configurations each: 1 on rank 0, 2 on rank 1"
refuses(tuned(blocks=range(1 + rank)), lengths, lengths)
assert tuned(prune=lambda config, x: config["block"] != 2 - rank)(0, autotune_pg=group) == 3, "what all can use"


def cannot_compile(x, block):
    raise triton.runtime.errors.OutOfResources(2, 1, "memory")


with pytest.raises(Exception, match="none of the configurations of cannot_compile can be used\\n  out of"):
    tuned(cannot_compile)(1)

mixed = {1: {2}, "a": 3}
assert to_hashable(mixed) == to_hashable(dict(reversed(mixed.items()))) and hash(to_hashable(mixed))
with pytest.raises(TypeError, match="bytearray.*, but what `key_fn` gives is looked up by its value"):
    tuned(key=lambda x: bytearray())(1)
with pytest.raises(TypeError, match="a process group of torch.distributed"):
    tuned()(1, autotune_pg="tp")
for space, why in (
    ([triton.Config({"block": 1})], "dicts of arguments, not a Config"),
    ([{"block": 1}, {2: 1}], "names of arguments"),
    ([1], "not 1"),
    ([{"block": 1}, {"blok": 2}], "has no parameter 'blok'"),
):
    with pytest.raises(TypeError, match=why):
        autotune(space, lambda x: x)(work)
finalize_distributed()
"""


def test_what_fails_on_one_rank_that_tunes_is_raised_by_all(tmp_path):
    run(shoal_launch(2), FAILING, tmp_path, "-m", "shoal.triton")


IN_CONTEXT = (
    CLOCK
    + """
import pytest
import torch
import triton
import triton.language as tl
import triton_dist
import triton_dist.autotuner
import triton_dist.language as dl
from triton_dist.autotuner import contextual_autotune
from triton_dist.utils import (
    NVSHMEM_SIGNAL_DTYPE, finalize_distributed, initialize_distributed, nvshmem_barrier_all_on_stream,
    nvshmem_create_tensor,
)


@contextual_autotune(is_dist=True)
def too_early():
    raise AssertionError("there are no ranks to tune it with")


with pytest.raises(Exception, match="tuning of too_early: .*call torch.distributed.init_process_group first"):
    too_early()
group = initialize_distributed()
rank, ranks = group.rank(), group.size()
launched = []


clock = triton_dist.autotuner.time = Clock()


def launches(arguments):
    launched.append(arguments["BLOCK"])
    # The others alone would take 64: only what is fastest for all is good for all.
    clock.now += {64: 0.05 if rank == 0 else 0.001}.get(arguments["BLOCK"], 0.02)


def blocks(*sizes):
    return [triton.Config({"BLOCK": size}, pre_hook=launches) for size in sizes]


@triton.autotune(blocks(100, 64, 128), key=["n"])
@triton_dist.jit
def push(shard, out, signals, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK != 100)
    peer = tl.program_id(0)
    me = dl.rank()
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(dl.symm_at(out, peer) + me * n + at, tl.load(shard + at, mask=at < n), mask=at < n)
    dl.notify(signals + me, peer, signal=1, sig_op="set", comm_scope="intra_node")


@triton.autotune(blocks(32), key=["n"])
@triton_dist.jit
def pull(out, total, signals, n, BLOCK: tl.constexpr):
    # Signals are for one launch: this kernel could not be measured by itself.
    peer = tl.program_id(0)
    out = dl.consume_token(out, dl.wait(signals + peer, 1, "sys", "acquire"))
    tl.store(signals + peer, 0)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.atomic_add(total + at, tl.load(out + peer * n + at, mask=at < n), mask=at < n)


signals = nvshmem_create_tensor((ranks,), NVSHMEM_SIGNAL_DTYPE)


def sum_of_shards(shard, out):
    total = torch.zeros_like(shard)
    push[(ranks,)](shard, out, signals, shard.numel())
    pull[(ranks,)](out, total, signals, shard.numel())
    nvshmem_barrier_all_on_stream()
    return total


tuned = contextual_autotune(is_dist=True, n_repeat=2, n_warmup=1)(sum_of_shards)
for n, calls in ((100, 7), (100, 1), (50, 7)):
    launched.clear()
    shard = torch.arange(n) + 1000.0 * rank
    out = nvshmem_create_tensor((ranks, n), torch.float32)
    expected = ranks * torch.arange(n) + 500.0 * ranks * (ranks - 1)
    assert torch.equal(tuned(shard, out), expected)
    tried = [block for block in launched if block != 32]
    # Blocks of 100 cannot be compiled, and 64 is slow on one rank.
    assert tried == ([100] + [64] * 3 + [128] * 4 if calls == 7 else [128]), tried
    assert launched.count(32) == calls, launched
assert tuned.__name__ == "sum_of_shards"


@contextual_autotune(is_dist=True)
def fails_there():
    if rank == ranks - 1:
        raise ValueError("cannot do it")


with pytest.raises(Exception) as raised:
    fails_there()
told = "cannot do it" if rank == ranks - 1 else "tuning of fails_there failed on rank 1: ValueError: cannot do it"
assert told in str(raised.value)
with pytest.raises(ValueError, match="n_repeat must be at least 1"):
    contextual_autotune(n_repeat=0)
finalize_distributed()
"""
)


@pytest.mark.parametrize("n", [1, 2])
def test_kernels_that_need_each_other_are_tuned_by_calls_of_the_whole(n, tmp_path):
    run(shoal_launch(n), IN_CONTEXT, tmp_path, "-m", "shoal.triton")


IN_STEP = (
    CLOCK
    + """
import pytest
import torch
import torch.distributed
import triton
import triton.language as tl
import triton_dist
import triton_dist.autotuner
from triton.runtime.errors import OutOfResources
from triton_dist.autotuner import contextual_autotune
from triton_dist.utils import finalize_distributed, initialize_distributed

group = initialize_distributed()
rank, ranks = group.rank(), group.size()


clock = triton_dist.autotuner.time = Clock()
calls = []


def launches(arguments):
    block = arguments["BLOCK"]
    calls[-1].append(block)
    # Each rank alone would take another one; the last rank cannot use 64.
    clock.now += {16: 3, 32: 1 + rank, 128: 4 - rank}.get(block, 9)
    if block == 64 and rank == 1:
        raise OutOfResources(2, 1, "memory")


def tuned_kernel(*blocks, **options):
    configs = [triton.Config({"BLOCK": block}, pre_hook=launches) for block in blocks]

    @triton.autotune(configs, key=["n"], **options)
    @triton_dist.jit
    def add_to(x, out, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.atomic_add(out + at, tl.load(x + at, mask=at < n), mask=at < n)

    return lambda x, out: add_to[lambda given: (triton.cdiv(x.numel(), given["BLOCK"]),)](x, out, x.numel())


def in_step(function):
    return contextual_autotune(is_dist=True, n_repeat=1, n_warmup=1)(function)


few, many = tuned_kernel(16, 32), tuned_kernel(64, 128, 256, 512)


@in_step
def both(x):
    calls.append([])
    out = torch.zeros_like(x)
    few(x, out)
    few(x, out)
    many(x, out)
    return out


x = torch.arange(40.0)
assert torch.equal(both(x), 3 * x)
of_ranks = [None] * ranks
torch.distributed.all_gather_object(of_ranks, calls)
# In the first call rank 1 cannot do as others; from then on all do the same.
rest = [[block] * 2 + [other] for block, other in ((16, 128), (32, 128), (32, 256), (16, 256), (16, 512), (16, 512))]
if ranks == 1:
    rest[:5] = [[16, 16, 64], [32, 32, 128], [32, 32, 128], [16, 16, 256], [16, 16, 256]]
    rest[5:] = [[16, 16, 512]] * 2
first = [[16, 16, 64], [16, 16, 64, 128]][:ranks]
last = [32, 32, 128]
assert of_ranks == [[of_rank, *rest, last] for of_rank in first], of_ranks

# What kernels add to is cleared for each launch, and for the one that counts; so it is where only others are tried.
adds, more = tuned_kernel(16, 32, reset_to_zero=["out"]), tuned_kernel(16, 32, 128)
alone = tuned_kernel(256, restore_value=["out"])


@in_step
def sums(x, out, shift, also):
    calls.append([])
    more(x, also)
    adds(x, out)
    alone(x, shift)


for n, tried in ((40, 6), (50, 6), (50, 0)):
    calls.clear()
    x, out, shift = torch.arange(float(n)), torch.zeros(n), torch.ones(n)
    sums(x, out, shift, torch.zeros(n))
    assert len(calls) == tried + 1, calls
    assert torch.equal(out, x) and torch.equal(shift, x + 1), (out, shift)

is_first = True
sometimes, always = tuned_kernel(16, 32), tuned_kernel(16, 32)


@in_step
def warms_up(x, out):
    global is_first
    calls.append([])
    if is_first:
        sometimes(x, out)
    is_first = False
    always(x, out)


calls.clear()
with pytest.raises(Exception, match="tuning of warms_up: its calls no longer launch add_to, so that not all"):
    warms_up(x, torch.zeros(50))
assert len(calls) == 5, calls
finalize_distributed()
"""
)


@pytest.mark.parametrize("n", [1, 2])
def test_ranks_try_the_same_configuration_in_each_call(n, tmp_path):
    run(shoal_launch(n), IN_STEP, tmp_path, "-m", "shoal.triton")
