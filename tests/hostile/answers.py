"""Attacks with large answers: many connections ask for the same groups at once, and read nothing."""

from collections.abc import Iterator
from typing import Final

from _wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from _wire.messages.describe_groups import DescribeGroupsRequest
from _wire.messages.list_groups import ListGroupsRequest
from _wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from _wire.messages.sync_group import SyncGroupRequest
from _wire.structs import Message
from coordinator.client.wire import ClientError
from tests.hostile.attack import UNSENT_MEMORY_MAX, Attack
from tests.hostile.consumer_groups import create_topics, join_all
from tests.hostile.target import MIB, Target
from tests.wire_client import join_request

CONNECTIONS: Final = 40
LARGE_RECORDS: Final = {"message.max.bytes": str(60 * MIB)}
"""A group of 40 MB of metadata is one record."""
COMMITS_AT_ONCE: Final = 500


def _all_ask(target: Target, request: Message, version: int) -> None:
    clients = [target.client() for _ in range(CONNECTIONS)]
    for client in clients:
        client.send(request, version)
    with target.client() as client:  # has its turn after them
        try:
            client.request(request, version)
        except ClientError:
            return  # it was the one that held the most
        finally:
            for each in clients:
                each.socket.close()


def _become_heavy(target: Target, group_id: str, size_bytes: int) -> None:
    """Make a Stable group of one member with so much metadata."""
    with target.client() as client:
        metadata = bytes(size_bytes)
        joined = client.request(join_request(group_id, instance_id="one", timeout_ms=300_000, metadata=metadata), 5)
        assert joined.error_code == 0, joined.error_code
        request = SyncGroupRequest(group_id=group_id, generation_id=joined.generation_id, member_id=joined.member_id)
        assert client.request(request, 3).error_code == 0


def _describe_one_heavy_group(target: Target, scale: float) -> Iterator[None]:
    _become_heavy(target, "heavy", int(40 * MIB * scale))
    yield
    _all_ask(target, DescribeGroupsRequest(groups=["heavy"]), 5)


def _describe_a_heavy_group_many_times(target: Target, scale: float) -> Iterator[None]:
    _become_heavy(target, "heavy", 1_000_000)
    yield
    _all_ask(target, DescribeGroupsRequest(groups=["heavy"] * (int(40 * scale) or 1)), 5)


def _describe_a_consumer_group(target: Target, scale: float) -> Iterator[None]:
    """Each member has partitions of many topics, which are named in its assignment and in its target."""
    names = create_topics(target, "described-" + "n" * 100, int(200 * scale) or 1, 20)
    join_all(target, (f"m{number}" for number in range(int(1_000 * scale) or 1)), subscribed_topic_names=names)
    yield
    _all_ask(target, ConsumerGroupDescribeRequest(group_ids=["attacked"] * (int(10 * scale) or 1)), 1)


def _many_groups(target: Target, count: int) -> list[str]:
    """Groups with an offset each."""
    partitions = [OffsetCommitRequestPartition(partition_index=0, committed_offset=1)]
    topics = [OffsetCommitRequestTopic(name="victim", partitions=partitions)]
    names = [f"listed-{number}" for number in range(count)]
    with target.client() as client:
        for start in range(0, count, COMMITS_AT_ONCE):
            sent = [
                client.send(OffsetCommitRequest(group_id=name, topics=topics), 8)
                for name in names[start : start + COMMITS_AT_ONCE]
            ]
            for each in sent:
                client.receive(each)
    return names


def _list_all_groups(target: Target, scale: float) -> Iterator[None]:
    _many_groups(target, int(50_000 * scale))
    yield
    _all_ask(target, ListGroupsRequest(), 4)


def _fetch_of_many_groups(target: Target, scale: float) -> Iterator[None]:
    names = _many_groups(target, int(50_000 * scale))
    yield
    groups = [OffsetFetchRequestGroup(group_id=name, topics=None) for name in names]
    _all_ask(target, OffsetFetchRequest(groups=groups), 8)


ATTACKS: Final = tuple(
    Attack(f"{CONNECTIONS} connections: {name}", steps, settings=settings, memory_max=UNSENT_MEMORY_MAX)
    for name, steps, settings in (
        ("DescribeGroups of a group of 40 MB", _describe_one_heavy_group, LARGE_RECORDS),
        ("DescribeGroups of a megabyte 40 times", _describe_a_heavy_group_many_times, None),
        ("ConsumerGroupDescribe of 1,000 members", _describe_a_consumer_group, None),
        ("ListGroups with 50,000 groups", _list_all_groups, None),
        ("OffsetFetch of 50,000 groups", _fetch_of_many_groups, None),
    )
)
