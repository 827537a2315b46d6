"""What scripts ask of NVIDIA's tools: the same with the tools of a CPU, or an error that says why not."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from .. import knobs
from ..runtime import cpu_facts


def nvsmi(attrs: Iterable[str]) -> list[int]:
    """Figures of the first NVIDIA GPU, as `nvidia-smi` gives them. Kernels here run on the CPU all the same.

    Where CUDA is played by the CPU, its clock is the CPU's.
    """
    query_names = list(attrs)
    query = ["nvidia-smi", "-i", "0", "--query-gpu=" + ",".join(query_names), "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, check=True, timeout=30).stdout
    except FileNotFoundError as error:
        played = sys.modules.get("shoal.torch.cuda_as_cpu")
        if played is not None and played.is_cuda_as_cpu() and all(name.startswith("clocks.") for name in query_names):
            return [int(cpu_facts.properties()["sm_clock_rate"] / 1e3)] * len(query_names)
        raise RuntimeError(
            "nvsmi asks nvidia-smi, which is not on this machine; Shoal runs kernels on the CPU"
        ) from error
    return [int(value) for value in answer.split(",")]


@contextmanager
def set_gpu_clock(ref_sm_clock: int = 1350, ref_mem_clock: int = 1215) -> Iterator[tuple[float, float]]:
    """Fails: there is no GPU whose clock would matter, and the CPU's belongs to the whole machine."""
    raise RuntimeError(
        "set_gpu_clock has no meaning here: Shoal runs kernels on the CPU. To keep the CPU's frequency steady while "
        "measuring, set its governor (as root: cpupower frequency-set -g performance)"
    )
    yield (0.0, 0.0)


def cublas() -> Any:
    """Fails: cuBLAS is a library for GPUs."""
    raise RuntimeError(
        "cublas has no meaning here: Shoal runs kernels on the CPU. Compare with numpy.matmul or torch.matmul"
    )


def cuda_memcheck(**target_kwargs: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorates a pytest test: the cases with these arguments run once more, with every memory access checked.

    That is a run of the test in a process of its own, in the interpreter. The test needs the fixture `request`.
    """

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def checked(*args: Any, **kwargs: Any) -> None:
            if knobs.runtime.interpret or not target_kwargs.items() <= kwargs.items():
                test(*args, **kwargs)
                return
            if "request" not in kwargs:
                raise TypeError(f"{test.__name__} is marked with cuda_memcheck: it needs the fixture `request`")
            case = f"{os.path.realpath(test.__globals__['__file__'])}::{kwargs['request'].node.name}"
            outcome = subprocess.run(
                [sys.executable, "-m", "pytest", "-q", case],
                env={**os.environ, "SHOAL_INTERPRET": "1", "TRITON_INTERPRET": "1"},
                capture_output=True,
                text=True,
            )
            assert outcome.returncode == 0, f"with every access checked, the test fails:\n{outcome.stdout}"

        return checked

    return decorate
