"""What must hold of every consumer group whenever nothing is queued. Each function is one rule."""

from typing import TYPE_CHECKING

from coordinator.core.consumer.group import ConsumerGroup
from coordinator.core.decision import OperationContext
from coordinator.core.groups.group import Group
from tests.simulation.audit_reader import AuditReader
from tests.simulation.clients import Client
from tests.simulation.consumer_members import Owned
from tests.simulation.consumers import partitions_of
from tests.simulation.world_server import CONSUMER_SESSION_MS

if TYPE_CHECKING:
    from tests.simulation.harness import Harness


def check(harness: "Harness", whole: Group[ConsumerGroup]) -> None:
    fields_are_what_they_follow_from(whole)
    nothing_more_follows(harness, whole)
    every_member_has_a_session_and_nobody_else(harness, whole.membership)
    no_partition_is_used_by_two_members(harness, whole.membership)


def fields_are_what_they_follow_from(whole: Group[ConsumerGroup]) -> None:
    for field in whole.kind.checks.derived_fields(whole.membership):
        assert field.found == field.expected, (whole.group_id, field)


def nothing_more_follows(harness: "Harness", whole: Group[ConsumerGroup]) -> None:
    server, group = harness.server, whole.membership
    context = OperationContext(None, 0, "", "", server.environment, server.now_ms, server.now_ms)
    assert not whole.kind.advance(group, context).events
    deadline_ms = whole.kind.next_deadline_ms(group)
    assert server.timers.deadline_ms(group.group_id) == deadline_ms
    assert deadline_ms is None or deadline_ms > server.now_ms


def every_member_has_a_session_and_nobody_else(harness: "Harness", group: ConsumerGroup) -> None:
    sessions, now_ms, twins = harness.server.sessions, harness.server.now_ms, harness.server.twins_of(group.group_id)
    assert set(sessions.members(group.group_id)) == group.members.keys()
    for member_id, member in group.members.items():
        classic = member.metadata.classic
        longest_ms = CONSUMER_SESSION_MS if classic is None else max(CONSUMER_SESSION_MS, classic.session_timeout_ms)
        deadline_ms = sessions.deadline_ms(group.group_id, member_id)
        until_ms = twins.first_session_until_ms.get((group.group_id, member_id), 0)
        assert deadline_ms is not None
        assert now_ms < deadline_ms <= max(now_ms + longest_ms, until_ms), (group.group_id, member_id)


def no_partition_is_used_by_two_members(harness: "Harness", group: ConsumerGroup) -> None:
    """As the members themselves believe, but those that were removed or fenced and do not know it yet.

    A member of the classic protocol is fenced when its group becomes a classic group and a consumer group again before
    it joins: as on Kafka it has its target by then, whatever it uses.
    """
    if harness.acknowledged.was_lost:
        return  # a power loss takes back what members were told
    users: dict[tuple[bytes, int], str] = {}
    for client in harness.clients:
        if client.group_id == group.group_id and client.member_id in group.members:
            epoch = group.members[client.member_id].current.epoch
            is_fenced = client.modern is None and client.generation_id != epoch
            for partition in () if is_fenced else used_by(harness, client):
                other = users.setdefault(partition, client.name)
                assert other == client.name, (group.group_id, partition, other, client.name)


def used_by(harness: "Harness", client: Client) -> Owned:
    uses = client.uses()
    if uses is not None:
        return uses
    topics = harness.server.environment.topics
    return frozenset((topics.topic_id(topic), index) for topic, index in partitions_of(client.assigned))


def the_audit_tells_who_may_use_what(harness: "Harness", group: ConsumerGroup, audited: AuditReader) -> None:
    name = harness.server.environment.topics.topic_name
    for member_id, member in group.members.items():
        found = {(name(topic_id), index) for topic_id, indexes in member.current.assigned.items() for index in indexes}
        # Those of a topic that was deleted meanwhile are told by their name, or by their id.
        told = {each for each in audited.owned.get(member_id, ()) if each in found}
        assert told == {each for each in found if each[0] is not None}, (group.group_id, member_id)
