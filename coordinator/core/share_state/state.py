"""The state of a share partition: which of its records are done, and how often the others were delivered.

Counterpart in Kafka: `ShareGroupOffset`, and the maps of `ShareCoordinatorShard`.
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from coordinator.core.share_states import BY_STRATEGY, UNKNOWN_COUNT

NO_EPOCH: Final = -1
"""The epoch of who is not checked."""
TOPICS_REMEMBERED: Final = 1_000
NUMBER: Final = re.compile(r"[+-]?[0-9]{1,10}", re.ASCII)


class SharePartition(NamedTuple):
    """A partition of a topic as a share group sees it."""

    group_id: str
    topic_id: bytes
    partition: int

    @property
    def key(self) -> str:
        """As Kafka writes it (`SharePartitionKey.asCoordinatorKey`): it says where the state is stored."""
        return f"{self.group_id}:{_text_of(self.topic_id)}:{self.partition}"


@lru_cache(TOPICS_REMEMBERED)
def _text_of(topic_id: bytes) -> str:
    return urlsafe_b64encode(topic_id).decode().rstrip("=")


def parse_key(key: str) -> SharePartition:
    """The share partition of a key. A group id may have colons.

    Raises:
        ValueError: it is none.
    """
    group_id, topic_id, partition = key.rsplit(":", 2)
    if not group_id or not NUMBER.fullmatch(partition):
        raise ValueError(f"no group, or no number of a partition: {key!r}")
    decoded = urlsafe_b64decode(topic_id + "==")
    if len(decoded) != 16 or _text_of(decoded) != topic_id:
        raise ValueError(f"not the id of a topic: {topic_id!r}")
    return SharePartition(group_id, decoded, int(partition))


class ShareState(msgspec.Struct, frozen=True):
    """All that is known of the records of a share partition. It is a value: each change makes a new one."""

    of: SharePartition
    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int = BY_STRATEGY
    delivery_complete_count: int = UNKNOWN_COUNT
    batches: bytes = b""
    """Packed (`batches.pyx`)."""
    created_ms: int = 0
    """When its last snapshot was made that was more than a copy, by the wall clock."""
    written_ms: int = 0
    """When its last snapshot was stored."""
    updates: int = 0
    """How many updates were stored. A snapshot begins the count again if it was due by it, no other one does."""
    highest_state_epoch: int = 0
    highest_leader_epoch: int = 0
    """Who comes with less is fenced. That of the leader does not fall when the state is initialized again."""

    @property
    def is_cold(self) -> bool:
        """Whether its last snapshot is the copy of one, as nothing has come for a while."""
        return self.created_ms != self.written_ms


def with_snapshot(state: ShareState | None, snapshot: ShareState, updates_per_snapshot: int) -> ShareState:
    """The state after a snapshot, whose own `updates` and highest epochs count for nothing."""
    updates, state_epoch, leader_epoch = 0, snapshot.state_epoch, snapshot.leader_epoch
    if state is not None:
        updates = 0 if state.updates >= updates_per_snapshot else state.updates
        state_epoch = max(state.highest_state_epoch, state_epoch)
        leader_epoch = max(state.highest_leader_epoch, leader_epoch)
    return msgspec.structs.replace(
        snapshot, updates=updates, highest_state_epoch=state_epoch, highest_leader_epoch=leader_epoch
    )
