"""Attacks on nodes in front of a Kafka: what comes before a login, long names and rules, unknown topic ids, and answers
of the cluster that nobody reads."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from _wire.headers import encode_request
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from _wire.messages.delete_groups import DeleteGroupsRequest
from _wire.messages.describe_groups import DescribeGroupsRequest
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from _wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from _wire.records import build_batch
from _wire.structs import Message
from coordinator.client.wire import ClientError
from tests.hostile import consumer_groups
from tests.hostile.attack import Attack
from tests.hostile.node_target import NodeTarget
from tests.hostile.requests import topic_ids
from tests.hostile.target import MIB
from tests.wire_client import fetch_request

NAMES: Final = 1_000
NAME_CHARACTERS: Final = 32_000
AS_LONG_AS_A_RULE: Final = 1_000
"""Names that are no longer are compared with the rules."""
LONG_TEXT: Final = "m" * 32_000
"""Metadata of a committed offset, as long as `offset.metadata.max.bytes` of the cluster allows."""
COMMITTED_AT_ONCE: Final = 20
FETCH_VERSION: Final = 11
HEARTBEAT_VERSION: Final = 1


def _long_names(scale: float, characters: int = NAME_CHARACTERS) -> list[str]:
    """Names that are nearly what the rules name."""
    return ["a" * (characters - 5) + f"{number:05}" for number in range(int(NAMES * scale) or 1)]


def _ask(target: NodeTarget, address: str, request: Message, version: int) -> None:
    """Send one request after a login, and wait until it is answered or the connection is closed."""
    with target.client_at(address) as client:
        try:
            client.request(request, version)
        except ClientError:
            return


def _before_a_login(target: NodeTarget, scale: float) -> Iterator[None]:
    """As much as is taken, at both ports, by several at once."""
    frame = encode_request(1, "attacker", DescribeGroupsRequest(groups=_long_names(scale)), 5)
    yield
    for address in target.ports:
        connections = [target.connect_to(address) for _ in range(4)]
        for connection in connections:
            for start in range(0, len(frame), MIB):
                try:
                    connection.sendall(frame[start : start + MIB])
                except OSError:
                    break
                target.sent_bytes += len(frame[start : start + MIB])
        for connection in connections:
            try:
                assert connection.recv(1) == b"", "a node answers before a login"
            except ConnectionResetError:
                continue


def _names_at_both_ports(
    make: Callable[[list[str]], Message], version: int, characters: int, most: int = NAMES
) -> Callable[[NodeTarget, float], Iterator[None]]:
    def play(target: NodeTarget, scale: float) -> Iterator[None]:
        names = _long_names(scale * most / NAMES, characters)
        yield
        for address in target.ports:
            _ask(target, address, make(names), version)

    return play


def _describe(names: list[str]) -> Message:
    return DescribeGroupsRequest(groups=names)


def _fetch(names: list[str]) -> Message:
    return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=name, topics=[]) for name in names])


def _delete(names: list[str]) -> Message:
    return DeleteGroupsRequest(groups_names=names)


def _find(names: list[str]) -> Message:
    return FindCoordinatorRequest(key_type=0, coordinator_keys=names)


def _commit_by_ids(target: NodeTarget, scale: float) -> Iterator[None]:
    """Some ids are as many as may be looked up, the others too many, each request several times."""
    partitions = [OffsetCommitRequestPartition(partition_index=0, committed_offset=1)]
    ids = topic_ids(scale)
    yield
    for some in (ids[:10_000], ids):
        topics = [OffsetCommitRequestTopic(topic_id=each, partitions=partitions) for each in some]
        for group_id in ("victim", "unknown"):
            _ask(target, target.bootstrap, OffsetCommitRequest(group_id=group_id, topics=topics), 10)


def _fetch_by_ids(target: NodeTarget, scale: float) -> Iterator[None]:
    ids = topic_ids(scale)
    yield
    for some in (ids[:10_000], ids):
        topics = [OffsetFetchRequestTopics(topic_id=each, partition_indexes=[0]) for each in some]
        for group_id in ("victim", "unknown"):
            groups = [OffsetFetchRequestGroup(group_id=group_id, topics=topics)]
            _ask(target, target.bootstrap, OffsetFetchRequest(groups=groups), 10)


def _many_clients_look_up_ids(target: NodeTarget, scale: float) -> Iterator[None]:
    """Each request has as many ids as may be looked up, which are asked of the cluster in turns."""
    topics = [
        OffsetFetchRequestTopics(topic_id=topic_id, partition_indexes=[0]) for topic_id in topic_ids(scale)[:10_000]
    ]
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="victim", topics=topics)])
    yield
    clients = [target.client() for _ in range(40)]
    sent = [client.send(request, 10) for client in clients]
    for client, each in zip(clients, sent, strict=True):
        client.receive(each)
        client.socket.close()


def _commit_texts(target: NodeTarget, group_id: str, size_bytes: int) -> None:
    """Commit offsets with so many bytes of metadata, in a topic of the same name."""
    partitions = [
        OffsetCommitRequestPartition(partition_index=index, committed_metadata=LONG_TEXT)
        for index in range(size_bytes // len(LONG_TEXT) or 1)
    ]
    with target.client_at(target.broker_bootstrap) as client:
        client.create_topic(group_id, len(partitions))
    with target.client() as client:
        for start in range(0, len(partitions), COMMITTED_AT_ONCE):
            topic = OffsetCommitRequestTopic(name=group_id, partitions=partitions[start : start + COMMITTED_AT_ONCE])
            answered = client.request(OffsetCommitRequest(group_id=group_id, topics=[topic]), 8)
            assert not any(partition.error_code for partition in answered.topics[0].partitions), answered.topics[
                0
            ].partitions[0]


def _unread_offset_fetches(target: NodeTarget, scale: float) -> Iterator[None]:
    """The cluster answers each with all that the group has."""
    _commit_texts(target, "texts", int(40_000_000 * scale))
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="texts", topics=None)])
    yield
    clients = [target.client() for _ in range(40)]
    for client in clients:
        client.send(request, 8)
    _ask(target, target.bootstrap, request, 8)  # has its turn after them
    for client in clients:
        client.socket.close()


def _unread_fetches(target: NodeTarget, scale: float) -> Iterator[None]:
    with target.client_at(target.broker_bootstrap) as client:
        client.create_topic("unread")
        batch = build_batch([(None, bytes(1_000_000), [])], timestamp_ms=1)
        for _ in range(int(50 * scale) or 1):
            client.produce("unread", batch)
    yield
    clients = [target.client_at(address) for address in target.ports for _ in range(10)]
    request = fetch_request("unread", max_bytes=(1 << 31) - 1)
    for client in clients:
        try:
            for _ in range(20):
                client.send(request, FETCH_VERSION)
        except ClientError:
            continue  # the node's own port takes none
    with target.client_at(target.broker_bootstrap) as client:
        client.request(fetch_request("unread", max_bytes=1), FETCH_VERSION)
    for client in clients:
        client.socket.close()


def _unread_metadata(target: NodeTarget, scale: float) -> Iterator[None]:
    """These answers are read whole, as the addresses of the brokers in them are replaced."""
    with target.client_at(target.broker_bootstrap) as client:
        for number in range(4):
            client.create_topic(f"broad-{number}", int(500 * scale))
    names = [MetadataRequestTopic(name=f"broad-{number}") for number in range(4)]
    yield
    clients = [target.client_at(target.broker_bootstrap) for _ in range(20)]
    for client in clients:
        for _ in range(100):
            client.send(MetadataRequest(topics=names), 12)
    with target.client_at(target.broker_bootstrap) as client:
        client.request(MetadataRequest(topics=names), 12)
    for client in clients:
        client.socket.close()


def _made_up_topics(target: NodeTarget, scale: float) -> Iterator[None]:
    """Members that subscribe to thousands of topics that there are not, all others each: the node asks the cluster."""
    count, names = int(20 * scale) or 1, int(9_000 * scale) or 1
    yield
    for member in range(count):
        made_up = [f"made-up-{member}-{number}" for number in range(names)]
        _ask(target, target.bootstrap, _joins(f"m{member}", subscribed_topic_names=made_up), HEARTBEAT_VERSION)


def _many_patterns(target: NodeTarget, scale: float) -> Iterator[None]:
    """Each new one asks for all topics, and for the rights of its client on those that match."""
    consumer_groups.create_topics(target, "b" * 100, int(2_000 * scale) or 1)
    count = int(100 * scale) or 1
    yield
    for member in range(count):
        pattern = f".*b.*{member}$"
        _ask(target, target.bootstrap, _joins(f"m{member}", subscribed_topic_regex=pattern), HEARTBEAT_VERSION)


def _joins(member: str, **said: Any) -> Message:
    return ConsumerGroupHeartbeatRequest(
        group_id="attacked", member_id=member, rebalance_timeout_ms=60_000, topic_partitions=[], **said
    )


ATTACKS: Final = tuple(
    Attack(f"node: {name}", steps, target=NodeTarget)
    for name, steps in (
        ("1,000 names of 32 KB before a login, at both ports", _before_a_login),
        ("DescribeGroups of 1,000 names of 32 KB, at both ports", _names_at_both_ports(_describe, 5, NAME_CHARACTERS)),
        ("OffsetFetch of 1,000 groups of 32 KB, at both ports", _names_at_both_ports(_fetch, 8, NAME_CHARACTERS)),
        (
            "DescribeGroups of 15,000 names of 1 KB, at both ports",
            _names_at_both_ports(_describe, 5, AS_LONG_AS_A_RULE, 15_000),
        ),
        (
            "DeleteGroups of 15,000 names of 1 KB, at both ports",
            _names_at_both_ports(_delete, 2, AS_LONG_AS_A_RULE, 15_000),
        ),
        (
            "FindCoordinator of 15,000 names of 1 KB, at both ports",
            _names_at_both_ports(_find, 4, AS_LONG_AS_A_RULE, 15_000),
        ),
        ("OffsetCommit by 95,000 unknown topic ids", _commit_by_ids),
        ("OffsetFetch by 95,000 unknown topic ids", _fetch_by_ids),
        ("40 OffsetFetch by 10,000 unknown topic ids at once", _many_clients_look_up_ids),
        ("40 connections ask for 40 MB of offsets and read nothing", _unread_offset_fetches),
        ("20 connections fetch 20 times 50 MB at both ports unread", _unread_fetches),
        ("20 connections ask for Metadata of 2,000 partitions unread", _unread_metadata),
        ("20 ConsumerGroupHeartbeats with 9,000 names each that no topic has", _made_up_topics),
        ("100 ConsumerGroupHeartbeats with a regular expression each, over 2,000 topics", _many_patterns),
    )
)
