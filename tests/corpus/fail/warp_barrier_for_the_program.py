"""Lanes of different warps exchange over memory, and only the lanes of each warp meet."""
# expect: race
# ranks: 1

import shoal
import shoal.language as tl
from triton_dist.language.extra.language_extra import __syncthreads, __syncwarp, ld, st, tid


@shoal.jit
def swap(data, out, n):
    lane = tid(0)
    if lane < n:
        st(data + lane, lane, scope="", semantic="weak")
    __syncwarp()
    if lane < n:
        st(out + lane, ld(data + (n - 1 - lane), scope="", semantic="weak"), scope="", semantic="weak")


@shoal.harness
def reversed_by_lanes(world):
    data = world.empty(64, "int32")
    out = world.empty(64, "int32")
    swap[(1,)](data, out, 64)
    world.output(out)

# says: put a barrier of the lanes between them: `__syncthreads()`
