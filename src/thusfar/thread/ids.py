"""Ids: what a message is called that nobody named, so that its id alone tells where it is stored.

A made id is `msg_` and 32 hexadecimal digits: the number of the node, then a number that this
process gives once. No index has to hold it.
"""

from __future__ import annotations

import itertools
import os
from typing import Final

from thusfar.storage.rows import LARGEST_NODE

_PREFIX: Final = "msg_"
_LENGTH: Final = 36


class _Serials:
    """Numbers that no other process is likely to give; a node can be stored twice, never so named.

    The number of a node is free again when its branch was deleted.
    """

    def __init__(self) -> None:
        self.begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.begin)

    def begin(self) -> None:
        """Begin anew at a place of this process alone."""
        first = int.from_bytes(os.urandom(8), "big") >> 1  # so that it never needs more digits
        self.next = itertools.count(first).__next__


_serials = _Serials()


def made_id(node: int) -> str:
    """Make the id of a message that got none, for the node where it will be stored."""
    return _PREFIX + (node << 64 | _serials.next()).to_bytes(16, "big").hex()


def node_in(message_id: str) -> int:
    """Tell the node at which a message of this id was stored if the id was made here, else 0."""
    if len(message_id) != _LENGTH or not message_id.startswith(_PREFIX):
        return 0
    try:
        node = int(message_id[4:20], 16)
    except ValueError:
        return 0
    return node if 0 < node <= LARGEST_NODE else 0
