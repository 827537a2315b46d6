"""Triton's profiler for GPUs, which Shoal does not have."""

raise ImportError(
    "triton.profiler (Proton) profiles GPUs and is not part of Shoal. On a CPU use `perf record`, or measure with "
    "triton.testing.do_bench.",
    name="triton.profiler",
)
