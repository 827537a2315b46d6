"""What is recorded, in the form of Proton's files: JSON for the package `hatchet`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

TIME = "time (ns)"


class Node:
    """A scope or a kernel, under the scopes that it was in."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.children: dict[str, Node] = {}
        self.metrics: dict[str, float] = {}

    def child(self, name: str) -> Node:
        """The node of this name below."""
        return self.children.setdefault(name, Node(name))

    def add(self, metrics: Mapping[str, float]) -> None:
        """Adds to what was there before."""
        for name, value in metrics.items():
            self.metrics[name] = self.metrics.get(name, 0) + value

    def total(self, metric: str) -> float:
        """The metric of this node and all below."""
        return self.metrics.get(metric, 0) + sum(child.total(metric) for child in self.children.values())

    def count_kernels(self) -> float:
        """How often kernels were launched in it."""
        return self.total("count")

    def to_json(self) -> dict[str, Any]:
        """As hatchet reads it."""
        return {
            "children": [child.to_json() for child in self.children.values()],
            "frame": {"name": self.name, "type": "function"},
            "metrics": self.metrics,
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Node:
        """What `to_json` has written."""
        node = Node(data["frame"]["name"])
        node.metrics = dict(data["metrics"])
        for child in map(Node.from_json, data["children"]):
            node.children[child.name] = child
        return node


def write(root: Node, path: Path) -> None:
    """Writes a file for `viewer`."""
    path.write_text(json.dumps([root.to_json(), {}]), encoding="utf-8")


def read(path: str) -> Node:
    """Reads such a file."""
    return Node.from_json(json.loads(Path(path).read_text(encoding="utf-8"))[0])
