"""Shared memory and copy engines by hand: `triton_dist.language.smem_ops`, `.tma` and `.extra.cuda.tma_language`.

Kernels that are written against one GPU's shared memory have no meaning as tiles, so these names can be imported, and
say so when a kernel that uses them is compiled. Types and constants are what they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from shoal.runtime.callable import ConstexprFunction, constexpr_function

SMEM_GENERIC_POINTER_ADDR_SPACE = 0
ELEM_BF16, ELEM_F32 = 10, 7
SWIZZLE_NONE, SWIZZLE_128B = 0, 3
INTERLEAVE_NONE = FILL_NONE = 0

_REFUSED = """
    smem_index smem_load smem_store smem_get_ptr get_smem_shared_address_u32 smem_dealloc
    create_tmap_2d tmap_update_address store_and_wait
    mbarrier_init mbarrier_expect_tx mbarrier_expect_transaction mbarrier_arrive mbarrier_arrive_expect_tx
    mbarrier_try_wait_parity mbarrier_wait_parity mbarrier_invalidate tma_load_2d tma_load_2d_pred tma_store_2d
    cp_async_bulk_global_to_shared cp_async_bulk_shared_to_global cp_async_bulk_commit_group cp_async_bulk_wait_group
    tensormap_replace_global_address tensormap_replace_global_dim tensormap_replace_global_stride
    tensormap_replace_rank tensormap_replace_box_dim tensormap_replace_element_stride tensormap_replace_elemtype
    tensormap_replace_interleave_layout tensormap_replace_swizzle_mode tensormap_replace_fill_mode
    tensormap_cp_fenceproxy fence_proxy_tensormap_acquire tensormap_smem_zero_first_warp fence_async_shared
    fence_proxy_async prefetch_tensormap prefetch_tensor_2d_l2 get_dynamic_smem_pointer cvta_global_to_generic_u64
    cvta_generic_to_shared warp_idx named_barrier_arrive named_barrier_sync elect_one_sync bar_warp_sync
""".split()
_CLASSES = "SharedMemoryDesc PipelineState TmaPipeline".split()


@dataclass(frozen=True)
class SharedMemDescType:
    """The type of a block in shared memory: its elements, its shape, and how its rows are swizzled."""

    element_ty: Any
    shape: tuple[int, ...]
    alloc_shape: tuple[int, ...]
    vec: int
    per_phase: int
    max_phase: int


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(
        f"`{name}` works on the shared memory of one GPU by hand, which Shoal's kernels do not have: use tiles and "
        "tensor descriptors (`tl.make_tensor_descriptor`), which shared memory and copy engines are used for where "
        "they are"
    )


@constexpr_function
def allocate_smem(element_ty: Any, shape: Any, vec: int = 1, per_phase: int = 1, max_phase: int = 1) -> Any:
    """A block in shared memory."""
    if not shape:
        raise ValueError("allocate_smem: the shape must be non-empty")
    if any(side <= 0 for side in shape):
        raise ValueError(f"allocate_smem: all sides must be positive, not {list(shape)}")
    _refuse("allocate_smem")


def _refused_function(name: str) -> ConstexprFunction:
    def refused(*args: Any, **named: Any) -> Any:
        _refuse(name)

    refused.__name__ = refused.__qualname__ = name
    return constexpr_function(refused)


def _refused_class(name: str) -> type:
    def refused(self: Any, *args: Any, **named: Any) -> None:
        _refuse(name)

    return type(name, (), {"__init__": refused, "__module__": __name__})


globals().update({name: _refused_function(name) for name in _REFUSED})
globals().update({name: _refused_class(name) for name in _CLASSES})
