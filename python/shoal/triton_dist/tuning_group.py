"""The ranks that tune a function together: each step is taken by all of them, or by none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shoal.errors import AutotunerError
from shoal.world.teams import Team


class TuningGroup:
    """The ranks of a process group of torch, those of a team of Shoal's, or this rank alone."""

    def __init__(self, name: str, group: Any = None) -> None:
        # A rank alone is none of its world's ranks here.
        self.name, self._group, self.ranks = name, group, []
        if group is None:
            return
        if isinstance(group, Team):
            self.ranks = group.members
            return
        import torch.distributed

        if not isinstance(group, torch.distributed.ProcessGroup):
            raise TypeError(
                f"tuning of {name}: a process group of torch.distributed that has this rank is needed, or a team of "
                f"its world, not {group!r}"
            )
        self.ranks = torch.distributed.get_process_group_ranks(group)

    @property
    def key(self) -> Any:
        """What tells it from other groups."""
        return (self._group.name, *self.ranks) if isinstance(self._group, Team) else self._group

    @property
    def labels(self) -> list[str]:
        """What a line that a member tells begins with."""
        return [f"on rank {rank}: " for rank in self.ranks] or [""]

    def together(self, attempt: Callable[[], Any]) -> list[Any]:
        """What `attempt` gives on each rank. Where it raises on some, all raise: those what it was, the others who."""
        value: Any = None
        failure: Exception | None = None
        try:
            value = attempt()
        except Exception as error:
            failure = error
        outcomes = self._gathered((value, failure and f"{type(failure).__name__}: {failure}"))
        if failure is not None:
            raise failure
        for label, (_, why) in zip(self.labels, outcomes, strict=True):
            if why is not None:
                raise AutotunerError(f"tuning of {self.name} failed {label}{why}")
        return [value for value, _ in outcomes]

    def _gathered(self, value: Any) -> list[Any]:
        if self._group is None:
            return [value]
        if isinstance(self._group, Team):
            return self._group.all_gather(value)
        import torch.distributed

        of_ranks: list[Any] = [None] * len(self.ranks)
        torch.distributed.all_gather_object(of_ranks, value, group=self._group)
        return of_ranks
