"""Tools of `triton_dist`: the profiler of kernels."""
