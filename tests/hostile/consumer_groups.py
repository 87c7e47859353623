"""Attacks on consumer groups (KIP-848): huge subscriptions, hostile regular expressions, storms of members."""

from collections.abc import Iterable, Iterator
from itertools import islice, product
from random import Random
from string import ascii_letters, digits
from typing import Any, Final

from _wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from _wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from _wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from coordinator.client.wire import ClientError
from tests.hostile.attack import Attack
from tests.hostile.target import Target

HEARTBEAT_VERSION, DESCRIBE_VERSION, LEAVE_VERSION = 1, 1, 5
NAMES: Final = 200_000
PARTITIONS: Final = 190_000
REBALANCE_TIMEOUT_MS: Final = 60_000
PATTERN_BYTES: Final = 32_000
EXPLODING: Final = ("(.*a){12}b", "(x+x+)+y", "((a?){30}a{30}|.*)*", ".*.*.*.*.*.*.*.*z", "(" * 400 + "a" + ")*" * 400)
"""What takes exponential time or memory where a regular expression is matched by backtracking, or expanded."""


def _heartbeat(member: str, epoch: int = 0, group: str = "attacked", **changes: Any) -> ConsumerGroupHeartbeatRequest:
    """The heartbeat of a member that joins, or of one that says nothing new."""
    joins = {"rebalance_timeout_ms": REBALANCE_TIMEOUT_MS, "subscribed_topic_names": [], "topic_partitions": []}
    said = {"rebalance_timeout_ms": -1} if epoch else joins
    return ConsumerGroupHeartbeatRequest(group_id=group, member_id=member, member_epoch=epoch, **said | changes)


def _ask(target: Target, messages: Iterable[Any], version: int) -> None:
    """Send requests, one after the other, until they are answered or the connection is closed."""
    with target.client() as client:
        try:
            for message in messages:
                client.request(message, version)
        except ClientError:
            return


def create_topics(target: Target, prefix: str, count: int, partitions: int = 1) -> list[str]:
    names = [f"{prefix}-{number}" for number in range(count)]
    with target.client("administrator") as client:
        for first in range(0, count, 500):
            topics = [
                CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
                for name in names[first : first + 500]
            ]
            client.request(CreateTopicsRequest(topics=topics, timeout_ms=30_000), 7)
    return names


def join_all(target: Target, members: Iterable[str], **changes: Any) -> None:
    """Many members that come by one connection, whose requests wait for nobody."""
    with target.client() as client:
        sent = [client.send(_heartbeat(member, **changes), HEARTBEAT_VERSION) for member in members]
        for each in sent:
            client.receive(each)


def _names_of_topics(target: Target, scale: float) -> Iterator[None]:
    names = [f"n{number}" for number in range(int(NAMES * scale))]
    yield
    _ask(target, [_heartbeat("m", subscribed_topic_names=names)], HEARTBEAT_VERSION)


def _short_names_of_topics(target: Target, scale: float) -> Iterator[None]:
    """As many as a record holds, in no order: the group takes them, and each of its members has to live with them."""
    names = ["".join(letters) for letters in islice(product(ascii_letters + digits, repeat=3), int(NAMES * scale))]
    Random(0).shuffle(names)
    yield
    messages = [
        _heartbeat("m", subscribed_topic_names=names),
        *(_heartbeat(f"m{number}", subscribed_topic_names=["t"]) for number in range(int(20 * scale) or 1)),
        _heartbeat("m", 2, subscribed_topic_names=names[1:]),
        _heartbeat("m", -1),
    ]
    _ask(target, messages, HEARTBEAT_VERSION)


def _one_name_doubled(target: Target, scale: float) -> Iterator[None]:
    (name,) = create_topics(target, "doubled", 1, 100)
    yield
    _ask(target, [_heartbeat("m", subscribed_topic_names=[name] * int(NAMES * scale))], HEARTBEAT_VERSION)


def _changing_subscriptions(target: Target, scale: float) -> Iterator[None]:
    """Each heartbeat subscribes to thousands of topics that the one before did not name."""
    count, names = int(20 * scale) or 1, int(8_000 * scale) or 1
    yield
    with target.client() as client:
        epoch = 0
        for turn in range(count):
            topics = [f"n{turn}-{number}" for number in range(names)]
            changes: dict[str, Any] = {"subscribed_topic_names": topics, "topic_partitions": [] if epoch == 0 else None}
            try:
                epoch = client.request(_heartbeat("m", epoch, **changes), HEARTBEAT_VERSION).member_epoch
            except ClientError:
                return


def _owned_partitions(target: Target, scale: float) -> Iterator[None]:
    """It says to own what it was never given, each topic many times."""
    _ask(target, [_heartbeat("m", subscribed_topic_names=create_topics(target, "owned", 1, 10))], HEARTBEAT_VERSION)
    topics = [
        TopicPartitions(topic_id=bytes([number % 250] * 16), partitions=list(range(19)))
        for number in range(int(PARTITIONS / 20 * scale))
    ]
    yield
    _ask(target, [_heartbeat("m", 2, topic_partitions=topics)], HEARTBEAT_VERSION)


def _patterns(target: Target, scale: float) -> Iterator[None]:
    """Long regular expressions, and exploding ones, over many topics, each by a member of a group of its own."""
    create_topics(target, "a" * 200, int(2_000 * scale) or 1)
    long = "|".join(f"n{number}" for number in range(PATTERN_BYTES))[:PATTERN_BYTES]
    yield
    for number, pattern in enumerate((*EXPLODING, long, "a" * PATTERN_BYTES, "(" * PATTERN_BYTES, "[" + long)):
        joins = _heartbeat("m", group=f"pattern-{number}", subscribed_topic_regex=pattern)
        _ask(target, [joins], HEARTBEAT_VERSION)


def _many_patterns(target: Target, scale: float) -> Iterator[None]:
    """A group whose members have a regular expression each: all of them are matched with all topics."""
    create_topics(target, "b" * 100, int(2_000 * scale) or 1)
    count = int(300 * scale) or 1
    yield
    with target.client() as client:
        for number in range(count):
            joins = _heartbeat(f"m{number}", subscribed_topic_regex=f".*b.*{number}$")
            client.request(joins, HEARTBEAT_VERSION)


def _storm(target: Target, scale: float) -> Iterator[None]:
    """Members that join a group whose topics have thousands of partitions: each join asks for a new target."""
    names = create_topics(target, "stormy", 10, max(int(200 * scale), 1))
    yield
    join_all(target, (f"m{number}" for number in range(int(2_000 * scale))), subscribed_topic_names=names)


def _members_leave_at_once(target: Target, scale: float) -> Iterator[None]:
    names = create_topics(target, "left", 1, max(int(1_000 * scale), 1))
    members = [f"m{number}" for number in range(int(2_000 * scale))]
    join_all(target, members, subscribed_topic_names=names)
    doubled = [MemberIdentity(member_id=member) for member in members] * 40
    yield
    _ask(target, [LeaveGroupRequest(group_id="attacked", members=doubled)], LEAVE_VERSION)


def _describe_names(target: Target, scale: float) -> Iterator[None]:
    yield
    names = [f"n{number}" for number in range(int(NAMES * scale))]
    _ask(target, [ConsumerGroupDescribeRequest(group_ids=names)], DESCRIBE_VERSION)


def _describe_one_group_doubled(target: Target, scale: float) -> Iterator[None]:
    names = create_topics(target, "described", 1, max(int(1_000 * scale), 1))
    join_all(target, (f"m{number}" for number in range(int(500 * scale) or 1)), subscribed_topic_names=names)
    yield
    _ask(target, [ConsumerGroupDescribeRequest(group_ids=["attacked"] * int(NAMES * scale))], DESCRIBE_VERSION)


def _heartbeats_at_limits(target: Target, scale: float) -> Iterator[None]:
    """Each number of a heartbeat at its limits, by members that are there and members that are not."""
    names = create_topics(target, "limits", 1, 10)
    limits = (0, 1, -1, -2, -3, 2**31 - 1, -(2**31))
    messages = [
        _heartbeat(
            member,
            epoch,
            rebalance_timeout_ms=timeout_ms,
            subscribed_topic_names=names,
            topic_partitions=[TopicPartitions(topic_id=bytes(16), partitions=[index, index])] if index else [],
        )
        for member in ("there", "not")
        for epoch in limits
        for timeout_ms in limits
        for index in limits
    ]
    yield
    for message in messages[: max(int(len(messages) * scale), 1)]:
        _ask(target, [_heartbeat("there", subscribed_topic_names=names), message], HEARTBEAT_VERSION)


ATTACKS: Final = (
    Attack("ConsumerGroupHeartbeat that subscribes to 200,000 topics", _names_of_topics),
    Attack("ConsumerGroupHeartbeats to 200,000 topics with short names", _short_names_of_topics),
    Attack("ConsumerGroupHeartbeat that names one topic 200,000 times", _one_name_doubled),
    Attack("ConsumerGroupHeartbeats, each to 8,000 other topics, 20 times", _changing_subscriptions),
    Attack("ConsumerGroupHeartbeat that owns 190,000 partitions", _owned_partitions),
    Attack("ConsumerGroupHeartbeats with hostile regular expressions", _patterns),
    Attack("ConsumerGroupHeartbeats with 300 patterns over 2,000 topics", _many_patterns),
    Attack("2,000 members join a consumer group of 2,000 partitions", _storm),
    Attack("LeaveGroup of 2,000 members of a consumer group, 40 times each", _members_leave_at_once),
    Attack("ConsumerGroupDescribe of 200,000 names", _describe_names),
    Attack("ConsumerGroupDescribe of one large group 200,000 times", _describe_one_group_doubled),
    Attack("ConsumerGroupHeartbeats with each number at its limits", _heartbeats_at_limits),
)
