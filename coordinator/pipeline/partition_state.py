"""What a batch has to know of the batches before, per partition of the topic.

A group's events are in one partition, so partitions are folded independently of each other: by the driver, or by any
executor. A fold does not change the state that it starts from. It returns what has changed, which is taken over when
the rows of the batch are in the tables. So a fold that runs twice, or runs again elsewhere, makes the same rows.
"""

from typing import Final

import msgspec

from coordinator.audit.schema import AnyCoordinatorEvent
from coordinator.observe.group_so_far import GroupSoFar
from coordinator.pipeline.generations import Row
from coordinator.pipeline.memberships import Members
from coordinator.pipeline.watch import LastRows

STATE_VERSION: Final = 4
"""What the state means. It grows when a fold could not go on with the state of the version before."""

COORDINATOR_EVENTS_KEPT: Final = 20
"""How many events about the coordinator itself are remembered of a partition."""


class GroupState(msgspec.Struct):
    """Of one group."""

    seq: int = 0
    offset: int = -1
    """Of its last event in the topic."""
    missing: list[int] = []
    open: Row | None = None
    """The row of the generation in progress, as of the end of a batch."""
    members: Members = msgspec.field(default_factory=Members)
    stored: GroupSoFar | None = None
    """The group as its records in `__consumer_offsets` describe it, if those are what is read."""
    inferred: Row = {}
    """Columns of the row of the latest generation that only the inferred events tell."""
    memory: bytes = b""
    """Of its history; empty if there is none."""
    told: LastRows = {}
    """Its findings."""


class ReadRange(msgspec.Struct):
    """The last run of offsets of a partition that was read without a hole."""

    first_offset: int = 0
    next_offset: int = 0

    def note(self, offset: int) -> None:
        """A record was read. What lies between it and the one before was deleted from the topic, by its retention."""
        if offset > self.next_offset:
            self.first_offset = offset
        self.next_offset = max(self.next_offset, offset + 1)


class PartitionState(msgspec.Struct, array_like=True):
    """Of one partition of the topic, or what a batch has changed of it."""

    groups: dict[str, bytes] = {}
    """Group → its `GroupState`, encoded: a batch decodes those that it tells of, and no others."""
    read: ReadRange = msgspec.field(default_factory=ReadRange)
    """What of it was read."""
    about: list[AnyCoordinatorEvent] | None = None
    """The newest events about the coordinator itself in it; None in changes: as before."""

    def group(self, group_id: str) -> GroupState | None:
        """The state of a group, a copy of its own."""
        encoded = self.groups.get(group_id)
        return None if encoded is None else _decode_group(encoded)

    def update(self, changes: "PartitionState") -> None:
        """Become the state after a batch."""
        self.groups |= changes.groups
        self.read = changes.read
        if changes.about is not None:
            self.about = changes.about


class _OpenOnly(msgspec.Struct):
    """Of a `GroupState`, the rest of which is passed over."""

    open: Row | None = None


encode_group: Final = msgspec.msgpack.Encoder().encode
_decode_group: Final = msgspec.msgpack.Decoder(GroupState).decode
_decode_open: Final = msgspec.msgpack.Decoder(_OpenOnly).decode
encode_state: Final = msgspec.msgpack.Encoder().encode
decode_state: Final = msgspec.msgpack.Decoder(PartitionState).decode


def open_row(encoded: bytes) -> Row | None:
    """The row of the generation in progress of an encoded `GroupState`."""
    return _decode_open(encoded).open
