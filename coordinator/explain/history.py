"""Folds the audit events of one group into its generations, its members and what was done to its offsets."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Self

from coordinator.audit import schema
from coordinator.audit.schema import AuditEvent
from coordinator.explain.fold import groups, members, rebalances, streams
from coordinator.explain.folded_group import GENERATIONS_KEPT, FoldedGroup, Sign
from coordinator.explain.replaced_clients import with_clients

STARTS: Final = (schema.CoordinatorStarted, schema.LeadershipTaken)
LOADS: Final = (*STARTS, schema.CoordinatorUnavailable)
"""What groups are loaded after."""
ABSENCES: Final = (*STARTS, schema.CoordinatorStopped, schema.CoordinatorPaused, schema.CoordinatorUnavailable)
"""The events about the coordinator itself that say when it was not there."""

GROUP: Final = "GROUP"

BEGINS_GROUP: Final = (schema.GroupCreated, schema.MemberJoined)
"""After one of these, a node coordinates the group."""

HANDLERS: Final[Mapping[type[AuditEvent], Callable[[FoldedGroup, Any], None]]] = {
    **members.HANDLERS,
    **rebalances.HANDLERS,
    **groups.HANDLERS,
    **streams.HANDLERS,
}


class GroupHistory(FoldedGroup):
    """All that the events of a group tell, applied one by one."""

    @classmethod
    def of(cls, group_id: str, events: Iterable[AuditEvent], generations_max: int = GENERATIONS_KEPT) -> Self:
        """Fold events in any order, those of other groups left out."""
        history = cls(group_id, generations_max)
        for event in sorted(
            (given for given in events if given.group_id == group_id), key=lambda audit_event: audit_event.seq
        ):
            history.apply(event)
        return history

    def apply(self, event: AuditEvent) -> bool:
        """Apply the next event of the group; return False if it was applied before, which changes nothing."""
        if self.ended:
            self.ended = []
        if event.seq <= self.last_seq:
            self.doubles += 1
            return False
        self.note_place(event)
        if event.coordinator_epoch != self.coordinator_epoch:
            self.coordinator_epoch = event.coordinator_epoch
            for tracked in self.members.values():
                tracked.was_loaded = True
                tracked.set_revoking(is_revoking=tracked.is_revoking)
            self.sign_before, self.last_sign = self.last_sign, None
        self.last_sign = Sign(event.node_id, event.time_ms)
        if self.held and isinstance(event, BEGINS_GROUP):
            self.is_folded = True
        handler = HANDLERS.get(type(event))
        if self.clients:
            event = with_clients(event, self.clients)
        if handler is not None:
            handler(self, event)
        self.last_seq, self.last_ms = event.seq, event.time_ms
        self.state, self.generation_id = event.state, event.generation_id
        return True

    def go_on(self, events: Sequence[schema.CoordinatorEvent]) -> None:
        """Take the absences of the coordinator that were told of while nobody read of this group.

        Starts and takeovers may be told once more.
        """
        self.coordinator_events.extend(events)
        for event in events:
            if isinstance(event, LOADS):  # the group has no event of its own, if nothing of it was lost
                loaded_ms = event.until_ms if isinstance(event, schema.CoordinatorUnavailable) else event.time_ms
                self.loaded_ms = max(self.loaded_ms or 0, loaded_ms)
            if isinstance(event, STARTS):
                is_of_epoch = event.coordinator_epoch == self.coordinator_epoch
                self.note_sign(event, self.sign_before if is_of_epoch else self.last_sign)

    def note_coordinator(self, event: schema.CoordinatorEvent) -> None:
        """Take an event about the coordinator itself, in its order among those of the group's partition.

        What says nothing of this group is left out.
        """
        if isinstance(event, ABSENCES):
            if not self.is_of_cluster:
                self.go_on([event])
        elif isinstance(event, schema.AuthorizationDenied):
            if event.resource_name == self.group_id and event.resource_type.upper() == GROUP:
                self.denials.append(event)
        elif isinstance(event, schema.GroupHeldByCluster) and event.group_id == self.group_id:
            self.held.append(event)
            self.is_folded = False
            self.last_ms = max(self.last_ms or 0, event.time_ms)
