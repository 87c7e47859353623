"""The records of `__consumer_offsets`, decoded and reduced to what the tables need.

What the driver gets of a batch of records: each record of a group itself as one of the structs below, and the committed
offsets, which are nearly all of the records, only counted (`stored_batches.py`).

Source of the formats: `group-coordinator/src/main/resources/common/message` of Apache Kafka 4.3.
"""

from hashlib import blake2b
from typing import Any, Final, TypeVar

import msgspec

from _wire.embedded import PREFIX_BYTES, decode_versioned, prefix_of
from _wire.errors import MalformedMessage
from _wire.messages.consumer_group_current_member_assignment_record import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
)
from _wire.messages.consumer_group_member_metadata_record import (
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
)
from _wire.messages.consumer_group_metadata_record import ConsumerGroupMetadataKey, ConsumerGroupMetadataValue
from _wire.messages.consumer_group_partition_metadata_record import (
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
)
from _wire.messages.consumer_group_regular_expression_record import (
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
)
from _wire.messages.consumer_group_target_assignment_member_record import (
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
)
from _wire.messages.consumer_group_target_assignment_metadata_record import (
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)
from _wire.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from _wire.messages.group_metadata_record import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from _wire.structs import Message
from coordinator.audit.schema import PARTITIONS_NAMED_MAX, TopicPartitions
from coordinator.core.consumer_protocol import subscription_topics

CONSUMER_PROTOCOL: Final = "consumer"
DIGEST_BYTES: Final = 8

M = TypeVar("M", bound=Message)


class ClassicMember(msgspec.Struct, array_like=True):
    """`topics` is None if the subscription is not one of the consumer protocol. `digest` is that of its bytes.

    `partitions` is empty, and `unnamed_partitions` their number, if the group has more than PARTITIONS_NAMED_MAX.
    """

    member_id: str
    client_id: str
    client_host: str
    group_instance_id: str | None
    topics: list[str] | None
    digest: bytes
    partitions: TopicPartitions
    unnamed_partitions: int = 0
    session_timeout_ms: int = 0
    rebalance_timeout_ms: int = 0


class ClassicGroup(msgspec.Struct, array_like=True, tag="classic"):
    """A classic group, each time that a generation became stable or empty. No `members` and generation -1: deleted."""

    group_id: str
    generation_id: int = -1
    protocol_type: str = ""
    protocol_name: str | None = None
    leader: str | None = None
    state_since_ms: int = -1
    members: list[ClassicMember] = []

    @property
    def is_deleted(self) -> bool:
        return self.generation_id < 0


CONSUMER_TYPE: Final = "consumer"


class GroupEpoch(msgspec.Struct, array_like=True, tag="epoch"):
    """A consumer group (KIP-848) has a new epoch. None: the group was deleted."""

    group_id: str
    epoch: int | None
    metadata_hash: int = 0
    group_type: str = CONSUMER_TYPE


class GroupTopics(msgspec.Struct, array_like=True, tag="topics"):
    """Topic id (hex) → name, as Kafka before 4.1 stored it."""

    group_id: str
    names: dict[str, str]


class ConsumerMember(msgspec.Struct, array_like=True, tag="member"):
    """A member of a consumer group. `topics` None: it was removed. `digest` is that of all that it subscribes to."""

    group_id: str
    member_id: str
    topics: list[str] | None = None
    client_id: str = ""
    client_host: str = ""
    group_instance_id: str | None = None
    server_assignor: str | None = None
    digest: bytes = b""
    group_type: str = CONSUMER_TYPE


class TargetEpoch(msgspec.Struct, array_like=True, tag="target"):
    """The target assignment was made for an epoch."""

    group_id: str
    epoch: int
    group_type: str = CONSUMER_TYPE


class MatchedTopics(msgspec.Struct, array_like=True, tag="matched"):
    """What a regular expression of a subscription matches changed."""

    group_id: str


class CurrentAssignment(msgspec.Struct, array_like=True, tag="current"):
    """What a member holds. `is_settled` is false while it gives partitions back or waits for some.

    `partitions` is topic id (hex) → partitions; of a streams group, subtopology → numbers of its active tasks.
    """

    group_id: str
    member_id: str
    epoch: int
    is_settled: bool
    partitions: dict[str, list[int]]
    unnamed_partitions: int = 0
    group_type: str = CONSUMER_TYPE


class TopologyTopics(msgspec.Struct, array_like=True, tag="topology"):
    """What the tasks of a streams group read: subtopology → topics; empty if they are too many."""

    group_id: str
    reads: dict[str, list[str]]
    group_type: str = "streams"


class Commits(msgspec.Struct, array_like=True, tag="commits"):
    """The offsets that a group committed in a minute, as far as they are in one batch of Arrow."""

    group_id: str
    window_ms: int
    commits: int
    partitions: list[tuple[str, int]]
    first_offset: int
    last_offset: int


class Skipped(msgspec.Struct, array_like=True, tag="skipped"):
    """Records of a type that is not known here."""

    record_type: int
    records: int
    first_offset: int
    last_offset: int


class Rejected(msgspec.Struct, array_like=True, tag="rejected"):
    why: str
    value: bytes | None


GroupRecord = (
    ClassicGroup
    | GroupEpoch
    | GroupTopics
    | ConsumerMember
    | TargetEpoch
    | MatchedTopics
    | CurrentAssignment
    | TopologyTopics
)
Decoded = GroupRecord | Commits | Skipped | Rejected

encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(Decoded).decode

MALFORMED: Final = (MalformedMessage, ValueError, OverflowError)
_STABLE: Final = 0
"""`MemberState.STABLE` of Kafka's consumer groups."""


def group_record(record_type: int, key: bytes, value: bytes | None) -> GroupRecord | None:
    """Decode a record of a group itself; None if the tables do not need it.

    Raises:
        KeyError: the type is not known here.
        MalformedMessage, ValueError, OverflowError: the bytes are damaged.
    """
    found: GroupRecord | None = _READERS[record_type](key, value)
    return found


def _classic(key: bytes, value: bytes | None) -> ClassicGroup:
    group_id = decode_versioned(GroupMetadataKey, key).group
    if value is None:
        return ClassicGroup(group_id)
    stored = decode_versioned(GroupMetadataValue, value)
    if stored.generation < 0:
        raise ValueError(f"generation {stored.generation}")
    is_consumer = stored.protocol_type == CONSUMER_PROTOCOL
    members = [_classic_member(member, is_consumer) for member in stored.members]
    if sum(_count(member.partitions) for member in members) > PARTITIONS_NAMED_MAX:
        for member in members:
            member.unnamed_partitions, member.partitions = _count(member.partitions), {}
    return ClassicGroup(
        group_id,
        stored.generation,
        stored.protocol_type,
        stored.protocol,
        stored.leader,
        stored.current_state_timestamp,
        members,
    )


def _classic_member(stored: MemberMetadata, is_consumer: bool) -> ClassicMember:
    topics, partitions = None, {}
    if is_consumer:
        topics, partitions = _topics(stored.subscription), _assigned(stored.assignment)
    return ClassicMember(
        stored.member_id,
        stored.client_id,
        stored.client_host,
        stored.group_instance_id,
        topics,
        digest(stored.subscription),
        partitions,
        session_timeout_ms=stored.session_timeout,
        rebalance_timeout_ms=stored.rebalance_timeout,
    )


def _topics(subscription: bytes) -> list[str] | None:
    """The bytes are the client's, whatever they are: what cannot be read does not damage the record."""
    try:
        return sorted(set(subscription_topics(subscription)))
    except MALFORMED:
        return None


def _assigned(assignment: bytes) -> TopicPartitions:
    if not assignment:
        return {}
    try:
        stored = _protocol(ConsumerProtocolAssignment, assignment)
    except MALFORMED:
        return {}
    found: dict[str, set[int]] = {}
    for assigned_partition in stored.assigned_partitions:
        found.setdefault(assigned_partition.topic, set()).update(assigned_partition.partitions)
    return {topic: sorted(found[topic]) for topic in sorted(found)}


def _protocol(kind: type[M], data: bytes) -> M:
    """Clients may be newer: a later version begins as the newest known one, and bytes that follow are ignored."""
    version = prefix_of(data)
    if version < 0:
        raise ValueError(f"version {version}")
    return kind.decode(data, min(version, kind.MAX_VERSION), PREFIX_BYTES, False)


def _count(partitions: dict[str, list[int]]) -> int:
    return sum(map(len, partitions.values()))


def digest(data: bytes) -> bytes:
    """What tells two subscriptions from each other."""
    return blake2b(data, digest_size=DIGEST_BYTES).digest()


def _epoch(key: bytes, value: bytes | None) -> GroupEpoch:
    group_id = decode_versioned(ConsumerGroupMetadataKey, key).group_id
    if value is None:
        return GroupEpoch(group_id, None)
    stored = decode_versioned(ConsumerGroupMetadataValue, value)
    if stored.epoch < 0:
        raise ValueError(f"epoch {stored.epoch}")
    return GroupEpoch(group_id, stored.epoch, stored.metadata_hash)


def _group_topics(key: bytes, value: bytes | None) -> GroupTopics | None:
    group_id = decode_versioned(ConsumerGroupPartitionMetadataKey, key).group_id
    if value is None:
        return None
    stored = decode_versioned(ConsumerGroupPartitionMetadataValue, value)
    return GroupTopics(group_id, {topic.topic_id.hex(): topic.topic_name for topic in stored.topics})


def _consumer_member(key: bytes, value: bytes | None) -> ConsumerMember:
    named = decode_versioned(ConsumerGroupMemberMetadataKey, key)
    if value is None:
        return ConsumerMember(named.group_id, named.member_id)
    stored = decode_versioned(ConsumerGroupMemberMetadataValue, value)
    topics = sorted(set(stored.subscribed_topic_names))
    subscribed = [topics, stored.subscribed_topic_regex or "", stored.server_assignor or ""]
    return ConsumerMember(
        named.group_id,
        named.member_id,
        topics,
        stored.client_id,
        stored.client_host,
        stored.instance_id,
        stored.server_assignor,
        digest(msgspec.msgpack.encode(subscribed)),
    )


def _target_epoch(key: bytes, value: bytes | None) -> TargetEpoch | None:
    group_id = decode_versioned(ConsumerGroupTargetAssignmentMetadataKey, key).group_id
    if value is None:
        return None
    return TargetEpoch(group_id, decode_versioned(ConsumerGroupTargetAssignmentMetadataValue, value).assignment_epoch)


def _target_member(key: bytes, value: bytes | None) -> None:
    """Only checked: what a member shall hold follows from what it then holds."""
    decode_versioned(ConsumerGroupTargetAssignmentMemberKey, key)
    if value is not None:
        decode_versioned(ConsumerGroupTargetAssignmentMemberValue, value)


def _current(key: bytes, value: bytes | None) -> CurrentAssignment | None:
    named = decode_versioned(ConsumerGroupCurrentMemberAssignmentKey, key)
    if value is None:
        return None
    stored = decode_versioned(ConsumerGroupCurrentMemberAssignmentValue, value)
    held: dict[str, set[int]] = {}
    for topic_partitions in (*stored.assigned_partitions, *stored.partitions_pending_revocation):
        held.setdefault(topic_partitions.topic_id.hex(), set()).update(topic_partitions.partitions)
    is_settled = stored.state == _STABLE and not stored.partitions_pending_revocation
    partitions = {topic_id: sorted(held[topic_id]) for topic_id in sorted(held)}
    found = CurrentAssignment(named.group_id, named.member_id, stored.member_epoch, is_settled, partitions)
    if _count(partitions) > PARTITIONS_NAMED_MAX:
        found.partitions, found.unnamed_partitions = {}, _count(partitions)
    return found


def _matched(key: bytes, value: bytes | None) -> MatchedTopics | None:
    group_id = decode_versioned(ConsumerGroupRegularExpressionKey, key).group_id
    if value is None:  # nobody subscribes to it any more
        return None
    decode_versioned(ConsumerGroupRegularExpressionValue, value)
    return MatchedTopics(group_id)


_READERS: Final[dict[int, Any]] = {
    2: _classic,
    3: _epoch,
    4: _group_topics,
    5: _consumer_member,
    6: _target_epoch,
    7: _target_member,
    8: _current,
    16: _matched,
}
"""Record type, which is the version of the key, → reader of key and value."""
