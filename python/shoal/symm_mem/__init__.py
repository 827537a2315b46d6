"""Symmetric memory with the interface of `torch.distributed._symmetric_memory`, on CPU tensors and NumPy arrays.

    import shoal
    from shoal import symm_mem

    def sum_of_ranks(rank):
        x = symm_mem.empty(16, dtype="float32")
        handle = symm_mem.rendezvous(x)
        x[:] = rank.rank
        handle.barrier()
        total = sum(handle.get_buffer(peer, x.shape, x.dtype) for peer in range(handle.world_size))
        handle.barrier()
        return total

    shoal.World.threads(4).run(sum_of_ranks)

As there, `empty` is a rank's own affair, and `rendezvous` brings the ranks of a group together; they may pass arrays
that lie at different places. `group` is a `shoal.Team`, a process group of torch or its name, or `None` for all ranks.
"""

from shoal.symm_mem.allocation import get_signal_pad_size, set_signal_pad_size
from shoal.symm_mem.handle import SymmetricMemory
from shoal.symm_mem.module import (
    empty,
    get,
    get_backend,
    get_symm_mem_workspace,
    is_nvshmem_available,
    is_symm_mem_tensor,
    put_signal,
    rendezvous,
    set_backend,
    wait_signal,
)

__all__ = [
    "SymmetricMemory",
    "empty",
    "get",
    "get_backend",
    "get_signal_pad_size",
    "get_symm_mem_workspace",
    "is_nvshmem_available",
    "is_symm_mem_tensor",
    "put_signal",
    "rendezvous",
    "set_backend",
    "set_signal_pad_size",
    "wait_signal",
]
