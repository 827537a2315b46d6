"""Shows the file of a session as a tree, with figures worked out of it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .tree import TIME, Node, read

__all__ = ["parse", "print_tree", "read"]

_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_SCALES = {"": 1.0, "g": 1e9, "t": 1e12}


def parse(metrics: Sequence[str], filename: str) -> tuple[Node, list[str]]:
    """The tree of a file, and the metrics asked for: `time/ms`, `avg_time/us`, `tflop16/s`, `gbyte/s`, `count`."""
    tree = read(filename)
    for metric in metrics:
        figure(tree, metric)
    return tree, list(metrics)


def print_tree(tree: Node, metrics: Sequence[str]) -> None:
    """Prints every node below its scope, with its metrics."""
    print("  ".join(metrics))

    def show(node: Node, indent: str) -> None:
        shown = (figure(node, metric) for metric in metrics)
        print(indent + "  ".join(["-" if one is None else f"{one:.3f}" for one in shown] + [node.name]))
        for child in node.children.values():
            show(child, indent + "  ")

    show(tree, "")


def figure(node: Node, metric: str) -> float | None:
    """A figure of a node and what is below; None where what it is made of was not recorded."""
    if metric == "count":
        return node.count_kernels()
    seconds = node.total(TIME) * 1e-9
    if asked := re.fullmatch(r"(avg_)?time/(s|ms|us|ns)", metric):
        launches = node.count_kernels() if asked[1] else 1
        return seconds / _SECONDS[asked[2]] / launches if launches else None
    if asked := re.fullmatch(r"([gt]?)(byte|flop(?:8|16|32|64)?)/s", metric):
        counted = {"byte": "bytes"}.get(asked[2], asked[2].replace("flop", "flops"))
        total = node.total(counted)
        return total / seconds / _SCALES[asked[1]] if total and seconds else None
    raise ValueError(f"no metric {metric!r}: there are time/ms, avg_time/ms, tflop16/s, gbyte/s, count")
