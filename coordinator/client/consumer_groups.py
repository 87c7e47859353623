"""Describes a group for `what-if`: by ConsumerGroupDescribe (KIP-848), StreamsGroupDescribe, or DescribeGroups."""

from collections.abc import Iterable

from _wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest, DescribedGroup, Member
from coordinator.client.bootstrap import Server, bootstrap_of
from coordinator.client.group_members import NOT_A_CONSUMER_GROUP
from coordinator.client.groups import (
    CLIENT_ID,
    GENERATION_ID,
    STABLE,
    DescribedConsumers,
    coordinator_of,
    describe_classic_consumers,
    existing_topics,
    raise_for_error,
    topic_names,
)
from coordinator.client.server_assignors import server_assignors
from coordinator.client.streams_tasks import describe_streams
from coordinator.client.wire import ClientError, WireConnection
from coordinator.core.assignors.model import MemberSubscription
from coordinator.patterns import InvalidPattern, Pattern


def describe_consumers(server: Server, group_id: str) -> tuple[DescribedConsumers, ...]:
    """Describe a group by its coordinator: once for each thing that is divided, as active and standby tasks are.

    Raises:
        ClientError: the server cannot be reached, or there is no stable consumer or streams group with this id.
    """
    with WireConnection(server, CLIENT_ID) as anyone:
        coordinator = bootstrap_of(server).at(coordinator_of(anyone, group_id))
        with WireConnection(coordinator, CLIENT_ID) as connection:
            group = _describe(connection, group_id)
            if group is None:
                streams = describe_streams(anyone, connection, group_id)
                return streams or (describe_classic_consumers(anyone, connection, group_id),)
        return (_consumers(anyone, group),)


def _describe(connection: WireConnection, group_id: str) -> DescribedGroup | None:
    """The group; None if the server has none of that id with the consumer protocol."""
    if not connection.supports(ConsumerGroupDescribeRequest.API_KEY):
        return None
    (group,) = connection.send_latest(ConsumerGroupDescribeRequest(group_ids=[group_id])).groups
    described: DescribedGroup = group
    if described.error_code in NOT_A_CONSUMER_GROUP:
        return None
    raise_for_error(described.error_code, f"cannot describe group {group_id}")
    if not described.members:
        raise ClientError(f"group {group_id} has no members; start its consumers and retry")
    if described.group_state != STABLE:
        raise ClientError(f"group {group_id} is rebalancing ({described.group_state}); retry when it is stable")
    return described


def _consumers(connection: WireConnection, group: DescribedGroup) -> DescribedConsumers:
    patterns = {member.subscribed_topic_regex for member in group.members if member.subscribed_topic_regex}
    names = topic_names(connection) if patterns else []
    matching = {text: frozenset(_matching(group.group_id, text, names)) for text in patterns}
    members = tuple(_member(member, matching) for member in group.members)
    topics, topic_ids = existing_topics(connection, frozenset[str]().union(*(member.topics for member in members)))
    has_names = any(member.subscribed_topic_names for member in group.members)
    is_mixed = bool(patterns) and (has_names or len({member.subscribed_topic_regex for member in group.members}) > 1)
    return DescribedConsumers(
        group.group_id,
        group.assignor_name,
        members,
        {member.member_id: member.client_id for member in group.members},
        topics,
        server_assignors(topic_ids, is_mixed=is_mixed),
    )


def _matching(group_id: str, text: str, names: Iterable[str]) -> Iterable[str]:
    try:
        pattern = Pattern(text)
        return [name for name in names if pattern.matches(name)]
    except InvalidPattern as problem:
        raise ClientError(f"group {group_id}: cannot read the regular expression {text}: {problem}") from problem


def _member(described: Member, matching: dict[str, frozenset[str]]) -> MemberSubscription:
    """The member with its current assignment as its owned partitions."""
    return MemberSubscription(
        described.member_id,
        frozenset(described.subscribed_topic_names) | matching.get(described.subscribed_topic_regex or "", frozenset()),
        described.instance_id,
        {
            topic_partition.topic_name: list(topic_partition.partitions)
            for topic_partition in described.assignment.topic_partitions
        },
        GENERATION_ID,
        described.rack_id,
    )
