"""What holds for every streams group after every step (`groups/checked.py`)."""

from collections.abc import Iterator
from typing import Final

from coordinator.core.groups.kind import DerivedField, KindChecks
from coordinator.core.groups.states import EMPTY
from coordinator.core.streams.group import StreamsGroup
from coordinator.core.streams.member import TasksState
from coordinator.core.streams.states import LEGAL_PREDECESSORS
from coordinator.core.streams.task_owners import TaskOwners


def durable_part(group: StreamsGroup) -> tuple[object, ...]:
    """What the records keep of a group."""
    members = {
        member.member_id: (member.metadata, member.current, group.targets.get(member.member_id))
        for member in group.members.values()
    }
    epochs = group.epoch, group.metadata_hash, group.validated_topology_epoch, group.target_epoch
    configs = dict(group.assignment_configs)
    return group.state, *epochs, group.target_computed_ms, configs, group.topology, members


def derived_fields(group: StreamsGroup) -> Iterator[DerivedField]:
    """The fields that follow from others."""
    members = group.members.values()
    yield DerivedField("state", group.state is EMPTY, not group.members)
    reconciled = sum(member.is_reconciled_to(group.target_epoch) for member in members)
    yield DerivedField("members with all their tasks", group.reconciled_count, reconciled)
    yield DerivedField("targets of nobody", group.targets.keys() - group.members.keys(), set())
    owners = TaskOwners()
    for member in members:
        owners.own(member)
    yield DerivedField("active tasks by process", group.owners.active.keys(), owners.active.keys())
    yield DerivedField("active tasks by member", group.owners.active_members.keys(), owners.active.keys())
    yield DerivedField("standby tasks by process", group.owners.standby, owners.standby)
    revoking = {member.member_id for member in members if member.current.state is TasksState.UNREVOKED_TASKS}
    timed = {member_id for member_id, _ in group.deadlines.by_key}
    yield DerivedField("timers of members that give up nothing", timed - revoking, set())


CHECKS: Final = KindChecks(
    legal_predecessors=LEGAL_PREDECESSORS, durable_part=durable_part, derived_fields=derived_fields
)
