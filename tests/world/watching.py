"""What `groups why` and `describe` look at beside the events: committed offsets, and the ends of logs."""

from typing import NamedTuple

from _wire.batch_reader import parse_batch
from coordinator.client.group_description import PartitionLag
from coordinator.client.open_transactions import OpenTransaction
from coordinator.client.standing_offsets import WINDOW_MS, CommitScan, Standing
from coordinator.core.classic.group import ClassicGroup
from coordinator.core.consumer.group import ConsumerGroup
from coordinator.core.consumer.heartbeat_requests import assignment_of
from coordinator.core.consumer_protocol import CONSUMER_PROTOCOL_TYPE, read_subscription
from tests.simulation.server import OFFSETS
from tests.world.assignments import partitions_of
from tests.world.history import GROUP_ID
from tests.world.topics import Partition
from tests.world.world import World

TRANSACTION_TIMEOUT_MS = 900_000
TOPICS_MAX = 100


class SeenMember(NamedTuple):
    """A member as DescribeGroups tells it."""

    member_id: str
    client_id: str
    client_host: str
    group_instance_id: str | None
    topics: tuple[str, ...]


class SeenGroup(NamedTuple):
    """A group as it is now, as far as a client can ask for it."""

    state: str
    members: list[SeenMember]
    partitions: list[PartitionLag]
    missing_topics: list[str]


def look(world: World) -> SeenGroup | None:
    """The group now; None: there is none, or nobody answers."""
    server = world.server
    if not server.listens or not server.coordinator.shards[0].is_active or server.group is None:
        return None
    group, topics = server.group, world.topics
    members, owners = [], dict[tuple[str, int], str]()
    for member_id, member in group.membership.members.items():
        names = _subscribed(group.membership, member_id)
        members.append(SeenMember(member_id, member.client_id, member.client_host, member.group_instance_id, names))
        owners.update({(name, index): member_id for name, _, index in _owned(world, group.membership, member_id)})
    offsets = {
        (tp.topic, tp.partition): committed.offset
        for tp in group.offsets.partitions_with_any()
        if (committed := group.offsets.get(tp)) is not None
    }
    standing = _standing(world, offsets)
    found = [
        _position(world, *place, offsets.get(place), owners.get(place), standing.get(place))
        for place in sorted(owners.keys() | offsets.keys())
        if topics.partition_count(place[0]) > place[1]
    ]
    wanted = {topic for member in members for topic in member.topics}
    missing = sorted(each for each in wanted if not topics.partition_count(each))
    return SeenGroup(str(group.membership.state), members, found, missing)


def _subscribed(membership: object, member_id: str) -> tuple[str, ...]:
    """The topics that the coordinator knows a member to subscribe to."""
    if isinstance(membership, ConsumerGroup):
        return membership.members[member_id].metadata.topics
    assert isinstance(membership, ClassicGroup)
    metadata = membership.members[member_id].protocols[0].metadata
    return tuple(read_subscription(CONSUMER_PROTOCOL_TYPE, metadata, TOPICS_MAX)[0])


def _owned(world: World, membership: object, member_id: str) -> list[Partition]:
    if not isinstance(membership, ConsumerGroup):
        return sorted(partitions_of(membership.members[member_id].assignment, world.topics))  # type: ignore[attr-defined]
    found: list[Partition] = []
    for topic_partition in assignment_of(membership.members[member_id].current.assigned).topic_partitions:
        name = world.topics.topic_name(topic_partition.topic_id)
        if name is not None:
            found += [(name, topic_partition.topic_id, index) for index in topic_partition.partitions]
    return found


def _position(
    world: World, topic: str, index: int, committed: int | None, owner: str | None, standing: Standing | None
) -> PartitionLag:
    topics = world.topics
    found = PartitionLag(topic, index, committed, topics.log_end_offset(topic, index), owner)
    found.last_stable_offset, found.log_start_offset = topics.last_stable_offset(topic, index), 0
    found.standing = standing
    place = topics.partition(topic, index)
    if committed is not None and (found.lag or 0) > 0:
        found.oldest_ms = topics.appended_ms(place, committed)
    begun = topics.open_at(place, world.now_ms)
    if begun is not None and found.waits_for_transaction:
        found.transaction = OpenTransaction(begun.name, begun.started_ms, TRANSACTION_TIMEOUT_MS)
    return found


def _standing(world: World, offsets: dict[tuple[str, int], int]) -> dict[tuple[str, int], Standing]:
    """By the records of the offsets topic, as the command looks through them."""
    log, scan = world.server.logs[OFFSETS, 0], CommitScan(GROUP_ID, world.now_ms - WINDOW_MS)
    for _, batch in log.batches(log.log_start_offset, 1 << 20):
        header, records = parse_batch(memoryview(batch), 0)
        scan.add(header, records)
    found = ((place, scan.standing(place, offset)) for place, offset in offsets.items())
    return {place: standing for place, standing in found if standing is not None}
