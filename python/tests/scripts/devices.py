"""What host code asks about the device."""

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import make_backend
from triton.runtime import driver
from triton.runtime.driver import driver as same_driver

assert driver is same_driver is triton.runtime.driver
target = driver.active.get_current_target()
assert isinstance(target, GPUTarget) and target.backend == "cpu" and target.arch
assert driver.active.get_current_device() == 0
stream = driver.active.get_current_stream(0)
properties = driver.active.utils.get_device_properties(0)
for name in ("max_shared_mem", "max_num_regs", "multiprocessor_count", "warpSize", "sm_clock_rate", "mem_clock_rate",
             "mem_bus_width", "max_threads_per_sm"):  # fmt: skip
    assert properties[name] > 0, name
interface = driver.active.get_device_interface()
start, end = interface.Event(enable_timing=True), interface.Event(enable_timing=True)
start.record()
end.record()
interface.synchronize()
assert start.elapsed_time(end) >= 0
cache = driver.active.get_empty_cache_for_benchmark()
driver.active.clear_cache(cache)
assert driver.active.get_benchmarker()(lambda: None, quantiles=[0.5, 0.2, 0.8], warmup=1, rep=1)
assert "cpu" in triton.backends.backends
assert make_backend(target).parse_options({"num_warps": 2}).num_warps == 2
driver.set_active(driver.default)
driver.reset_active()
driver.set_active_to_cpu()
assert driver.active.get_current_target() == target
print("ok")
