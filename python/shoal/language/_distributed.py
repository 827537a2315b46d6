"""Operations between ranks: who they are, where their memory is, and how programs wait for each other."""

from __future__ import annotations

from typing import Any

from shoal.language._host import operation
from shoal.language._values import Int, Text, Value, tensor


@operation
def rank(axis: Int = -1) -> tensor:
    """This rank's number in the world; with an axis, its position along that axis of the world's mesh."""


@operation
def num_ranks(axis: Int = -1) -> tensor:
    """The number of ranks of the world; with an axis, along that axis of its mesh."""


@operation
def symm_at(ptr: tensor, rank: Value) -> tensor:
    """The same place in another rank's symmetric heap. Takes one pointer; offsets are added to what it gives."""


@operation
def wait(barrierPtrs: tensor, numBarriers: Value, scope: Text, semantic: Text, waitValue: Value = 1) -> Any:
    """Blocks the program until each of the words from `barrierPtrs` on equals `waitValue`; gives a token.

    Words are integers of 32 or 64 bits. With `semantic="acquire"`, all later accesses come after the wait.
    """


@operation
def consume_token(value: Any, token: Any) -> Any:
    """The value, whose uses come after the wait that gave the token. Costs nothing."""


@operation
def notify(ptr: tensor, rank: Value, signal: Value = 1, sig_op: Text = "set", comm_scope: Text = "inter_node") -> None:
    """Sets a rank's 64-bit word, or adds to it, after all that the program did before.

    `comm_scope` says how far away the rank may be: "gpu" (this one), "intra_node" or "inter_node".
    """
