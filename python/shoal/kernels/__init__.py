"""The library's kernels of several ranks: collectives, and products with the communication inside.

    import numpy as np, shoal
    from shoal import kernels

    def total(rank):
        return kernels.two_shot_all_reduce(np.full(1000, rank.rank, np.float32))

    shoal.World.threads(4).run(total)

All ranks call the same functions in the same order. Arrays are of NumPy or torch, dense, of `float32`, `float16` or
`bfloat16`. What other ranks read or write lies in symmetric memory: an array of `rank.symm_empty` is used where it is,
any other is copied by way of memory that is kept for this. Sums are made in fp32, in the order of the ranks.
"""

from shoal.kernels.collectives import (
    all_gather_2d,
    all_gather_pull,
    all_gather_push,
    all_gather_put,
    all_gather_put_ring,
    all_gather_ring,
    all_gather_with_progress,
    all_reduce_put,
    all_to_all,
    all_to_all_put,
    broadcast,
    broadcast_put,
    one_shot_all_reduce,
    one_shot_all_reduce_bias,
    reduce_scatter,
    reduce_scatter_put,
    ring_put,
    two_shot_all_reduce,
    two_shot_all_reduce_bias,
    two_shot_all_reduce_in_place,
)
from shoal.kernels.fused import (
    all_gather_matmul,
    all_gather_matmul_pull,
    gemm_one_shot_all_reduce,
    gemm_reduce_scatter,
    gemm_reduce_scatter_ce_persistent,
    one_shot_all_reduce_bias_rms_norm,
    two_shot_all_reduce_bias_rms_norm,
)

__all__ = [
    "all_gather_2d",
    "all_gather_matmul",
    "all_gather_matmul_pull",
    "all_gather_pull",
    "all_gather_push",
    "all_gather_put",
    "all_gather_put_ring",
    "all_gather_ring",
    "all_gather_with_progress",
    "all_reduce_put",
    "all_to_all",
    "all_to_all_put",
    "broadcast",
    "broadcast_put",
    "gemm_one_shot_all_reduce",
    "gemm_reduce_scatter",
    "gemm_reduce_scatter_ce_persistent",
    "one_shot_all_reduce",
    "one_shot_all_reduce_bias",
    "one_shot_all_reduce_bias_rms_norm",
    "reduce_scatter",
    "reduce_scatter_put",
    "ring_put",
    "two_shot_all_reduce",
    "two_shot_all_reduce_bias",
    "two_shot_all_reduce_bias_rms_norm",
    "two_shot_all_reduce_in_place",
]
