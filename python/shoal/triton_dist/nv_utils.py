"""`triton_dist.nv_utils`: questions to NVIDIA's machines, answered as in `utils`."""

from shoal.triton_dist.platform import (
    get_current_gpu_clock_rate_in_khz,
    get_device_name,
    get_intranode_max_speed_gbps,
    get_max_gpu_clock_rate_in_khz,
    get_numa_node,
    get_nvlink_max_speed_gbps,
    get_pcie_link_max_speed_gbps,
    has_fullmesh_nvlink,
)

__all__ = [
    "get_current_gpu_clock_rate_in_khz",
    "get_device_name",
    "get_intranode_max_speed_gbps",
    "get_max_gpu_clock_rate_in_khz",
    "get_numa_node",
    "get_nvlink_max_speed_gbps",
    "get_pcie_link_max_speed_gbps",
    "has_fullmesh_nvlink",
]
