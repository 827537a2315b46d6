"""The environment, and printing."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from typing import Any

from shoal.world.current import find_rank

_TRUE = ("on", "1", "true")
_FALSE = ("off", "0", "false")


def get_bool_env(env: str, default_value: Any) -> Any:
    """What a variable says, if it is set and says `on`, `off`, `1`, `0`, `true` or `false`."""
    said = os.environ.get(env)
    if said is None:
        return default_value
    if said.lower() not in _TRUE + _FALSE:
        print(f"env {env} is not bool, use default value {default_value}")
        return default_value
    return said.lower() in _TRUE


def get_int_env(env: str, default_value: Any) -> Any:
    """What a variable says, if it is set to an integer."""
    said = os.environ.get(env)
    if said is None:
        return default_value
    try:
        return int(said)
    except ValueError:
        print(f"env {env} is not int, use default value {default_value}")
        return default_value


def dist_print(
    *args: Any,
    allowed_ranks: Sequence[int] | str = (0,),
    prefix: bool = False,
    need_sync: bool = False,
    **named: Any,
) -> None:
    """Prints on some ranks, or on `"all"`, one after the other if `need_sync`."""
    acting = find_rank()
    rank = acting.rank if acting is not None else int(os.environ.get("RANK", 0))
    size = acting.num_ranks if acting is not None else int(os.environ.get("WORLD_SIZE", 1))
    chosen = range(size) if allowed_ranks == "all" else allowed_ranks
    for allowed in chosen:
        if need_sync:
            _wait_for_all(acting)
        if rank == allowed:
            # In one write, which launchers do not take apart.
            line = io.StringIO()
            line.write(f"[rank:{rank}]" if prefix else "")
            print(*args, **{**named, "file": line, "flush": False})
            print(line.getvalue(), end="", file=named.get("file"), flush=named.get("flush", False))


def _wait_for_all(acting: Any) -> None:
    if acting is not None:
        acting.barrier()
    else:
        import torch.distributed as dist

        dist.barrier()


def warn_if_cuda_launch_blocking() -> None:
    """Has no meaning on a CPU, where every launch is over when it returns."""
