"""Rebalances: from what began one to the assignments of its members and its end."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from coordinator.audit import schema
from coordinator.audit.schema import AuditEvent
from coordinator.core.causes import Cause
from coordinator.explain.changes import Changes, FoundTopics, Replacement, misses_heartbeats
from coordinator.explain.fold.members import keeps_what_it_owns, may_keep_what_it_owns
from coordinator.explain.folded_group import EMPTY, RECONCILED, STABLE, FoldedGroup
from coordinator.explain.generation import OF_EPOCHS, Generation, LateTarget, Outcome
from coordinator.explain.known_member import MemberSoFar
from coordinator.explain.owners import without

STALE_GENERATIONS: Final = 2
"""The one in which it is not known which topic is meant, and the next one, which is compared with it."""

EPOCHS_AWAITED_MAX: Final = 20
"""So many epochs may rise while a target is computed until nobody waits for what it tells of its own epoch."""

JOINS: Final = frozenset(
    {Cause.LEADER_REJOINED, Cause.MEMBER_REJOINED, Cause.METADATA_CHANGED, Cause.NEW_MEMBER, Cause.STATIC_REPLACED}
)
"""What begins a rebalance by a JoinGroup: nobody waits for one of that member."""


def _rebalance_started(history: FoldedGroup, event: schema.RebalanceStarted) -> None:
    previous = history.latest
    history.owners.resumed(event.time_ms)
    # A group epoch has risen already; a classic generation is counted when all members have joined.
    is_epoch = history.group_type in OF_EPOCHS
    generation = history.begin_generation(event, event.generation_id + (not is_epoch))
    changes, history.pending_changes = history.pending_changes, Changes()
    earlier = [replacement for replacement in changes.replaced if replacement.at_ms < event.time_ms]
    if previous is not None and previous.outcome is Outcome.STABLE:
        previous.replaced_while_stable += earlier
        changes.replaced = [replacement for replacement in changes.replaced if replacement.at_ms >= event.time_ms]
        if is_epoch:
            _note_replaced(history, changes.replaced)
    generation.changes = changes
    awaiting = history.awaiting
    if awaiting is not None and event.generation_id - awaiting.generation_id > EPOCHS_AWAITED_MAX:
        history.end_awaiting()
    generation.rebalance_started_ms = event.time_ms
    generation.cause, generation.member, generation.reason = event.cause, event.member, event.reason
    generation.triggers = _triggers(history, event)
    generation.topology = history.topology
    generation.shutdown = history.shutdown if history.is_shutting_down else None
    generation.topic_changes = dict(event.topic_changes)
    generation.recreated_topics = list(event.recreated_topics)
    # After a load the coordinator knows a topic by its name alone; that it was deleted was told.
    generation.recreated_topics += [
        topic
        for topic, (before, now) in event.topic_changes.items()
        if before
        and now
        and topic in history.owners.gone
        and topic not in history.owners.appeared
        and topic not in generation.recreated_topics
    ]
    stable = history.latest_stable
    # A load reads the topics again: one that did not exist then is not the one that was assigned before.
    was_loaded = stable is not None and stable.coordinator_epoch != event.coordinator_epoch
    assigned = {} if stable is None or was_loaded else stable.owners()
    for topic, (before, now) in event.topic_changes.items():
        # What there was of that name is gone, unless the last leader assigned what came just before.
        is_new = topic in generation.recreated_topics or (not before and topic not in assigned)
        if is_new or now < before:
            history.owners.deleted(topic, 0 if is_new else now)
        if now and not before:
            history.owners.appeared.add(topic)
    generation.member_count = event.members
    generation.lag_before = event.lag
    generation.began_ms, generation.is_from_empty = event.time_ms, event.state_before == EMPTY
    if previous is not None and previous.outcome in (Outcome.SUPERSEDED, Outcome.CUT_SHORT):
        generation.began_ms, generation.tries = previous.began_ms, previous.tries + 1
        if generation.is_epoch and previous.reconciliations is not None and not previous.is_void:
            generation.reconciliations = previous.reconciliations.unfinished()
    for joined in changes.joined:
        if joined.member.member_id in history.members:
            generation.part_of(joined.member).join_ms = 0
    if event.cause in JOINS and event.member is not None and event.member.member_id in history.members:
        generation.part_of(event.member).join_ms = 0


def _triggers(history: FoldedGroup, event: schema.RebalanceStarted | schema.GenerationStarted) -> list[schema.Trigger]:
    """What made a rebalance necessary.

    Who had joined before the last epoch started is a member of that one; it raises another one if its topics are found
    by a regular expression.
    """
    stable = history.latest_stable
    started_ms = None if stable is None or not stable.is_epoch else stable.generation_started_ms

    def is_of_it(trigger: schema.Trigger) -> bool:
        if trigger.cause is not Cause.NEW_MEMBER or trigger.member is None or started_ms is None:
            return True
        member = history.members.get(trigger.member.member_id)
        return trigger.at_ms > started_ms or member is None or member.has_pattern

    return [trigger for trigger in event.triggers if is_of_it(trigger)]


def _note_replaced(history: FoldedGroup, replaced: list[Replacement]) -> None:
    """With who comes back the epoch rises: what it had had no owner until it has that again, which an event tells."""
    for replacement in replaced:
        member = history.members.get(replacement.member.member_id)
        if replacement.stopped_ms is not None and member is not None and member.awaits_part:
            history.owners.gave_up(replacement.member.member_id, replacement.stopped_ms, is_unsure=True)


def _patterns_resolved(history: FoldedGroup, event: schema.PatternsResolved) -> None:
    history.pending_changes.found = FoundTopics(event.time_ms, event.seq, event.patterns)


def _generation_started(history: FoldedGroup, event: schema.GenerationStarted) -> None:
    if event.target_epoch is not None and event.target_epoch < event.generation_id:
        _late_target(history, event, event.target_epoch)
        return
    history.end_awaiting()
    generation = history.open_generation(event, event.generation_id)
    if generation.rebalance_started_ms is None:
        generation.rebalance_started_ms = event.time_ms - (event.join_ms or 0)
    generation.generation_started_ms = event.time_ms
    generation.triggers = _triggers(history, event) or generation.triggers
    for topic in event.gone_topics:
        history.owners.deleted(topic, 0)
    history.owners.note_topic_ids(event.topic_ids)
    history.owners.gone_before = set(history.owners.gone)
    generation.unnamed_triggers = event.unnamed_triggers
    generation.pending_members = list(event.pending_members)
    generation.protocol_type, generation.protocol_name = event.protocol_type, event.protocol_name
    generation.leader, generation.member_count = event.leader, event.members
    generation.join_ms = event.join_ms
    if generation.is_epoch and event.join_ms is not None:
        generation.join_ms = max(0, event.time_ms - generation.rebalance_started_ms)
    generation.slowest_join = generation.slowest_of(event)
    for tracked in history.members.values():
        generation.part_of(tracked.member)
    _note_absent(history, generation, event)


def _note_absent(history: FoldedGroup, generation: Generation, event: schema.GenerationStarted) -> None:
    """Static members that did not join in the join phase are assigned partitions all the same, if any.

    Those whose heartbeats had stopped consume nothing. What was sent in a pause, such as a last heartbeat, is heard
    after it.
    """
    pauses = (pause.until_ms for pause in history.coordinator_events if isinstance(pause, schema.CoordinatorPaused))
    listened_ms = max((until_ms for until_ms in pauses if until_ms <= event.time_ms), default=0)
    for absent in event.absent:
        existing = history.members.get(absent.member_id)
        # Of one that was not heard since a load the rebalance, which began after that, heard nothing.
        heard_ms = generation.rebalance_started_ms if absent.last_heard_ms is None else absent.last_heard_ms
        if existing is None or not existing.session_timeout_ms or heard_ms is None:
            continue
        if misses_heartbeats(event.time_ms - max(heard_ms, listened_ms), existing.session_timeout_ms):
            history.owners.was_missed(absent.member_id, heard_ms)


def _late_target(history: FoldedGroup, event: schema.GenerationStarted, epoch: int) -> None:
    """An epoch starts that another one has superseded: members reconcile with it until the next target is there."""
    latest = history.latest
    if latest is not None and latest.is_open:
        latest.late_target = LateTarget(epoch, event.time_ms)
    for generation in reversed(history.generations):
        if generation.generation_id == epoch and generation.created_seq == event.created_seq:
            generation.start_late(event)
            break
    history.end_awaiting()


def _assigned(history: FoldedGroup, event: schema.MemberAssigned) -> None:
    member, partitions = event.member, event.partitions
    if _is_of_a_rebalance(history, event):
        part = history.open_generation(event, event.generation_id).part_of(member)
        part.member, part.is_assigned, part.is_readable = member, True, event.readable
        if event.join_ms is not None:
            part.join_ms = max(event.join_ms, part.join_ms or 0)  # it may have joined again, after others
        part.sync_ms = event.sync_ms
        part.partitions, part.unnamed_partitions = partitions, event.unnamed_partitions
        part.gained, part.lost, part.kept = event.gained, event.lost, event.kept
        part.claimed = event.claimed or 0
        part.has_lost = any(topic not in history.owners.gone_before for topic in event.lost)
        before = history.members.get(member.member_id)
        part.worker, part.worker_before = event.worker, None if before is None else before.worker
    tracked = history.members.get(member.member_id)
    if tracked is None:
        tracked = history.members[member.member_id] = MemberSoFar(member)
    had = tracked.partitions
    tracked.partitions, tracked.unnamed_partitions, tracked.worker = partitions, event.unnamed_partitions, event.worker
    _apply_claims(history, event, tracked, had)
    owners = history.owners
    if any(topic in owners.gone and topic not in owners.gone_before for topic in partitions):
        owners.stale = STALE_GENERATIONS
    history.owners.assigned(member, partitions, event.time_ms)
    if not event.unnamed_partitions:
        history.owners.has_no_more(member, partitions, event.time_ms)


def _apply_claims(
    history: FoldedGroup, event: schema.MemberAssigned, tracked: MemberSoFar, had: schema.TopicPartitions
) -> None:
    """What a member said that it still owns when it rejoined tells what it had given up, whatever its assignor."""
    owners = history.owners
    protocol_name = "" if history.latest is None else history.latest.protocol_name
    kept = sum(len(indexes) for topic, indexes in event.kept.items() if topic not in owners.gone_before)
    if event.claimed and event.claimed >= kept and _has_rejoined(history, tracked):
        # Its assignor is cooperative, whatever its name: it had given up nothing before it got its assignment.
        owners.went_on(event.member.member_id, had)
        if event.claimed > kept:
            owners.never_gave_up(event.member.member_id, event.gained, event.claimed - kept, event.time_ms)
        owners.claiming.update(filter(None, [protocol_name]))
    elif event.claimed == 0 and (protocol_name in owners.claiming or "cooperative" in protocol_name):
        if event.kept and _has_rejoined(history, tracked):
            # It had lost all that before it rejoined, as clients do that find no coordinator for some time.
            owners.gave_up(event.member.member_id, tracked.joined_ms or 0, is_unsure=True)
            if keeps_what_it_owns(history, tracked):
                owners.doubt(event.member.member_id)
            owners.had_lost(event.member, event.lost, tracked.joined_ms or 0, event.time_ms)
        elif "cooperative" not in protocol_name and _loses_what_it_had(history, event, tracked):
            owners.went_on(event.member.member_id, had)  # until now, as its protocol is cooperative
    elif _may_have_kept(history, event, tracked):
        owners.went_on(event.member.member_id, had)  # until now, perhaps
        owners.gave_up(event.member.member_id, event.time_ms, is_unsure=True)


def _may_have_kept(history: FoldedGroup, event: schema.MemberAssigned, tracked: MemberSoFar) -> bool:
    """Whether a member loses all that it had, and nobody knows yet whether it gave that up when it rejoined."""
    is_open = event.claimed == 0 and _loses_what_it_had(history, event, tracked)
    return is_open and may_keep_what_it_owns(history, tracked)


def _loses_what_it_had(history: FoldedGroup, event: schema.MemberAssigned, tracked: MemberSoFar) -> bool:
    """Whether a member loses all that it was assigned, and had some of that."""
    if not event.lost or event.kept or _is_new(history, tracked):
        return False
    return not history.owners.never_began(event.member.member_id, event.lost)


def _is_new(history: FoldedGroup, tracked: MemberSoFar) -> bool:
    """Whether a member is a process that took the place of another one in the rebalance in progress."""
    began_ms = None if history.latest is None else history.latest.began_ms
    return began_ms is not None and tracked.replaced_ms is not None and tracked.replaced_ms >= began_ms


def _has_rejoined(history: FoldedGroup, tracked: MemberSoFar) -> bool:
    """Whether a member has joined in the rebalance in progress: of a static one that is silent nobody asks it."""
    began_ms = None if history.latest is None else history.latest.rebalance_started_ms
    return began_ms is not None and tracked.joined_ms is not None and tracked.joined_ms >= began_ms


def _reconciled(history: FoldedGroup, event: schema.MemberReconciled) -> None:
    member, partitions = event.member, event.partitions
    latest = history.latest
    if latest is not None and latest.is_open and latest.reconciliations is not None:
        part = history.open_generation(event, event.generation_id).part_of(member)
        part.member, part.is_assigned = member, True
        part.partitions, part.unnamed_partitions = partitions, event.unnamed_partitions
        part.gained, part.lost, part.kept = event.gained, event.lost, event.kept
        is_there = event.member_state == RECONCILED and event.member_epoch == event.generation_id
        part.sync_ms = event.reconcile_ms if is_there else None
        latest.reconciliations.apply(event)
        if latest.late_target is not None and event.member_epoch == latest.late_target.epoch:
            latest.late_target.was_used = True
    tracked = history.members.get(member.member_id)
    if tracked is None:
        tracked = history.members[member.member_id] = MemberSoFar(member)
    history.owners.never_got(member.member_id, event.unclaimed, event.last_heard_ms, event.time_ms)
    history.owners.assigned(member, partitions, event.time_ms)
    # Partitions that it was asked to give up are its own until it has done so. A member of the classic protocol is not
    # asked: it gives them up before its JoinGroup, and may have to send that several times.
    for given_up, is_unsure in ((event.lost, True), (tracked.revoking, _may_have_waited(event, tracked))):
        released = without(without(given_up, event.revoking), partitions)
        history.owners.revoked(member.member_id, released, event.time_ms, is_unsure=is_unsure)
    tracked.partitions, tracked.unnamed_partitions = partitions, event.unnamed_partitions
    tracked.awaits_part = False
    tracked.left_ms = event.time_ms if event.member_epoch == schema.LEFT_FOR_A_MOMENT else None
    tracked.revoking = event.revoking
    tracked.set_revoking(is_revoking=event.revoking_count > 0)


def _may_have_waited(event: schema.MemberReconciled, tracked: MemberSoFar) -> bool:
    """Whether a member may have given up long ago what it says now: its heartbeats did not come."""
    if event.last_heard_ms is None or not tracked.session_timeout_ms:
        return False
    return misses_heartbeats(event.time_ms - event.last_heard_ms, tracked.session_timeout_ms)


def _is_of_a_rebalance(history: FoldedGroup, event: schema.MemberAssigned) -> bool:
    """In a group of KIP-848, what a member holds also changes while its generation is stable, or before any."""
    latest = history.latest
    is_open = latest is not None and latest.is_open and latest.generation_id == event.generation_id
    return is_open or event.state not in (STABLE, EMPTY)


def _is_over(history: FoldedGroup, event: schema.GenerationStable | schema.RebalanceSuperseded) -> bool:
    """Whether the epoch was stable before: a load while a static member is away for a moment does not know that."""
    latest = history.latest
    return latest is not None and latest.outcome is Outcome.STABLE and latest.is_epoch and latest.is_same(event)


def _stable(history: FoldedGroup, event: schema.GenerationStable) -> None:
    if _is_over(history, event):
        return
    generation = history.open_generation(event, event.generation_id)
    generation.become_stable(event)
    if generation.reconciliations is not None:
        generation.reconciliations.ended()
    if generation.is_epoch:
        # Who joined since it started, without raising another epoch, is a member of this one.
        generation.changes.joined += history.pending.pop_joined()
    history.ended.append(generation)
    # Logs of another Kafka's brokers name no partitions.
    are_recorded = not generation.has_gap and event.partitions is not None
    names_all = are_recorded and not any(part.unnamed_partitions for part in generation.members.values())
    if history.owners.stale:
        generation.partitions_moved = generation.unowned_partition_ms = generation.silent_partition_ms = None
        names_all &= history.owners.stale < STALE_GENERATIONS
        history.owners.stale -= 1
    if not names_all:
        history.owners.forget()
    change = history.owners.end_generation(history.members)
    if history.owners.are_complete:
        generation.count_owners(change, history.owners.lost_since(generation.disturbed_ms))
    else:
        history.owners.are_complete = names_all


def _superseded(history: FoldedGroup, event: schema.RebalanceSuperseded) -> None:
    if _is_over(history, event):
        return
    generation = history.open_generation(event, event.generation_id)
    generation.be_superseded(event)
    if not generation.awaits_target:
        history.ended.append(generation)


def _emptied(history: FoldedGroup, event: schema.GroupEmptied) -> None:
    history.end_awaiting()
    generation = history.open_generation(event, event.generation_id)
    generation.end_without_members(event)
    history.is_shutting_down = False
    history.owners.end_generation()  # what its members had for a moment is the past of the next ones
    history.ended.append(generation)


HANDLERS: Final[Mapping[type[AuditEvent], Callable[[FoldedGroup, Any], None]]] = {
    schema.MemberReconciled: _reconciled,
    schema.PatternsResolved: _patterns_resolved,
    schema.RebalanceStarted: _rebalance_started,
    schema.GenerationStarted: _generation_started,
    schema.MemberAssigned: _assigned,
    schema.GenerationStable: _stable,
    schema.RebalanceSuperseded: _superseded,
    schema.GroupEmptied: _emptied,
}
