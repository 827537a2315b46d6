"""6. The profiler.

A kernel records when it waits and when it works; the records of all ranks become one trace, which ui.perfetto.dev shows.
Here every rank waits for its left neighbour before it adds up its numbers: the trace shows a staircase.
"""

import numpy as np
import shoal
import shoal.language as sl
from shoal.tools.profiler import Profiler, alloc_profiler_buffer, export_to_perfetto_trace, parse_to_tracks

WAIT = sl.constexpr(0)
ADD = sl.constexpr(1)


@shoal.jit
def one_after_another(x, flag, out, profiler_buffer, n, BLOCK: sl.constexpr):
    profiler = Profiler.create(profiler_buffer, 0)
    if sl.rank() > 0:
        profiler = profiler.record(is_start=True, task_type=WAIT)
        sl.wait(flag, 1, "sys", "acquire", waitValue=1)
        profiler = profiler.record(is_start=False, task_type=WAIT)
    profiler = profiler.record(is_start=True, task_type=ADD)
    total = sl.zeros((BLOCK,), dtype=sl.float32)
    for start in range(0, n, BLOCK):
        at = start + sl.arange(0, BLOCK)
        total += sl.load(x + at, mask=at < n, other=0.0)
    sl.store(out, sl.sum(total, axis=0))
    profiler = profiler.record(is_start=False, task_type=ADD)
    if sl.rank() + 1 < sl.num_ranks():
        sl.notify(flag, sl.rank() + 1, comm_scope="intra_node")


def main(rank):
    n = 100_000
    x, out = np.ones(n, np.float32), np.zeros(1, np.float32)
    flag = rank.symm_zeros(1, np.int64)
    buffer = alloc_profiler_buffer(64)
    one_after_another[(1,)](x, flag, out, buffer, n, BLOCK=1024)
    assert out[0] == n
    tasks = parse_to_tracks(buffer)[0].tasks
    assert [task.task_type for task in tasks] == ([0, 1] if rank.rank > 0 else [1])

    # The ranks of a host have one clock, so their records fit together.
    buffers = [np.array(words, np.uint64) for words in rank.all_gather(buffer.tolist())]
    if rank.rank == 0:
        export_to_perfetto_trace(buffers, ["wait", "add"], "staircase.json")
        print(f"ok: staircase.json shows what {rank.num_ranks} ranks did")
    rank.barrier()


if __name__ == "__main__":
    world = shoal.World.from_env() if shoal.World.is_launched() else shoal.World.threads(4)
    world.run(main)
