"""The group as a whole: its type, its end, its load by a coordinator, its offsets."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from coordinator.audit import schema
from coordinator.audit.schema import AuditEvent, MemberSnapshot
from coordinator.core.causes import Cause
from coordinator.explain.changes import Changes, Removal
from coordinator.explain.fold.members import BY_REQUEST, apply_removal
from coordinator.explain.folded_group import PREPARING, REBALANCE_STATES, STABLE, FoldedGroup
from coordinator.explain.generation import OF_EPOCHS, Outcome
from coordinator.explain.known_member import MemberSoFar
from coordinator.explain.owners import EAGER_ASSIGNORS, Owners, without
from coordinator.explain.protocols.table import protocol_of

NO_PLACE: Final = frozenset({"GROUP_MAX_SIZE_REACHED", "INCONSISTENT_GROUP_PROTOCOL", "UNRELEASED_INSTANCE_ID"})
"""Why a client is refused that depends on who is in the group."""

WholeGroup = schema.GroupLoaded | schema.GroupSnapshot | schema.GroupConverted


def _created(history: FoldedGroup, event: schema.GroupCreated) -> None:
    history.group_type = event.group_type


def _converted(history: FoldedGroup, event: schema.GroupConverted) -> None:
    """A rebalance in progress is given up: the members are asked to join again, or reconcile from now on."""
    if history.latest is not None and history.latest.is_open:
        history.latest.converted_to = event.group_type
    history.end_awaiting()
    history.close_latest(Outcome.SUPERSEDED, event.time_ms)
    history.conversions.append(event)
    for departed in event.departed:
        apply_removal(history, departed, event.time_ms, event.seq)
    _apply_members(history, event, event.members)
    if event.group_type in OF_EPOCHS:
        for snapshot in event.members:
            history.owners.is_given_back(snapshot.member.member_id, snapshot.partitions, event.time_ms)


def _group_removed(history: FoldedGroup, event: schema.GroupRemoved) -> None:
    history.end_awaiting()
    history.close_latest(Outcome.CUT_SHORT, event.time_ms)
    history.members.clear()
    history.pending_changes = Changes()
    history.owners = Owners()
    history.removals.append(event)


def _loaded(history: FoldedGroup, event: schema.GroupLoaded) -> None:
    """Take back the events that did not take effect; what they told stays visible as cut short."""
    history.loads.append(event)
    history.owners.appeared.clear()
    history.is_shutting_down = False
    history.loaded_ms = event.time_ms
    history.end_awaiting()
    latest = history.latest
    # Each step of a reconciliation is stored, so it goes on; a join phase begins again.
    goes_on = protocol_of(event.group_type).stores_steps and event.state in REBALANCE_STATES
    kept = latest if goes_on and latest is not None and latest.generation_id == event.generation_id else None
    if kept is None:
        history.close_latest(Outcome.CUT_SHORT, event.time_ms)
    if event.void_from_seq is not None:
        _retract_replacements(history, event, event.void_from_seq)
        for generation in history.generations:
            if generation is not kept:
                generation.retract(event.void_from_seq)
        # Who was refused a place in a group that never was asks for it again.
        void = [
            rejected
            for rejected in history.rejected
            if rejected.seq >= event.void_from_seq and rejected.error in NO_PLACE
        ]
        for rejection in void:
            history.rejected.remove(rejection)
    went = _went_by_themselves(history)
    history.pending_changes = Changes()
    for loaded in event.members:
        if loaded.member.member_id not in history.members and loaded.member.member_id not in went:
            history.owners.went_on(loaded.member.member_id)  # its removal did not take effect
    _apply_members(history, event, event.members)


def _went_by_themselves(history: FoldedGroup) -> set[str]:
    """Members whose last removal followed from a request of their own: they have stopped, whatever is loaded.

    One that finds no room goes on trying, and keeps what it has, if its assignor may be cooperative.
    """
    stable = history.latest_stable
    stops = BY_REQUEST if stable is not None and stable.protocol_name in EAGER_ASSIGNORS else {Cause.MEMBER_LEFT}
    last: dict[str, Removal] = {}
    for changes in (*(generation.changes for generation in history.generations), history.pending_changes):
        last.update((removal.member.member_id, removal) for removal in changes.removed)
    return {member_id for member_id, removal in last.items() if removal.cause in stops and removal.requested_by is None}


def _retract_replacements(history: FoldedGroup, event: schema.GroupLoaded, void_from_seq: int) -> None:
    """Static members have the ids again that they had: their partitions go back to these."""
    loaded = {member.member.member_id: member.member for member in event.members}
    replaced = list(history.pending_changes.replaced)
    for generation in history.generations:
        replaced += [*generation.changes.replaced, *generation.replaced_while_stable]
    for replacement in sorted(replaced, key=lambda replacement: replacement.seq, reverse=True):
        if replacement.seq >= void_from_seq:
            # Of several that replaced each other the one before all of them is there again.
            before = msgspec.structs.replace(replacement.member, member_id=replacement.old_member_id)
            old = loaded.get(replacement.old_member_id, before)
            history.owners.replaced(replacement.member.member_id, old)


def _snapshot(history: FoldedGroup, event: schema.GroupSnapshot) -> None:
    _apply_members(history, event, event.members)
    latest = history.latest
    # An epoch that was stable is over, also while a static member that has left for a moment is away.
    stable = history.latest_stable
    was_stable = protocol_of(event.group_type).stores_steps and stable is not None and stable.is_same(event)
    # So is one without any stable epoch yet, in which nobody had anything to get.
    was_stable |= latest is None and any(
        progress.member_epoch == schema.LEFT_FOR_A_MOMENT for progress in event.progress.values()
    )
    if event.state in REBALANCE_STATES and not was_stable and (latest is None or not latest.is_open):
        generation = history.open_generation(event, event.generation_id + (event.state == PREPARING))
        generation.member_count = len(event.members)


def _apply_members(history: FoldedGroup, event: WholeGroup, members: list[MemberSnapshot]) -> None:
    tracked, history.group_type, history.joined_ms = history.members, event.group_type, None
    history.members = {}
    for snapshot in members:
        progress = event.progress.get(snapshot.member.member_id)
        before = tracked.get(snapshot.member.member_id) or MemberSoFar(snapshot.member)
        # Only the events of this run of the coordinator know the software and the principal of the client.
        knows_client = snapshot.member.client_software_name or snapshot.member.principal
        member = snapshot.member if knows_client else before.member
        history.members[snapshot.member.member_id] = msgspec.structs.replace(
            before,
            member=member,
            subscribed_topics=tuple(snapshot.subscribed_topics),
            partitions=snapshot.partitions,
            unnamed_partitions=snapshot.unnamed_partitions,
            revoking={} if progress is None else progress.revoking,
            is_revoking=progress is not None and progress.revoking_count > 0,
        )
        if not history.owners.are_complete:  # else it may be what they are to have, or had of a topic that is gone
            history.owners.found(member, snapshot.partitions)
    history.owners.are_complete |= event.state == STABLE and not any(listed.unnamed_partitions for listed in members)
    latest = history.latest_stable
    are_complete = latest is not None and (latest.created_seq, latest.generation_id) == (
        event.created_seq,
        event.generation_id,
    )
    is_converted = isinstance(event, schema.GroupConverted)  # the generation before, or a rebalance follows
    if is_converted:
        _note_lost(history, event, members, tracked)
    if event.state == STABLE and not are_complete and not is_converted:
        _inherit(history, event, members)


def _note_lost(
    history: FoldedGroup, event: WholeGroup, members: list[MemberSnapshot], tracked: Mapping[str, MemberSoFar]
) -> None:
    """A group that changes its type gives its members what the other type had assigned last, which may be less."""
    for snapshot in members:
        before = tracked.get(snapshot.member.member_id)
        if before is not None and not snapshot.unnamed_partitions:
            lost = without(before.partitions, snapshot.partitions)
            history.owners.revoked(snapshot.member.member_id, lost, event.time_ms, is_unsure=True)


def _inherit(history: FoldedGroup, event: WholeGroup, members: list[MemberSnapshot]) -> None:
    """A stable generation whose rebalance is not among the events."""
    generation = history.begin_generation(event, event.generation_id)
    generation.outcome, generation.ended_ms, generation.has_gap = Outcome.STABLE, event.time_ms, True
    generation.protocol_type, generation.protocol_name = event.protocol_type, event.protocol_name
    generation.leader, generation.member_count = event.leader, len(members)
    for member in members:
        part = generation.part_of(member.member)
        part.is_assigned, part.partitions = True, member.partitions
        part.unnamed_partitions = member.unnamed_partitions
    generation.partitions = sum(
        sum(map(len, member.partitions.values())) + member.unnamed_partitions for member in members
    )
    history.owners.end_generation()  # changes until then belong to no generation
    history.ended.append(generation)


def _committed(history: FoldedGroup, event: schema.OffsetsCommitted) -> None:
    history.last_commit_ms = event.time_ms
    latest = history.latest
    if latest is not None and latest.outcome is Outcome.STABLE:
        latest.commits += event.commits
        latest.last_commit_ms = event.time_ms
        if latest.first_commit_ms is None:
            latest.first_commit_ms = event.time_ms


def _offsets_gone(history: FoldedGroup, event: schema.OffsetsDeleted | schema.OffsetsExpired) -> None:
    if event.unnamed_partitions or any(event.partitions.values()):
        history.deletions.append(event)
    if isinstance(event, schema.OffsetsDeleted) and event.cause is Cause.TOPIC_DELETED:
        # What is created again under this name has had no owner, also if nobody was in the group to notice it.
        for topic in event.partitions:
            history.owners.deleted(topic, 0)


def _offsets_reset(history: FoldedGroup, event: schema.OffsetsReset) -> None:
    history.resets.append(event)


def _share_records(history: FoldedGroup, event: schema.ShareRecords) -> None:
    history.share_records.append(event)


def _rejected(history: FoldedGroup, event: schema.RequestRejected) -> None:
    history.rejected.append(event)
    if event.error == "ILLEGAL_GENERATION" and not event.injected and not _has_joined(history, event):
        history.owners.gave_up(
            event.member.member_id, event.time_ms, consumed_ms=_learned_until(history, event.request_generation_id)
        )


def _learned_until(history: FoldedGroup, named_id: int | None) -> int | None:
    """Until when a client that names a generation had what it was assigned: it never learned of a later one."""
    stable = history.latest_stable
    if stable is None or stable.ended_ms is None or named_id is None or named_id >= stable.generation_id:
        return None
    return stable.ended_ms - 1


def _has_joined(history: FoldedGroup, event: schema.RequestRejected) -> bool:
    """Whether it has joined since it sent a request: what it had sent before that is answered with an error, too.

    It waits in the join phase in progress, or was a member of the last generation, which its request does not name.
    """
    member_id, named_id = event.member.member_id, event.request_generation_id
    part = None if history.joining is None else history.joining.members.get(member_id)
    if part is not None and part.join_ms is not None:
        return True
    stable = history.latest_stable
    part = None if stable is None or stable.is_epoch else stable.members.get(member_id)
    is_older = stable is not None and named_id is not None and named_id < stable.generation_id
    return is_older and part is not None and part.join_ms is not None


HANDLERS: Final[Mapping[type[AuditEvent], Callable[[FoldedGroup, Any], None]]] = {
    schema.GroupCreated: _created,
    schema.GroupConverted: _converted,
    schema.GroupRemoved: _group_removed,
    schema.GroupLoaded: _loaded,
    schema.GroupSnapshot: _snapshot,
    schema.OffsetsCommitted: _committed,
    schema.OffsetsExpired: _offsets_gone,
    schema.OffsetsDeleted: _offsets_gone,
    schema.OffsetsReset: _offsets_reset,
    schema.RequestRejected: _rejected,
    schema.ShareRecords: _share_records,
    schema.GroupUnseen: lambda history, event: history.unseen.append(event),
}
