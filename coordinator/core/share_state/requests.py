"""What is asked about the state of one share partition, and the outcome."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from _wire.errors import NONE, ErrorCode
from coordinator.core.share_state.state import SharePartition, ShareState
from coordinator.core.share_states import StateBatch


class Initialize(msgspec.Struct, frozen=True):
    """Begin the state, in place of an older one."""

    of: SharePartition
    state_epoch: int
    start_offset: int


class Write(msgspec.Struct, frozen=True):
    """Store what has changed: the batches alone, and the start offset unless it is -1."""

    of: SharePartition
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: Sequence[StateBatch]


class Read(msgspec.Struct, frozen=True):
    """Read the state, for the leader of that epoch."""

    of: SharePartition
    leader_epoch: int


class Named(msgspec.Struct, frozen=True):
    """Nothing beside the share partition is needed: to delete its state, or to read where it starts."""

    of: SharePartition


class Outcome(NamedTuple):
    """What became of a request. `state` is the one that was read, None if there is none or nothing was to be read."""

    error: ErrorCode = NONE
    message: str | None = None
    """Why, in Kafka's words; None: nothing went wrong."""
    state: ShareState | None = None


DONE = Outcome()


def refused(error: ErrorCode, message: str | None = None) -> Outcome:
    return Outcome(error, error.description if message is None else message)


def error_response(request: object, error: ErrorCode, api_version: int) -> Outcome:
    return refused(error)
