"""Groups of consumers on the simulation, whose subscriptions and assignments can be read."""

from collections.abc import Mapping

from _wire.embedded import encode_versioned
from _wire.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from _wire.messages.consumer_protocol_assignment import TopicPartition as Assigned
from _wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from _wire.messages.consumer_protocol_subscription import TopicPartition as Owned
from coordinator.audit import schema
from coordinator.core.causes import Cause
from coordinator.core.event import Event
from coordinator.core.groups.events import GroupCreated, GroupRemoved
from coordinator.core.groups.states import GroupState
from tests.simulation.simulation import Simulation

Partitions = Mapping[str, list[int]]
"""Topic → partitions."""


def subscription(*topics: str, owned: Partitions | None = None) -> bytes:
    claims = [Owned(topic=topic, partitions=indexes) for topic, indexes in (owned or {}).items()]
    return encode_versioned(ConsumerProtocolSubscription(topics=list(topics), owned_partitions=claims), 1)


def assignment(partitions: Partitions) -> bytes:
    assigned = [Assigned(topic=topic, partitions=indexes) for topic, indexes in partitions.items()]
    return encode_versioned(ConsumerProtocolAssignment(assigned_partitions=assigned), 1)


def sync(sim: Simulation, plan: Mapping[str, bytes | Partitions]) -> list[schema.AuditEvent]:
    """All members sync, the leader last; returns the events of that."""
    before = len(sim.audited())
    leader = sim.group.leader
    assert leader is not None
    for member_id in sim.group.members:
        if member_id != leader:
            sim.sync(member_id)
    sim.sync(leader, {each: part if isinstance(part, bytes) else assignment(part) for each, part in plan.items()})
    assert sim.group.state is GroupState.STABLE
    return sim.audited()[before:]


def rejoin(sim: Simulation, claims: Mapping[str, Partitions] | None = None) -> None:
    """A rebalance in which everybody joins again, the leader first; with `claims`, as cooperative assignors do."""
    leader = sim.group.leader
    assert leader is not None
    for member_id in sorted(sim.group.members, key=lambda each: each != leader):
        owned = (claims or {}).get(member_id)
        metadata = subscription("t", owned=owned)
        instance_id = sim.group.members[member_id].group_instance_id
        sim.join("again", member_id, metadata=metadata, instance_id=instance_id, version=5)
    assert sim.group.state is GroupState.COMPLETING_REBALANCE


def assigned(events: list[schema.AuditEvent]) -> dict[str, schema.MemberAssigned]:
    """Member id → its assignment."""
    return {event.member.member_id: event for event in events if isinstance(event, schema.MemberAssigned)}


def stable(events: list[schema.AuditEvent]) -> schema.GenerationStable:
    (event,) = (event for event in events if isinstance(event, schema.GenerationStable))
    return event


def created(group_id: str, now_ms: int) -> list[Event]:
    """For `queue_events`: an empty group, as its first commit makes it."""
    return [GroupCreated(group_id=group_id, at_ms=now_ms)]


def removed(group_id: str, now_ms: int) -> list[Event]:
    """For `queue_events`: as DeleteGroups removes an empty group without offsets."""
    return [GroupRemoved(group_id=group_id, at_ms=now_ms, cause=Cause.ADMIN)]
