"""Members that join, rejoin, leave, or take the place of another."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from coordinator.audit import schema
from coordinator.audit.schema import AuditEvent, MemberRef
from coordinator.core.causes import Cause
from coordinator.explain.changes import (
    CAME_TOO_LATE,
    CHANGES_KEPT_MAX,
    LATE_MS,
    Joining,
    Removal,
    Replacement,
    Resubscription,
    misses_heartbeats,
)
from coordinator.explain.folded_group import STABLE, FoldedGroup
from coordinator.explain.generation import OF_EPOCHS, MemberPart, Outcome
from coordinator.explain.identities import identity
from coordinator.explain.known_member import MemberSoFar
from coordinator.explain.leaving import OWN_REJOINS, REVOKES, SYNC_FAILED, Leaving
from coordinator.explain.owners import EAGER_ASSIGNORS, is_cooperative
from coordinator.explain.replaced_clients import remember_client

BY_REQUEST: Final = frozenset({Cause.GROUP_MAX_SIZE_REACHED, Cause.MEMBER_LEFT})
"""Why a member is gone that asked for something at that time."""

GIVES_UP: Final = frozenset({"ILLEGAL_GENERATION", "FENCED_MEMBER_EPOCH"})
"""Answers by which a client learns that it has no place any more, while its member is there still."""

REFUSED_COMMIT: Final = "REBALANCE_IN_PROGRESS"
"""How a commit is answered of a member that waits for its assignment. Heartbeats with this answer renew its session."""

ROUND_TRIP_MS: Final = 2
"""So long it takes, at least, until a member that got the answer to its JoinGroup sends SyncGroup."""

ON_THEIR_WAY_MS: Final = 10
"""So long an assignment and a goodbye may pass each other in a local network."""

AT_ONCE_MS: Final = 1_000
"""A client that waits while the event loop of the coordinator is blocked is back so soon after that."""


def _joined(history: FoldedGroup, event: schema.MemberJoined) -> None:
    history.joined_ms = None
    history.members[event.member.member_id] = MemberSoFar(
        event.member,
        event.session_timeout_ms,
        event.rebalance_timeout_ms,
        event.time_ms,
        tuple(event.subscribed_topics),
        has_pattern=bool(event.subscribed_pattern),
        protocols=tuple(event.protocols),
    )
    pending = history.pending
    joining = Joining(event.member, event.time_ms, event.reason, event.seq, event.fills_group, event.rejected_as)
    pending.add(pending.joined, joining)
    _note_join(history, event.member, event.join_ms, event.time_ms)


def _rejoined(history: FoldedGroup, event: schema.MemberRejoined) -> None:
    history.joined_ms = None
    tracked = history.members.get(event.member.member_id)
    if tracked is None:
        tracked = history.members[event.member.member_id] = MemberSoFar(event.member)
    elif event.metadata_changed:
        pending = history.pending
        pending.add(pending.resubscribed, _resubscription(event, tracked))
    was_loaded, joined_ms = tracked.was_loaded, tracked.joined_ms
    begins_another = _begins_another(history, event, tracked)
    tracked.rejoin(event)
    if history.group_type not in OF_EPOCHS and keeps_what_it_owns(history, tracked):
        history.owners.still_had(event.member.member_id, event.time_ms)
        stable = history.latest_stable
        is_next = stable is not None and (joined_ms or 0) <= (stable.ended_ms or 0)
        part = stable.members.get(event.member.member_id) if stable is not None and is_next else None
        if part is not None and event.reason.startswith(SYNC_FAILED):
            topics = event.subscribed_topics
            lost = {topic: indexes for topic, indexes in part.lost.items() if topic in topics or not topics}
            history.owners.never_had(event.member.member_id, part.gained, lost)
        elif part is not None and _is_unreported(history, event, part):
            history.owners.never_had(event.member.member_id, part.gained, {})
        elif part is not None and was_loaded and event.has_synced is None and part.sync_ms is None:
            history.owners.is_unsure = True  # whether it sent SyncGroup before the load is not known
    elif history.group_type not in OF_EPOCHS:
        stable = history.latest_stable
        part = None if stable is None else stable.members.get(event.member.member_id)
        is_next = stable is not None and (joined_ms or 0) <= (stable.ended_ms or 0)
        if part is not None and is_next and event.has_synced is False and may_keep_what_it_owns(history, tracked):
            history.owners.never_had(event.member.member_id, part.gained, {})
        history.owners.gave_up(
            event.member.member_id,
            event.time_ms,
            is_unsure=_came_late(history, event, was_loaded=was_loaded)
            or _is_unheard_since_replaced(tracked, event)
            or _may_be_busy_since(history, event),
            consumed_ms=0 if event.has_synced is False else _had_until(event),
        )
    _note_join(history, event.member, event.join_ms, event.time_ms)
    part = None if history.joining is None else history.joining.members.get(event.member.member_id)
    if part is not None:
        part.begins_another |= begins_another
        part.had_nothing |= event.has_synced is False


def _begins_another(history: FoldedGroup, event: schema.MemberRejoined, tracked: MemberSoFar) -> bool:
    """Whether a member that joins in a join phase would have begun a rebalance itself, had there been none.

    The leader does, and who changes its metadata; if it says why, subscribes to other topics, or had heard of no
    rebalance: that had begun just before.
    """
    stable = history.latest_stable
    if not event.metadata_changed and (stable is None or stable.leader != event.member.member_id):
        return False
    has_not_heard = event.join_ms is not None and event.join_ms < ROUND_TRIP_MS
    has_other_topics = set(event.subscribed_topics) != set(tracked.subscribed_topics)
    return has_not_heard or has_other_topics or event.reason.startswith(OWN_REJOINS)


def _is_unheard_since_replaced(member: MemberSoFar, event: schema.MemberRejoined) -> bool:
    """Whether a process that took the place of a static member said nothing since: it may not know what that had."""
    replaced_ms = member.replaced_ms
    return replaced_ms is not None and event.last_heard_ms is not None and event.last_heard_ms <= replaced_ms


def _may_be_busy_since(history: FoldedGroup, event: schema.MemberRejoined) -> bool:
    """Whether a member may have worked in one batch since before it was assigned what it has, and never begun with it.

    It joins later than a heartbeat told it to, though its heartbeats came. Of one that is busy for this long it is
    taken for possible that it had been so for as long again.
    """
    stable = history.latest_stable
    if stable is None or stable.ended_ms is None or event.join_ms is None:
        return False
    return event.join_ms > LATE_MS and event.time_ms - stable.ended_ms <= 2 * event.join_ms


def _had_until(event: schema.MemberRejoined) -> int | None:
    """Until when a member that rejoins surely had what it was assigned before; None: not known.

    One that joins a stable group again may not have got the answer to its last request, as its SyncGroup, unless it
    says so. What it says may be as old as its join.
    """
    heard_ms = event.last_heard_ms
    is_surprising = event.state == STABLE and not event.reason.startswith(REVOKES)
    if heard_ms is None or not is_surprising or event.time_ms - heard_ms <= ROUND_TRIP_MS:
        return heard_ms
    return heard_ms - 1


def _is_unreported(history: FoldedGroup, event: schema.MemberRejoined, part: MemberPart) -> bool:
    """Whether a rebalance began so soon after the last one that a member of that had not sent SyncGroup by then.

    Older events do not say so. Java's consumer says why it rejoins; that this was so, too.
    """
    latest, stable = history.latest, history.latest_stable
    if latest is None or stable is None or latest.rebalance_started_ms is None or part.sync_ms is not None:
        return False
    if event.has_synced is not None:
        return not event.has_synced
    started_ms = stable.generation_started_ms
    if event.last_heard_ms is not None and started_ms is not None and event.last_heard_ms < started_ms:
        return True  # nor had it sent anything else that was answered
    if event.reason or (latest.member is not None and latest.member.member_id == event.member.member_id):
        return False
    return latest is not stable and latest.rebalance_started_ms - (stable.ended_ms or 0) <= ROUND_TRIP_MS


def _came_late(history: FoldedGroup, event: schema.MemberRejoined, *, was_loaded: bool) -> bool:
    """Whether its JoinGroup may have waited: clients send three heartbeats in a session timeout, or more.

    Of one that was not heard since a load that is not known.
    """
    if event.last_heard_ms is None or not event.session_timeout_ms:
        is_reported = history.owners.are_rejoins_recorded or (
            event.session_timeout_ms is not None and not history.is_observed
        )
        return was_loaded or is_reported
    history.owners.are_rejoins_recorded = True
    silent_ms = event.time_ms - event.last_heard_ms
    return misses_heartbeats(silent_ms, event.session_timeout_ms)


def keeps_what_it_owns(history: FoldedGroup, member: MemberSoFar) -> bool:
    """Whether a member rejoins without giving up its partitions: one that also offers an eager assignor does not.

    Java's consumer uses the protocol that all of its assignors have (KIP-429), whichever one the group uses.
    """
    stable, claiming = history.latest_stable, history.owners.claiming
    # The assignors of a consumer group are the server's.
    names = [] if stable is None else [*([] if stable.is_epoch else [stable.protocol_name]), *member.protocols]
    return bool(names) and all(is_cooperative(name) or name in claiming for name in names)


def may_keep_what_it_owns(history: FoldedGroup, member: MemberSoFar) -> bool:
    """Whether a member rejoined with assignors of which nobody knows yet whether members give up what they own.

    Its assignment would tell; one that is gone before it gets one may have consumed until then.
    """
    if history.group_type in OF_EPOCHS or keeps_what_it_owns(history, member):
        return False
    return bool(member.protocols) and not EAGER_ASSIGNORS.intersection(member.protocols)


def _note_join(history: FoldedGroup, member: MemberRef, join_ms: int | None, at_ms: int) -> None:
    joining = history.joining
    if joining is not None and len(joining.members) < CHANGES_KEPT_MAX:
        started_ms = joining.rebalance_started_ms
        if join_ms is None and started_ms is not None:
            join_ms = max(0, at_ms - started_ms)
        part = joining.part_of(member)
        if part.first_join_ms is None:
            part.first_join_ms = part.join_ms
        part.join_ms = join_ms


def _removed(history: FoldedGroup, event: schema.MemberRemoved) -> None:
    apply_removal(history, event, event.time_ms, event.seq)


def apply_removal(
    history: FoldedGroup, event: schema.MemberRemoved | schema.DepartedMember, at_ms: int, seq: int
) -> None:
    """A member is gone, by an event of its own or by that which changed the type of its group."""
    existing = history.members.pop(event.member.member_id, None)
    rejected, rejected_ms = _rejected(history, event, at_ms)
    committed_ms = event.last_committed_ms
    if rejected == REFUSED_COMMIT:
        # It had said no more than a commit that is accepted: it lived, and sent no heartbeat.
        committed_ms, rejected, rejected_ms = max(committed_ms or 0, rejected_ms or 0) or None, "", None
    answered_ms = _answered_ms(history, event.member.member_id)
    removal = Removal(
        event.member,
        event.cause,
        event.reason,
        at_ms,
        event.session_timeout_ms or (existing.session_timeout_ms if existing else None),
        _timeout_ms(history, existing, event.cause),
        event.last_heard_ms,
        # Of a group of another Kafka only the first join of a member is seen.
        event.last_joined_ms or (existing.joined_ms if existing and not history.is_observed else None),
        committed_ms,
        event.requested_by,
        event.connection_open,
        event.connection_closed_ms,
        _paused_ms(history, event, answered_ms, at_ms),
        event.connection_closed_in_pause_ms,
        existing is not None and existing.is_revoking,
        existing is not None and (existing.was_loaded or _is_forgotten(event.member, existing.member)),
        seq,
        event.connection_muted_ms,
        event.denied,
        history.group_type in OF_EPOCHS,
        None if existing is None else sum(map(len, existing.partitions.values())) + existing.unnamed_partitions,
        history.loaded_ms,
        event.connection_closed_in_pause_ms is not None and _is_back(history, event),
        rejected,
        None if existing is None else existing.left_ms,
        answered_ms,
        rejected_ms,
        event.heard_late_ms,
        event.has_synced,
        history.is_observed and event.last_joined_ms is not None,
    )
    may_keep = existing is not None and may_keep_what_it_owns(history, existing)
    if may_keep:
        history.owners.went_on(event.member.member_id)
    history.owners.gave_up(
        event.member.member_id,
        removal.stopped_ms,
        is_unsure=removal.may_have_stopped_earlier or may_keep,
        consumed_ms=_consumed_ms(history, removal),
    )
    latest = history.latest
    if latest is not None and latest.reconciliations is not None and latest.is_open:
        latest.reconciliations.removed(event.member.member_id, at_ms)
    pending = history.pending
    pending.add(pending.removed, removal)
    if history.joining is not None:
        history.joining.members.pop(event.member.member_id, None)


def _paused_ms(
    history: FoldedGroup, event: schema.MemberRemoved | schema.DepartedMember, answered_ms: int | None, at_ms: int
) -> int | None:
    """For how long of the silence of a removed member the coordinator stood still: since its JoinGroup was answered."""
    if not event.coordinator_paused_ms or answered_ms is None or answered_ms <= (event.last_heard_ms or 0):
        return event.coordinator_paused_ms
    pauses = (
        coordinator_event
        for coordinator_event in history.coordinator_events
        if isinstance(coordinator_event, schema.CoordinatorPaused)
    )
    return sum(max(0, min(pause.until_ms, at_ms) - max(pause.from_ms, answered_ms)) for pause in pauses)


def _rejected(
    history: FoldedGroup, event: schema.MemberRemoved | schema.DepartedMember, at_ms: int
) -> tuple[str, int | None]:
    """With which error, and when, a request of a removed member was answered in its silence: the last that is told."""
    heard_ms = event.last_heard_ms
    if heard_ms is None:  # its session began again with a load
        heard_ms = at_ms - (event.session_timeout_ms or at_ms)
    for rejected in reversed(history.rejected):
        if rejected.time_ms <= max(heard_ms, event.rejected_ms or 0):
            break
        if rejected.member.member_id == event.member.member_id and rejected.error in GIVES_UP and not rejected.injected:
            return rejected.error, rejected.time_ms
    return event.rejected, event.rejected_ms


def _consumed_ms(history: FoldedGroup, removal: Removal) -> int | None:
    """Until when a member that is gone surely had what it was assigned; None: it is not known to have left it unused.

    Of a member of a classic group nothing tells that it sent SyncGroup, if that came after the one of the leader, but
    its commits. One that exceeded max.poll.interval.ms may never have called poll() since it joined, and one that had
    no place may have been told of the next rebalance instead.
    """
    heard_ms, closed_ms = removal.last_heard_ms, removal.connection_closed_ms
    if heard_ms is not None and closed_ms is not None and closed_ms - heard_ms <= ROUND_TRIP_MS:
        return heard_ms - 1  # of what its last request was answered with nothing may have reached it
    if removal.has_synced is False:
        return removal.last_committed_ms or 0
    stable = history.latest_stable
    if removal.cause not in BY_REQUEST or removal.gives_no_reason or stable is None:
        return None
    part, assigned_ms = stable.members.get(removal.member.member_id), stable.ended_ms or 0
    may_have_passed = removal.at_ms - assigned_ms <= ON_THEIR_WAY_MS and (removal.last_committed_ms or 0) < assigned_ms
    if part is not None and not stable.is_epoch and may_have_passed:
        return assigned_ms - 1
    if part is not None and _exceeded_since(removal, assigned_ms):
        return removal.last_committed_ms or 0
    if part is None or part.sync_ms is not None:
        return None
    return removal.last_committed_ms or 0


def _exceeded_since(removal: Removal, assigned_ms: int) -> bool:
    """Whether a member exceeded max.poll.interval.ms, and had called poll() last before it was assigned what it had."""
    limit_ms = removal.rebalance_timeout_ms
    has_waited = limit_ms is not None and removal.at_ms - assigned_ms <= limit_ms + AT_ONCE_MS
    return has_waited and Leaving(removal).by_poll_timeout


def _answered_ms(history: FoldedGroup, member_id: str) -> int | None:
    for generation in reversed(history.generations):
        if generation.generation_started_ms is not None and generation.protocol.joins_again:
            return generation.generation_started_ms if member_id in generation.members else None
    return None


def _is_forgotten(member: MemberRef, tracked: MemberRef) -> bool:
    """Whether a load that no event tells of, as of a full disk, took what a client had said of itself."""
    return bool(tracked.client_software_name) and not member.client_software_name


def _is_back(history: FoldedGroup, event: schema.MemberRemoved | schema.DepartedMember) -> bool:
    """Whether a client of the same identity joined at once when the coordinator went on after a pause.

    One that gave up waiting connects again during the pause, so its request is among the first that are read then.
    A later one may be a process that was started again.
    """
    if history.joined_ms is None:
        history.joined_ms = {}
        for tracked in history.members.values():
            who = identity(tracked.member)
            history.joined_ms[who] = max(history.joined_ms.get(who, 0), tracked.joined_ms or 0)
    joined_ms, closed_ms = history.joined_ms.get(identity(event.member)), event.connection_closed_ms
    return joined_ms is not None and closed_ms is not None and 0 <= joined_ms - closed_ms <= AT_ONCE_MS


def _timeout_ms(history: FoldedGroup, removed: MemberSoFar | None, cause: Cause) -> int | None:
    """The rebalance timeout of a member; what it was too late by is the largest of all members in a classic group."""
    own_ms = None if removed is None else removed.timeout_ms(cause)
    if own_ms is None or cause not in CAME_TOO_LATE or history.group_type in OF_EPOCHS:
        return own_ms
    return max([own_ms, *(member.rebalance_timeout_ms or own_ms for member in history.members.values())])


def _replaced(history: FoldedGroup, event: schema.StaticMemberReplaced) -> None:
    history.joined_ms = None
    # A load restores the client that joined first, also where another one had taken its place before.
    old_client = history.clients.get(event.old_member_id)
    if event.cause is not Cause.FAULT:  # a fault takes the place for no client
        remember_client(history.clients, event)
    old = history.members.pop(event.old_member_id, None)
    tracked = history.members[event.member.member_id] = old or MemberSoFar(event.member)
    old_member = tracked.member
    tracked.member, tracked.joined_ms, tracked.replaced_ms = event.member, event.time_ms, event.time_ms
    tracked.awaits_part = True
    # In a consumer group an event about its subscription follows, if that is another one.
    topics = event.old_subscribed_topics if history.group_type in OF_EPOCHS else event.subscribed_topics
    tracked.subscribed_topics = tuple(topics) or tracked.subscribed_topics
    history.owners.replaced(event.old_member_id, event.member)
    if may_keep_what_it_owns(history, tracked) and event.state != STABLE:
        history.owners.went_on(event.member.member_id)
    stopped_ms = tracked.left_ms or event.old_last_heard_ms or history.loaded_ms or event.time_ms
    _note_absence(history, event, stopped_ms)
    if event.state != STABLE and history.group_type not in OF_EPOCHS:
        # The new process has nothing yet, and that the old one had stopped is noticed by its replacement.
        history.owners.gave_up(event.member.member_id, event.time_ms, is_unsure=True)
    elif history.group_type not in OF_EPOCHS:
        if history.latest is not None and history.latest.outcome is not Outcome.STABLE:
            history.owners.is_unsure = True  # a load ended the rebalance in which it may have been without a place
        # What it had given up it has again without a rebalance: that is no cost of the next one.
        history.owners.went_on(event.member.member_id)
        history.owners.goes_on(event.member, tracked.partitions, event.time_ms)
    change = Replacement(
        event.member,
        event.old_member_id,
        event.time_ms,
        event.seq,
        event.old_client_id or old_member.client_id if old_client is None else old_client.client_id,
        event.old_client_host or old_member.client_host if old_client is None else old_client.client_host,
        event.reason,
        tuple(event.subscribed_topics),
        tuple(event.old_subscribed_topics),
        event.cause,
        stopped_ms,
    )
    pending = history.pending
    pending.add(pending.replaced, change)
    if history.joining is not None:
        history.joining.members.pop(event.old_member_id, None)
        _note_join(history, event.member, None, event.time_ms)


def _note_absence(history: FoldedGroup, event: schema.StaticMemberReplaced, stopped_ms: int) -> None:
    """While the group is not stable it is told for how long its partitions had no owner: since the client was heard.

    After a load that is not known, and they had none since then, at least.
    """
    if history.latest is not None and history.latest.outcome is not Outcome.STABLE:
        if event.old_member_id in history.owners.missed:
            history.owners.lived(event.member.member_id, stopped_ms)
        history.owners.gave_up(event.member.member_id, stopped_ms, is_unsure=True)


def _resubscription(event: schema.MemberRejoined, tracked: MemberSoFar) -> Resubscription:
    before, now = set(tracked.subscribed_topics), set(event.subscribed_topics)
    return Resubscription(
        event.member, tuple(sorted(now - before)), tuple(sorted(before - now)), tracked.was_loaded, event.seq
    )


HANDLERS: Final[Mapping[type[AuditEvent], Callable[[FoldedGroup, Any], None]]] = {
    schema.MemberJoined: _joined,
    schema.MemberRejoined: _rejoined,
    schema.MemberRemoved: _removed,
    schema.StaticMemberReplaced: _replaced,
}
