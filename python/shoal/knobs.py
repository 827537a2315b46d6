"""Settings of the process, each with its environment variable, and hooks that host code can hang in.

    shoal.knobs.runtime.debug = True
    with shoal.knobs.autotuning.scope():
        shoal.knobs.autotuning.print = True

A knob that was not set reads its variable every time. Setting a knob sets its variable too, so that child processes see
it. Knobs of GPU compilers are here for code that sets them; on a CPU nothing reads them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from shoal._settings import (
    CompileTimes,
    Env,
    HookChain,
    NvidiaTool,
    base_knobs,
    env,
    env_base,
    env_bool,
    env_class,
    env_int,
    env_nvidia_tool,
    env_opt_bool,
    env_opt_str,
    env_str,
    getenv,
    getenv_bool,
    setenv,
    toenv,
)

propagate_env: bool = True
"""Whether setting a knob sets its environment variable."""


class build_knobs(base_knobs):
    """How a C compiler is called."""

    cc = env_opt_str("CC")
    cudacrt_path = env_opt_str("TRITON_CUDACRT_PATH")
    cudart_path = env_opt_str("TRITON_CUDART_PATH")
    impl: Callable[..., str] | None = None

    @property
    def backend_dirs(self) -> set[str]:
        """Directories that are set."""
        return {path for path in (self.cudacrt_path, self.cudart_path) if path is not None}


class redis_knobs(base_knobs):
    """Where a shared cache lies."""

    key_format = env_str("TRITON_REDIS_KEY_FORMAT", "triton:{key}:{filename}")
    host = env_str("TRITON_REDIS_HOST", "localhost")
    port = env_int("TRITON_REDIS_PORT", 6379)


cache: cache_knobs


class cache_knobs(base_knobs):
    """Where files are kept. The compiler's own cache is at `SHOAL_CACHE_DIR`, which it reads once."""

    for_triton = False
    """Whether the drop-in is installed: files are then where Triton's programs look for them."""

    home_dir = env_str("TRITON_HOME", lambda: os.path.expanduser("~/"))
    dump_dir = env_str("TRITON_DUMP_DIR", lambda: cache.get_triton_dir("dump"))
    override_dir = env_str("TRITON_OVERRIDE_DIR", lambda: cache.get_triton_dir("override"))
    dir = env_str("TRITON_CACHE_DIR", lambda: cache.get_triton_dir("cache"))
    manager_class = env_class("TRITON_CACHE_MANAGER", "CacheManager")
    remote_manager_class = env_class("TRITON_REMOTE_CACHE_BACKEND", "RemoteCacheBackend")

    @property
    def redis(self) -> redis_knobs:
        """Where a shared cache lies."""
        return redis

    def get_triton_dir(self, dirname: str) -> str:
        """A directory under `home_dir`, if that was chosen or the drop-in is installed; else beside our own cache."""
        own = getenv("SHOAL_CACHE_DIR")
        if "home_dir" in self.__dict__ or getenv("TRITON_HOME") or (own is None and self.for_triton):
            return os.path.join(self.home_dir, ".triton", dirname)
        if own is None:
            own = os.path.join(getenv("XDG_CACHE_HOME", os.path.join(os.path.expanduser("~"), ".cache")), "shoal")
        return os.path.join(own, dirname)


class compilation_knobs(base_knobs):
    """How kernels are compiled."""

    override = env_bool("TRITON_KERNEL_OVERRIDE")
    dump_ir = env_bool("TRITON_KERNEL_DUMP")
    dump_ir_extract_di_local_variables = env_bool("LLVM_EXTRACT_DI_LOCAL_VARIABLES")
    store_binary_only = env_bool("TRITON_STORE_BINARY_ONLY")
    always_compile = env_bool("TRITON_ALWAYS_COMPILE")
    use_ir_loc = env_opt_str("USE_IR_LOC")
    enable_asan = env_bool("TRITON_ENABLE_ASAN")
    disable_line_info = env_bool("TRITON_DISABLE_LINE_INFO")
    front_end_debugging = env_bool("TRITON_FRONT_END_DEBUGGING")
    allow_non_constexpr_globals = env_bool("TRITON_ALLOW_NON_CONSTEXPR_GLOBALS")
    instrumentation_mode = env_str("TRITON_INSTRUMENTATION_MODE", "")
    fpsan_homomorphic_casts = env_bool("TRITON_FPSAN_HOMOMORPHIC_CASTS")
    listener: Callable[..., None] | None = None
    """Called after each compilation with `src`, `metadata`, `metadata_group`, `times` and `cache_hit`."""


class autotuning_knobs(base_knobs):
    """How kernels are tuned."""

    cache = env_bool("TRITON_CACHE_AUTOTUNING")
    print = env_bool("TRITON_PRINT_AUTOTUNING")
    listener: Callable[..., None] | None = None
    """Called after tuning with `fn`, `key`, `best_config`, `configs_timings`, `duration` and `cache_hit`."""


class runtime_knobs(base_knobs):
    """How kernels are run, and who is told about it."""

    interpret = env_bool("TRITON_INTERPRET")
    override_arch = env_opt_str("TRITON_OVERRIDE_ARCH")

    launch_enter_hook: HookChain[Callable[..., None]]
    launch_exit_hook: HookChain[Callable[..., None]]
    kernel_load_start_hook: HookChain[Callable[..., None]]
    kernel_load_end_hook: HookChain[Callable[..., None]]
    kernel_unload_hook: HookChain[Callable[..., None]]
    jit_cache_hook: Callable[..., bool | None] | None = None
    """Called before a compilation; when it returns true, the kernel is not compiled."""
    jit_post_compile_hook: Callable[..., bool | None] | None = None
    """Called after a compilation."""
    add_stages_inspection_hook: Callable[..., Any] | None = None

    def __init__(self) -> None:
        # Launches look at this, so it is read once; `refresh_knobs` reads it again.
        self.debug: bool = getenv_bool("TRITON_DEBUG")
        self.launch_enter_hook = HookChain()
        self.launch_exit_hook = HookChain(reversed=True)
        self.kernel_load_start_hook = HookChain()
        self.kernel_load_end_hook = HookChain(reversed=True)
        self.kernel_unload_hook = HookChain()


class language_knobs(base_knobs):
    """What the language means where the kernel does not say."""

    fp32_default = env_opt_str("TRITON_F32_DEFAULT")
    default_fp_fusion = env_bool("TRITON_DEFAULT_FP_FUSION", True)
    force_disable_fp_fusion = env_bool("TRITON_FORCE_DISABLE_FP_FUSION")

    def fp_fusion_enabled(self, requested: bool | None) -> bool:
        """Whether products and sums may be fused."""
        return not self.force_disable_fp_fusion and (self.default_fp_fusion if requested is None else requested)


class nvidia_knobs(base_knobs):
    """Tools for NVIDIA GPUs."""

    cuobjdump = env_nvidia_tool("cuobjdump")
    nvdisasm = env_nvidia_tool("nvdisasm")
    ptxas = env_nvidia_tool("ptxas")
    ptxas_blackwell = env_nvidia_tool("ptxas-blackwell")
    dump_nvptx = env_bool("NVPTX_ENABLE_DUMP")
    disable_ptxas_opt = env_bool("DISABLE_PTXAS_OPT")
    ptxas_options = env_opt_str("PTXAS_OPTIONS")
    mock_ptx_version = env_opt_str("TRITON_MOCK_PTX_VERSION")
    dump_ptxas_log = env_bool("TRITON_DUMP_PTXAS_LOG")
    libdevice_path = env_opt_str("TRITON_LIBDEVICE_PATH")
    libcuda_path = env_opt_str("TRITON_LIBCUDA_PATH")


class amd_knobs(base_knobs):
    """Tools for AMD GPUs."""

    codegen_path = env_opt_str("TRITON_AMD_CODEGEN_PATH")
    use_buffer_ops = env_bool("AMDGCN_USE_BUFFER_OPS", True)
    use_buffer_atomics = env_bool("AMDGCN_USE_BUFFER_ATOMICS", True)
    buffer_ops_analyze_small_tensor_range = env_bool("AMDGCN_ANALYZE_SMALL_TENSOR_RANGE")
    dump_amdgcn = env_bool("AMDGCN_ENABLE_DUMP")
    libhip_path = env_opt_str("TRITON_LIBHIP_PATH")
    use_block_pingpong = env_opt_bool("TRITON_HIP_USE_BLOCK_PINGPONG")
    use_in_thread_transpose = env_opt_bool("TRITON_HIP_USE_IN_THREAD_TRANSPOSE")
    use_async_copy = env_opt_bool("TRITON_HIP_USE_ASYNC_COPY")
    use_coexec_scheduler = env_opt_bool("TRITON_HIP_USE_COEXEC_SCHEDULER")
    use_expert_scheduling = env_opt_bool("TRITON_HIP_USE_EXPERT_SCHEDULING")
    scalarize_packed_fops = env_bool("AMDGCN_SCALARIZE_PACKED_FOPS")
    dump_mir = env_opt_str("TRITON_DUMP_MIR")
    swap_mir = env_opt_str("TRITON_SWAP_MIR")
    swap_mir_enable_misched = env_bool("TRITON_SWAP_MIR_ENABLE_MISCHED")


class proton_knobs(base_knobs):
    """Triton's profiler: `disable` is heard, the rest is of libraries that are not part of Shoal."""

    disable = env_bool("TRITON_PROTON_DISABLE")
    cupti_lib_dir = env_opt_str("TRITON_CUPTI_LIB_PATH")
    cupti_lib_blackwell_dir = env_opt_str("TRITON_CUPTI_LIB_BLACKWELL_PATH")
    hsa_runtime_path = env_opt_str("TRITON_HSA_RUNTIME_PATH")
    hsa_runtime_library = env_opt_str("TRITON_HSA_RUNTIME_LIBRARY")
    rocprofiler_sdk_include_path = env_opt_str("TRITON_ROCPROFILER_SDK_INCLUDE_PATH")
    rocprofiler_sdk_lib_path = env_opt_str("TRITON_ROCPROFILER_SDK_LIB_PATH")
    rocprofiler_sdk_library = env_opt_str("TRITON_ROCPROFILER_SDK_LIBRARY")
    roctracer_lib_path = env_opt_str("TRITON_ROCTRACER_LIB_PATH")
    roctracer_library = env_opt_str("TRITON_ROCTRACER_LIBRARY")
    roctx_lib_path = env_opt_str("TRITON_ROCTX_LIB_PATH")
    roctx_library = env_opt_str("TRITON_ROCTX_LIBRARY")
    profile_buffer_size = env_int("TRITON_PROFILE_BUFFER_SIZE", 64 * 1024 * 1024)
    profile_metric_buffer_size = env_int("TRITON_PROFILE_METRIC_BUFFER_SIZE", 64 * 1024 * 1024)
    enable_nvtx = env_bool("TRITON_ENABLE_NVTX", True)
    enable_hw_trace = env_bool("TRITON_ENABLE_HW_TRACE")


build = build_knobs()
redis = redis_knobs()
cache = cache_knobs()
compilation = compilation_knobs()
autotuning = autotuning_knobs()
runtime = runtime_knobs()
language = language_knobs()
nvidia = nvidia_knobs()
amd = amd_knobs()
proton = proton_knobs()


def refresh_knobs() -> None:
    """Reads again what is read only once."""
    runtime.debug = getenv_bool("TRITON_DEBUG")


__all__ = [
    "CompileTimes",
    "Env",
    "HookChain",
    "NvidiaTool",
    "amd",
    "autotuning",
    "base_knobs",
    "build",
    "cache",
    "compilation",
    "env",
    "env_base",
    "env_bool",
    "env_class",
    "env_int",
    "env_nvidia_tool",
    "env_opt_bool",
    "env_opt_str",
    "env_str",
    "getenv",
    "getenv_bool",
    "language",
    "nvidia",
    "propagate_env",
    "proton",
    "redis",
    "refresh_knobs",
    "runtime",
    "setenv",
    "toenv",
]
