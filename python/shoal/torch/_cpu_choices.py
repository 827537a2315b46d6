"""What Inductor decides while it writes kernels, for a CPU instead of a GPU."""

from __future__ import annotations

from typing import Any

from shoal.torch._cpu_blocks import ROW

# Reductions shorter than this are not split among programs.
SPLIT_FROM = 1 << 18


def choices() -> Any:
    """Inductor's choices with ours in place of some; `None` if this torch has none that can be replaced."""
    try:
        from torch._inductor.choices import InductorChoices
        from torch._inductor.virtualized import V
    except ImportError:
        return None
    if not hasattr(V, "set_choices_handler"):
        return None

    class CpuChoices(InductorChoices):
        """A row that fits into the nearest cache is read once and kept there."""

        def should_use_persistent_reduction(self, features: Any, cooperative_reduction: bool) -> bool:
            usual = super().should_use_persistent_reduction(features, cooperative_reduction)
            if usual or cooperative_reduction:
                return usual
            along_memory = features.get_reduction_hint().name == "INNER"
            return along_memory and V.graph.sizevars.statically_known_leq(features.reduction_numel, ROW)

        def reduction_split_factor(self, device: Any, reduction_numel_hint: int, *args: Any, **kwargs: Any) -> int:
            if reduction_numel_hint < SPLIT_FROM:
                return 1
            return super().reduction_split_factor(device, reduction_numel_hint, *args, **kwargs)

        def uuid(self) -> str:
            return f"shoal-cpu-1-{ROW}-{SPLIT_FROM}"

    return CpuChoices()
