"""NVIDIA GPUs, by the names that Triton's programs import."""
