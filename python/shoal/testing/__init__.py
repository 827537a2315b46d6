"""Measuring kernels, comparing results, and reports of measurements.

Kernels run on the CPU, and a launch returns when its kernel has ended. So a call is measured with the clock on the
wall, and what scripts written for GPUs ask for has its plain meaning here, or says why it has none.
"""

from .checking import check
from .compare import assert_close
from .gpu_tools import cublas, cuda_memcheck, nvsmi, set_gpu_clock
from .processor import get_dram_gbps, get_max_simd_tflops, get_max_tensorcore_tflops
from .report import Benchmark, Mark, perf_report
from .timing import do_bench, do_bench_cudagraph, do_bench_cudagraph_proton, do_bench_proton

__all__ = [
    "Benchmark",
    "Mark",
    "assert_close",
    "check",
    "cublas",
    "cuda_memcheck",
    "do_bench",
    "do_bench_cudagraph",
    "do_bench_cudagraph_proton",
    "do_bench_proton",
    "get_dram_gbps",
    "get_max_simd_tflops",
    "get_max_tensorcore_tflops",
    "nvsmi",
    "perf_report",
    "set_gpu_clock",
]
