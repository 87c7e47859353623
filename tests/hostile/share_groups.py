"""Attacks on share groups (KIP-932): huge sessions, acknowledgements and states, doubles, and fetches that wait."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any, Final

from _wire.messages import describe_share_group_offsets as describing
from _wire.messages import initialize_share_group_state as initializing
from _wire.messages import share_acknowledge as acknowledging
from _wire.messages import share_fetch as fetching
from _wire.messages import write_share_group_state as writing
from _wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from _wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from _wire.records import build_batch
from coordinator.client.wire import ClientError
from tests.hostile.attack import Attack
from tests.hostile.target import Target
from tests.waiting import wait_for

HEARTBEAT_VERSION, FETCH_VERSION, ACKNOWLEDGE_VERSION, STATE_VERSION, DESCRIBE_VERSION = 1, 2, 2, 0, 1
WRITE_VERSION: Final = 1
ELEMENTS: Final = 190_000
"""Fewer than socket.request.max.elements allows."""
GROUP: Final = "attacked-share-group"
ASSIGNED_SECONDS: Final = 30


def _ask(target: Target, messages: Iterable[tuple[Any, int]]) -> None:
    """Send requests, one after the other on one connection, until they are answered or the connection is closed."""
    with target.client() as client:
        try:
            for message, version in messages:
                client.request(message, version)
        except ClientError:
            return


def _create(target: Target, name: str, partitions: int) -> bytes:
    """Make a topic; its id."""
    with target.client("administrator") as client:
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
        (made,) = client.request(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 7).topics
        topic_id: bytes = made.topic_id
        return topic_id


def _assigned(target: Target, name: str, partitions: int) -> bytes:
    """A topic whose share partitions the group has; its id."""
    topic_id = _create(target, name, partitions)
    joining = ShareGroupHeartbeatRequest(group_id=GROUP, member_id="m", subscribed_topic_names=[name])
    with target.client() as client:

        def has_all() -> bool:
            answer = client.request(joining, HEARTBEAT_VERSION)
            assigned = answer.assignment.topic_partitions if answer.assignment else []
            return sum(len(topic.partitions) for topic in assigned) == partitions

        wait_for(has_all, ASSIGNED_SECONDS, "the share partitions")
    return topic_id


def _fetch(member: str, epoch: int, topics: list[fetching.FetchTopic], max_wait_ms: int = 0) -> tuple[Any, int]:
    request = fetching.ShareFetchRequest(
        group_id=GROUP,
        member_id=member,
        share_session_epoch=epoch,
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=50 << 20,
        max_records=500,
        batch_size=500,
        topics=topics,
    )
    return request, FETCH_VERSION


def _fetched_topic(topic_id: bytes, partitions: Iterable[int]) -> fetching.FetchTopic:
    return fetching.FetchTopic(
        topic_id=topic_id, partitions=[fetching.FetchPartition(partition_index=index) for index in partitions]
    )


def _names_of_topics(target: Target, scale: float) -> Iterator[None]:
    names = [f"n{number}" for number in range(int(ELEMENTS * scale))]
    yield
    joining = ShareGroupHeartbeatRequest(group_id=GROUP, member_id="m", subscribed_topic_names=names)
    _ask(target, [(joining, HEARTBEAT_VERSION)])


def _sessions_of_unknown_partitions(target: Target, scale: float) -> Iterator[None]:
    """Sessions of partitions that do not exist; each further fetch names others."""
    topic_id = _create(target, "shared-unknown", 1)
    count = int(ELEMENTS * scale)
    yield
    fetches = (
        _fetch("m", epoch, [_fetched_topic(topic_id, range(1 + epoch * count, 1 + (epoch + 1) * count))])
        for epoch in range(5)
    )
    _ask(target, fetches)


def _one_partition_doubled(target: Target, scale: float) -> Iterator[None]:
    topic_id = _assigned(target, "shared-doubled", 1)
    yield
    _ask(target, [_fetch("m", 0, [_fetched_topic(topic_id, [0] * int(ELEMENTS * scale))])])


def _fetches_that_wait(target: Target, scale: float) -> Iterator[None]:
    """Members whose fetches of the same partitions wait for records, of which one comes at a time."""
    partitions = max(int(200 * scale), 1)
    topic_id = _assigned(target, "shared-waiting", partitions)
    members = int(1_000 * scale) or 1
    yield
    with ExitStack() as stack:
        producer = stack.enter_context(target.client())
        for number in range(members):
            message, version = _fetch(f"m{number}", 0, [_fetched_topic(topic_id, range(partitions))], 60_000)
            stack.enter_context(target.client()).send(message, version)
        for number in range(int(200 * scale) or 1):
            producer.produce("shared-waiting", build_batch([(None, b"r", ())]), partition=number % partitions)


def _acknowledgements(target: Target, scale: float) -> Iterator[None]:
    """Very many batches for one partition, and very many types in one batch; none was acquired."""
    topic_id = _assigned(target, "shared-acknowledged", 1)
    count = int(ELEMENTS * scale) // 2
    many = [
        acknowledging.AcknowledgementBatch(first_offset=number, last_offset=number, acknowledge_types=[1])
        for number in range(count)
    ]
    long = [acknowledging.AcknowledgementBatch(first_offset=0, last_offset=count - 1, acknowledge_types=[1] * count)]
    messages = [_fetch("m", 0, [_fetched_topic(topic_id, [0])])]
    for epoch, batches in enumerate((many, long), 1):
        partition = acknowledging.AcknowledgePartition(partition_index=0, acknowledgement_batches=batches)
        topics = [acknowledging.AcknowledgeTopic(topic_id=topic_id, partitions=[partition])]
        request = acknowledging.ShareAcknowledgeRequest(
            group_id=GROUP, member_id="m", share_session_epoch=epoch, topics=topics
        )
        messages.append((request, ACKNOWLEDGE_VERSION))
    yield
    _ask(target, messages)


def _states_of_groups(target: Target, scale: float) -> Iterator[None]:
    """States of groups that do not exist, of all partitions of a topic each, with long names."""
    partitions = max(int(1_000 * scale), 1)
    topic_id = _create(target, "shared-states", partitions)
    asked = [initializing.StatePartition(partition=index, state_epoch=1, start_offset=0) for index in range(partitions)]
    topics = [initializing.StateTopic(topic_id=topic_id, partitions=asked)]
    yield
    _ask(
        target,
        (
            (
                initializing.InitializeShareGroupStateRequest(group_id=f"{number}-" + "g" * 10_000, topics=topics),
                STATE_VERSION,
            )
            for number in range(int(30 * scale) or 1)
        ),
    )


def _state_batches(target: Target, scale: float) -> Iterator[None]:
    """Very many batches for one state, all of which overlap, and none of which may be merged."""
    topic_id = _assigned(target, "shared-batches", 1)
    batches = [
        writing.StateBatch(first_offset=number, last_offset=10_000_000, delivery_state=0, delivery_count=number % 5 + 1)
        for number in range(int(ELEMENTS * scale))
    ]
    yield
    messages = []
    for some in (batches, batches[:19_000]):
        partition = writing.StatePartition(partition=0, state_epoch=1 << 20, leader_epoch=1 << 20, state_batches=some)
        topics = [writing.StateTopic(topic_id=topic_id, partitions=[partition])]
        messages.append((writing.WriteShareGroupStateRequest(group_id=GROUP, topics=topics), WRITE_VERSION))
    _ask(target, messages)


def _offsets_doubled(target: Target, scale: float) -> Iterator[None]:
    """DescribeShareGroupOffsets of one group many times, and of one partition many times."""
    _assigned(target, "shared-offsets", max(int(500 * scale), 1))
    groups = [describing.RequestGroup(group_id=GROUP, topics=None)] * (int(2_000 * scale) or 1)
    topic = describing.RequestTopic(topic_name="shared-offsets", partitions=[0] * int(ELEMENTS * scale))
    yield
    for asked in (groups, [describing.RequestGroup(group_id=GROUP, topics=[topic])]):
        _ask(target, [(describing.DescribeShareGroupOffsetsRequest(groups=asked), DESCRIBE_VERSION)])


ATTACKS: Final = (
    Attack("ShareGroupHeartbeat that subscribes to 190,000 topics", _names_of_topics),
    Attack("ShareFetches of 950,000 partitions that do not exist", _sessions_of_unknown_partitions),
    Attack("ShareFetch that names one partition 190,000 times", _one_partition_doubled),
    Attack("ShareFetches of 1,000 members that wait for 200 partitions", _fetches_that_wait),
    Attack("ShareAcknowledges of 95,000 records, in as many batches or one", _acknowledgements),
    Attack("InitializeShareGroupState of 30,000 states with long names", _states_of_groups),
    Attack("WriteShareGroupState with 190,000 batches that overlap", _state_batches),
    Attack("DescribeShareGroupOffsets of one group 2,000 times", _offsets_doubled),
)
