"""Triton's language for GPU layouts, which Shoal does not have."""

raise ImportError(
    "triton.experimental.gluon is a language for the inside of GPUs and is not part of Shoal. Kernels written with "
    "triton.language run on any device.",
    name="triton.experimental.gluon",
)
