"""`flex_attention` in graphs: written out as torch defines it.

Inductor has a kernel of it for GPUs, which asks the GPU for its size, and one in C++ for CPUs. Here the scores are
computed, changed, masked and normalised by ordinary operations; they take memory for every pair of a query and a key.
Torch itself gives no gradients of it on a CPU.
"""

from __future__ import annotations

from typing import Any


def write_out_attention(graph: Any) -> None:
    """Replaces `flex_attention` in a graph of Dynamo's, and in the graphs that it calls."""
    import torch
    from torch._higher_order_ops.flex_attention import flex_attention, sdpa_dense

    for part in graph.modules():
        if not isinstance(part, torch.fx.GraphModule):
            continue
        found = part.graph.find_nodes(op="call_function", target=flex_attention)
        for node in found:
            node.target = sdpa_dense
        if found:
            part.recompile()
