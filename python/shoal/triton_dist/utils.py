"""`triton_dist.utils` on the CPU: starting, symmetric tensors, barriers, questions to the machine, test data.

What only a GPU has is answered as for one that lacks it, or refused with a reason; nothing here pretends to be NVSHMEM.
"""

from shoal.triton_dist.environment import dist_print, get_bool_env, get_int_env, warn_if_cuda_launch_blocking
from shoal.triton_dist.lazy_allocator import LazyAllocator, LazyTensor, LazyTensorSpec, NVSHMEMLazyAllocator
from shoal.triton_dist.platform import (
    cuda_occupancy_max_activate_blocks_per_multiprocessor,
    get_cpu_info_linux,
    get_current_gpu_clock_rate_in_khz,
    get_device_max_shared_memory_size,
    get_device_property,
    get_group_numa_world_size,
    get_max_gpu_clock_rate_in_khz,
    get_numa_node,
    get_numa_node_count_in_group,
    get_shmem_backend,
    has_fullmesh_nvlink,
    has_nvshmemi_bc_built,
    has_tma,
    is_ascend,
    is_cuda,
    is_hip,
    is_maca,
    is_mori_shmem,
    is_nvshmem_multimem_supported,
    is_rocshmem,
    launch_cooperative_grid_options,
    requires,
    requires_p2p_native_atomic,
    sleep_async,
    support_launch_cooperative_grid,
    supports_p2p_native_atomic,
    torch_stream_max_priority,
    triton_dist_key,
    wait_until_max_gpu_clock_or_warning,
)
from shoal.triton_dist.profiler_utils import (
    get_torch_prof_ctx,
    group_profile,
    perf_func,
    perf_func_with_l2_reset,
)
from shoal.triton_dist.test.utils import assert_allclose
from shoal.triton_dist.test_data import (
    generate_data,
    get_dtype_size,
    init_seed,
    is_fp8_dtype,
    rand_tensor,
    with_torch_deterministic,
)
from shoal.triton_dist.world import (
    NVSHMEM_SIGNAL_DTYPE,
    barrier_async,
    finalize_distributed,
    get_triton_dist_local_world_size,
    get_triton_dist_world,
    init_mori_by_torch_process_group,
    init_nvshmem_by_torch_process_group,
    init_rocshmem_by_torch_process_group,
    initialize_distributed,
    is_shmem_initialized,
    nvshmem_barrier_all_on_stream,
    nvshmem_create_tensor,
    nvshmem_create_tensors,
    nvshmem_free_tensor_sync,
    rocshmem_barrier_all_on_stream,
)

__all__ = [name for name in globals() if not name.startswith("_") and name != "shoal"]
