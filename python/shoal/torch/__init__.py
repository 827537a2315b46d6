"""Shoal inside torch: `import shoal.torch` registers a backend, `torch.compile(f, backend="shoal")`."""

from shoal.torch import inductor

__all__ = ["inductor"]

inductor.register()
