"""Checks of the leader epoch that a client believes to be current (KIP-320, `CurrentLeaderEpoch` in requests)."""

from typing import Final

from _wire.errors import ErrorCode

NO_EPOCH: Final = -1
"""The client does not know the epoch, so nothing is checked."""


def epoch_error(claimed: int, current: int) -> ErrorCode:
    """The error for a request of a client that believes `claimed` to be the epoch of a partition; NONE if it may go on.

    Counterpart in Kafka: `Partition.checkCurrentLeaderEpoch`. The client is behind (FENCED_LEADER_EPOCH), or knows of
    an election that this node does not know of yet (UNKNOWN_LEADER_EPOCH).
    """
    if claimed in (current, NO_EPOCH):
        return ErrorCode.NONE
    return ErrorCode.UNKNOWN_LEADER_EPOCH if claimed > current else ErrorCode.FENCED_LEADER_EPOCH
