"""Stands in for `torch.distributed._symmetric_memory` on CPU tensors.

Ranks are processes of one host, under `torchrun`, `shoal launch`, or however `init_process_group` brought them
together; the first call that needs it joins them to a world. Tensors on other devices go to torch's own functions.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

from shoal import symm_mem
from shoal.symm_mem.handle import SymmetricMemory
from shoal.torch._registration import when_imported

_NVSHMEM = "_nvshmem_triton"

_originals: list[tuple[Any, str, Any]] = []
_streams: dict[int, Any] = {}


def install_symmetric_memory() -> None:
    """Makes torch's symmetric memory, and its operators, work on CPU tensors, until `uninstall_symmetric_memory`."""
    import torch._C._distributed_c10d as native
    import torch.distributed._symmetric_memory as module

    from shoal.torch import nvshmem_triton, operators, shmem_operators

    if _originals:
        return
    for name in ("get_signal_pad_size", "set_signal_pad_size", "set_backend", "get_symm_mem_workspace"):
        _replace(module, name, getattr(symm_mem, name))
    for name in ("rendezvous", "is_symm_mem_tensor"):
        _replace(module, name, _by_tensor(getattr(symm_mem, name), getattr(module, name, None)))
    _replace(module, "empty", _empty(module.empty))
    _replace(module, "get_backend", lambda device: symm_mem.get_backend(device))
    _replace(module, "_get_backend_stream", _backend_stream)
    _replace(module, "enable_symm_mem_for_group", lambda group_name: None)
    _replace(module, "is_symm_mem_enabled_for_group", _is_enabled)
    for name in ("get", "put_signal", "wait_signal"):
        _replace(module, name, _by_handle(getattr(symm_mem, name), getattr(module, name, None)))
    for owner in (module, native):
        _replace(owner, "_SymmetricMemory", SymmetricMemory)
    _replace(native, "_detect_dma_connectivity", _connectivity(native._detect_dma_connectivity))
    # Ranks of one host put and get without NVSHMEM; kernels find its functions in the stand-in.
    _replace(module, "is_nvshmem_available", lambda: True)
    for owner, name in ((module, _NVSHMEM), (sys.modules, f"{module.__name__}.{_NVSHMEM}")):
        _replace(owner, name, nvshmem_triton)
    operators.install()
    shmem_operators.install()
    when_imported("torch._inductor.codegen.wrapper", _compiled_buffers)


def uninstall_symmetric_memory() -> None:
    """Gives torch its own symmetric memory back. Tensors and handles that exist stay usable."""
    from shoal.torch import operators, shmem_operators

    if not _originals:
        return
    operators.uninstall()
    shmem_operators.uninstall()
    for owner, name, original in reversed(_originals):
        if isinstance(owner, dict):
            owner.pop(name) if original is None else owner.update({name: original})
        elif original is None:
            delattr(owner, name)
        else:
            setattr(owner, name, original)
    _originals.clear()


def _replace(owner: Any, name: str, by: Any) -> None:
    """Puts something in the place of an attribute, or of an entry of a dictionary."""
    if isinstance(owner, dict):
        _originals.append((owner, name, owner.get(name)))
        owner[name] = by
    else:
        _originals.append((owner, name, getattr(owner, name, None)))
        setattr(owner, name, by)


def _compiled_buffers(module: ModuleType) -> None:
    """Compiled programs allocate what operators want in symmetric memory, on devices with a number: the CPU's is 0."""
    import torch

    original = module.AllocateLine._codegen_comm_buffer

    def allocate(line: Any, code: Any) -> None:
        buffer, device = line.node, line.node.get_device()
        if device is not None and device.type == "cpu":
            line.node = _Numbered(buffer, torch.device("cpu", 0))
        try:
            original(line, code)
        finally:
            line.node = buffer

    module.AllocateLine._codegen_comm_buffer = allocate


class _Numbered:
    """A buffer of a compiled program, on a device with a number."""

    def __init__(self, buffer: Any, device: Any) -> None:
        self._buffer, self._device = buffer, device

    def get_device(self) -> Any:
        return self._device

    def __getattr__(self, name: str) -> Any:
        return getattr(self._buffer, name)


def _is_here(device: Any) -> bool:
    """Whether tensors on this device are ours to serve."""
    import torch

    from shoal.torch.cuda_as_cpu import is_cuda_as_cpu

    kind = torch.device(device).type
    return kind == "cpu" or (kind == "cuda" and is_cuda_as_cpu())


def _empty(original: Callable[..., Any]) -> Callable[..., Any]:
    def empty(*size: Any, dtype: Any = None, device: Any = None) -> Any:
        import torch

        device = device if device is not None else torch.get_default_device()
        if not _is_here(device):
            return original(*size, dtype=dtype, device=device)
        shape = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
        return symm_mem.empty(shape, dtype=dtype if dtype is not None else torch.get_default_dtype())

    return empty


def _connectivity(original: Callable[..., Any]) -> Callable[..., Any]:
    """Devices that the CPU plays reach each other directly, each by one link."""

    def detect(device_type: Any, connection_type: str) -> Any:
        import torch

        from shoal.torch.cuda_as_cpu import is_cuda_as_cpu

        if not is_cuda_as_cpu():
            return original(device_type, connection_type)
        devices = range(torch.cuda.device_count())
        matrix = [[int(peer != device) for peer in devices] for device in devices]
        return SimpleNamespace(device_type=device_type, connection_type=connection_type, matrix=matrix)

    return detect


def _is_enabled(group_name: str) -> bool:
    """Every group may use symmetric memory; torch's test mode says otherwise."""
    import torch.distributed._symmetric_memory as module
    from torch.distributed import distributed_c10d

    if module._is_test_mode:
        return module._mocked_group_names is None or group_name in module._mocked_group_names
    try:
        distributed_c10d._resolve_process_group(group_name)  # type: ignore[arg-type]
    except (RuntimeError, ValueError):
        return False
    return True


def _by_tensor(ours: Callable[..., Any], original: Callable[..., Any] | None) -> Callable[..., Any]:
    def choose(tensor: Any, *args: Any, **named: Any) -> Any:
        if original is not None and not _is_here(tensor.device):
            return original(tensor, *args, **named)
        return ours(tensor, *args, **named)

    return choose


def _by_handle(ours: Callable[..., Any], original: Callable[..., Any] | None) -> Callable[..., Any]:
    def choose(*args: Any, **named: Any) -> Any:
        if original is None or any(isinstance(arg, SymmetricMemory) for arg in (*args, *named.values())):
            return ours(*args, **named)
        return original(*args, **named)

    return choose


def _backend_stream(priority: int = 0) -> Any:
    """The queue for copies. Work on a CPU is over when its call returns, so it holds nothing."""
    from shoal.torch.cuda_as_cpu.queries import CudaStream

    return _streams.setdefault(priority, CudaStream())
