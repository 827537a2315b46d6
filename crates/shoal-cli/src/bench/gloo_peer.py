"""A collective of torch's gloo backend, timed: COLLECTIVE ELEMENTS. Rank 0 prints the seconds of one call."""

import sys
import time

import torch
import torch.distributed as dist

collective, count = sys.argv[1], int(sys.argv[2])
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
x = (torch.arange(count) % 101).float() * 0.37 - 11.0 + rank
out = torch.empty(count * ranks)
CALLS = {
    "all_reduce": lambda: dist.all_reduce(x),
    "all_gather": lambda: dist.all_gather_into_tensor(out, x),
    "broadcast": lambda: dist.broadcast(x, ranks // 2),
}
if collective not in CALLS:
    sys.exit(2)
call = CALLS[collective]


def batch(calls):
    dist.barrier()
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls


batch(1)
calls = torch.tensor([max(1, min(10_000, int(0.03 / batch(4))))])
dist.broadcast(calls, 0)
best = min(batch(int(calls)) for _ in range(5))
if rank == 0:
    print(f"{best:.9g}")
dist.destroy_process_group()
