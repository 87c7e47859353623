"""What holds for every classic group after every step (`groups/checked.py`)."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from coordinator.core.classic.group import ClassicGroup
from coordinator.core.classic.records import NO_TIMEOUT
from coordinator.core.classic.states import LEGAL_PREDECESSORS
from coordinator.core.groups.kind import DerivedField, KindChecks
from coordinator.core.groups.states import PREPARING_REBALANCE


def durable_part(group: ClassicGroup) -> tuple[object, ...]:
    """What a record keeps of a group.

    Not its subscriptions: as on Kafka, a static member that comes back without a rebalance counts with its old
    subscription until the next rebalance, and after a load with its new one.
    """
    members = [
        (
            member.member_id,
            member.group_instance_id,
            member.client_id,
            member.client_host,
            member.session_timeout_ms,
            # Read as absent, as on Kafka, although a client may ask for this value.
            member.session_timeout_ms if member.rebalance_timeout_ms == NO_TIMEOUT else member.rebalance_timeout_ms,
            member.metadata_for(group.protocol_name),
            member.assignment,
        )
        for member in group.members.values()
    ]
    names = group.protocol_type, group.protocol_name, group.leader, tuple(group.static_members.items())
    return group.state, group.state_since_ms, group.generation_id, *names, *members


def derived_fields(group: ClassicGroup) -> Iterator[DerivedField]:
    """The fields that follow from others."""
    members = group.members.values()
    names = Counter(name for member in members for name in {protocol.name for protocol in member.protocols})
    holders = {member.group_instance_id: member.member_id for member in members if member.group_instance_id is not None}
    waiting = sum(member.awaiting_join is not None for member in members)
    yield DerivedField("static members", group.static_members, holders)
    yield DerivedField("protocols", group.protocol_support, dict(names))
    yield DerivedField("members that wait to join", group.awaiting_join_count, waiting)
    yield DerivedField("members that are pending too", group.pending_members.keys() & group.members.keys(), set())
    yield DerivedField("pending syncs of others", group.pending_sync - group.members.keys(), set())
    yield DerivedField("leader", group.leader in group.members, bool(group.members))
    yield DerivedField("join phase", group.rebalance is not None, group.state is PREPARING_REBALANCE)


CHECKS: Final = KindChecks(
    legal_predecessors=LEGAL_PREDECESSORS, durable_part=durable_part, derived_fields=derived_fields
)
