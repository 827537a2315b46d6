"""What Shoal does for torch.

Importing it registers a backend, `torch.compile(f, backend="shoal")`; the rest happens when it is asked for.

- `install_symmetric_memory()`: `torch.distributed._symmetric_memory` and `torch.ops.symm_mem` work on CPU tensors;
- `install_cuda_as_cpu()`: programs that say "cuda" run on the CPU.
"""

from shoal.torch import inductor
from shoal.torch.cuda_as_cpu import install_cuda_as_cpu, is_cuda_as_cpu
from shoal.torch.symmetric_memory import install_symmetric_memory, uninstall_symmetric_memory

__all__ = [
    "inductor",
    "install_cuda_as_cpu",
    "install_symmetric_memory",
    "is_cuda_as_cpu",
    "uninstall_symmetric_memory",
]

inductor.register()
