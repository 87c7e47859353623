"""What to try against a rebalance, from its cause and its cost. Each advice has the claims that it follows from."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

import msgspec

from coordinator.audit.schema import CoordinatorPaused, RequestRejected
from coordinator.core.causes import Cause
from coordinator.explain.changes import Removal
from coordinator.explain.claims.advice import Advice, Try
from coordinator.explain.claims.causes import AssignmentTooLarge, Caused, Evicted, Resubscribed
from coordinator.explain.claims.claim import Claim, derived
from coordinator.explain.claims.course import GaveUpLate, HeldUp, PendingIds
from coordinator.explain.claims.price import Moved, Unowned
from coordinator.explain.claims.silences import Back
from coordinator.explain.clients import JOIN_IN_POLL, all_are, sends_poll_interval
from coordinator.explain.generation import Generation
from coordinator.explain.history import STARTS
from coordinator.explain.identities import identity
from coordinator.explain.leaving import Leaving
from coordinator.explain.makers.assignors import cooperative, sticky
from coordinator.explain.makers.context import Context
from coordinator.explain.makers.silences import joined_from, runs_streams
from coordinator.explain.owners import EAGER_ASSIGNORS

SLOW_REJOIN_MS: Final = 1_000
"""How much later than all others a member joins until that is worth an advice."""

STOPPED_MS: Final = 500
"""How long partitions have no owner in a rebalance that moves nothing, until that is worth an advice."""

IN_TIME: Final = 2 / 3
"""Within which part of the session timeout a client has to be back: its last heartbeat was up to a third before."""

ADVICE_MAX: Final = 3

JOINS: Final = frozenset({"JoinGroup", "ConsumerGroupHeartbeat"})

_ORDER: Final = {kind: place for place, kind in enumerate(Try)}


def advice_claims(context: Context, claims: Sequence[Claim]) -> list[Advice]:
    """What to try, the most useful first, at most `ADVICE_MAX`; nothing for a rebalance that was due and cheap.

    `claims` are those about the rebalance: each advice refers to some of them.
    """
    found: dict[object, Advice] = {}
    for advice in _all(context, claims):
        like = msgspec.structs.replace(advice, because=(), member=None)
        existing = found.get(like)
        found[like] = advice if existing is None else _together(existing, advice)
    in_order = sorted(found.values(), key=lambda advice: _ORDER[advice.kind])
    return in_order[:ADVICE_MAX]


def _together(earlier: Advice, another: Advice) -> Advice:
    """The same advice about two members."""
    more = tuple(claim for claim in another.because if claim not in earlier.because)
    return msgspec.structs.replace(earlier, because=(*earlier.because, *more), member=None)


def _all(context: Context, claims: Sequence[Claim]) -> Iterator[Advice]:
    yield from _for_removals(context, claims)
    yield from _for_causes(claims)
    yield from _for_topics(context, claims)
    yield from _for_delays(context, claims)
    yield from _for_moves(context, claims)


def _advice(kind: Try, because: Sequence[Claim], **more: object) -> Advice:
    return Advice(kind=kind, because=tuple(because), evidence=derived(), **more)  # type: ignore[arg-type]


def _for_removals(context: Context, claims: Sequence[Claim]) -> Iterator[Advice]:
    by_member = _by_member(claims)
    for removal in context.generation.changes.removed:
        advice = _for_removal(removal, context, by_member.get(removal.member.member_id, []))
        if advice is not None:
            yield advice


def _by_member(claims: Sequence[Claim]) -> dict[str, list[Claim]]:
    """Member id → the claims that are about that member."""
    found: dict[str, list[Claim]] = {}
    for claim in claims:
        about = [getattr(claim, "member", None), *getattr(claim, "members", ())]
        for member in about:
            if member is not None:
                found.setdefault(member.member_id, []).append(claim)
    return found


def _for_removal(removal: Removal, context: Context, because: list[Claim]) -> Advice | None:
    member = removal.member
    if removal.is_unheard:
        return _advice(Try.COORDINATOR_STOOD_STILL, because, member=member)
    if removal.is_refused:
        return _advice(Try.RIGHT_IS_MISSING, because, member=member)
    if removal.is_muted:
        return _advice(Try.QUOTA_IS_TOO_SMALL, because, member=member)
    is_expired = removal.cause is Cause.SESSION_EXPIRED
    if is_expired and (removal.rejected or context.rejected_in_silence(removal) is not None):
        return None  # its client was told that it has no place, and has come by another member id, or gone
    again = context.again(removal)
    if again is not None and removal.cause is Cause.SESSION_EXPIRED:
        # Its process lived, so it is known which session timeout would have been long enough.
        kind = Try.CONNECTION_LOST if removal.is_disconnected else Try.SESSION_OUTLASTS
        above_ms = _outlasting_ms(removal, again, context.generation.disturbed_ms)
        return _advice(kind, because, member=member, above_ms=above_ms, is_epoch=context.generation.is_epoch)
    if removal.cause is Cause.SESSION_EXPIRED and removal.may_be_closed:
        back = next((claim for claim in because if isinstance(claim, Back)), None)
        # In a consumer group a new process takes the place of one that left for a moment, and of no other.
        is_said = not removal.gives_no_reason or removal.left_ms is not None
        is_kept = back is not None and _has_room(back, context) and not _would_be_lost(removal, back, context)
        if back is not None and is_said and is_kept and not _was_refused(removal, back, context):
            above_ms = _kept_place_ms(removal, back, context)
            is_epoch = context.generation.is_epoch
            return _advice(Try.SESSION_FOR_RESTARTS, because, member=member, above_ms=above_ms, is_epoch=is_epoch)
        if back is not None:
            if removal.is_disconnected:
                return _advice(Try.PROCESS_ENDED, because, member=member)
            return _advice(Try.SILENT, because, member=member, is_conditional=not removal.is_surely_silent)
        return _advice(Try.STATIC_IS_GONE_FOR_GOOD, because, member=member)
    if removal.has_no_time:
        return _advice(Try.REBALANCE_TIMEOUT_OF_NOTHING, because, member=member, above_ms=removal.rebalance_timeout_ms)
    if removal.is_disconnected:
        is_streams = runs_streams(context.generation, context.previous)
        return _advice(Try.PROCESS_ENDED, because, member=member, is_conditional=is_streams)
    match removal.cause:
        case Cause.SESSION_EXPIRED:
            return _for_silence(removal, context, because)
        case Cause.REBALANCE_TIMEOUT | Cause.SYNC_TIMEOUT if removal.denied is not None or removal.rejected:
            return None  # it was late because it was refused, or was told that it has no place, and came as another
        case Cause.SYNC_TIMEOUT | Cause.REBALANCE_TIMEOUT if context.was_refused_to_join(removal):
            return None  # of its requests the coordinator knows the first one alone
        case Cause.SYNC_TIMEOUT | Cause.REBALANCE_TIMEOUT if context.may_be_refused(removal):
            return None
        case Cause.SYNC_TIMEOUT | Cause.REBALANCE_TIMEOUT if _stood_still(removal, context):
            return _advice(Try.COORDINATOR_STOOD_STILL, because, member=member)
        case Cause.REBALANCE_TIMEOUT if removal.muted_ms:
            return _advice(Try.QUOTA_IS_TOO_SMALL, because, member=member)
        case Cause.REBALANCE_TIMEOUT:
            return _for_lateness(removal, context, because)
        case Cause.SYNC_TIMEOUT if removal.muted_ms:
            return _advice(Try.QUOTA_IS_TOO_SMALL, because, member=member)
        case Cause.SYNC_TIMEOUT:
            return _advice(Try.LATE_TO_SYNC, because, member=member)
        case Cause.MEMBER_LEFT:
            return _for_leave(removal, context, because)
    return None


def _stood_still(removal: Removal, context: Context) -> bool:
    """Whether the coordinator stood still for half of the time in which it waited for a member, or longer.

    For SyncGroup it waits in the generation before, which its removal disturbs.
    """
    from_ms = removal.at_ms - (removal.rebalance_timeout_ms or 0)
    if removal.cause is not Cause.SYNC_TIMEOUT:
        from_ms = max(context.generation.disturbed_ms, from_ms)
    paused_ms = sum(
        max(0, min(coordinator_event.until_ms, removal.at_ms) - max(coordinator_event.from_ms, from_ms))
        for coordinator_event in context.history.coordinator_events
        if isinstance(coordinator_event, CoordinatorPaused)
    )
    return 2 * paused_ms >= removal.at_ms - from_ms > 0


def _has_room(back: Back, context: Context) -> bool:
    """Whether the new process of a static member would have been let in while it had its place.

    Nor is it in a group that was full before: those that have gone would have kept their places for longer, too.
    """
    joins = (joining for generation in context.history.generations for joining in generation.changes.joined)
    later = joined_from(context.history, context.generation)
    return not any(joining.fills_group and joining.at_ms <= back.back_ms for joining in chain(joins, later))


def _would_be_lost(removal: Removal, back: Back, context: Context) -> bool:
    """Whether a start of the coordinator would have taken the place: one that no generation had is in memory alone."""
    previous = context.previous
    if previous is not None and removal.member.member_id in previous.members:
        return False
    starts = (event for event in context.history.coordinator_events if isinstance(event, STARTS))
    return any(removal.at_ms <= event.time_ms <= back.back_ms for event in starts)


def _kept_place_ms(removal: Removal, back: Back, context: Context) -> int | None:
    """Which session timeout keeps the place of a member until it is back; None: not known.

    A rebalance does not wait longer than the rebalance timeout for it, whatever its session timeout. See
    `_outlasting_ms` for signs of life that renew no session.
    """
    if removal.last_heard_ms is None:
        return None
    limit_ms = removal.rebalance_timeout_ms if context.generation.protocol.joins_again else None
    since_ms = min(removal.last_heard_ms, context.generation.disturbed_ms)
    above_ms = back.back_ms - _session_ms(removal, removal.last_heard_ms)
    is_sure = above_ms > (removal.session_timeout_ms or 0) and (limit_ms is None or back.back_ms - since_ms < limit_ms)
    return above_ms if is_sure else None


def _was_refused(removal: Removal, back: Back, context: Context) -> bool:
    """Whether its client asked to join before it did, and was refused: no session timeout changes that."""
    return any(
        identity(rejected.member) in (identity(removal.member), (removal.member.client_id, removal.member.client_host))
        and rejected.api in JOINS
        and removal.stopped_ms <= rejected.time_ms <= back.back_ms
        for rejected in context.history.rejected
    )


def _outlasting_ms(removal: Removal, again: RequestRejected, disturbed_ms: int) -> int | None:
    """Which session timeout would have been long enough; None: not known, or its rebalance timeout would end first.

    Nor is it where nothing was read from its connection in that time: how long its client waits there for an answer
    until it opens another one depends on its session timeout. A SyncGroup after the group is stable is a sign of life
    that renews no session, as on Kafka.
    """
    again_ms = again.time_ms
    if removal.last_heard_ms is None or again_ms - removal.last_heard_ms <= (removal.session_timeout_ms or 0):
        return None
    if again.muted_since_ms is not None and again.muted_since_ms >= removal.last_heard_ms:
        return None
    silent_ms, limit_ms = again_ms - _session_ms(removal, removal.last_heard_ms), removal.rebalance_timeout_ms
    waited_ms = again_ms - min(removal.last_heard_ms, disturbed_ms)  # at most, if a rebalance waited for it
    return silent_ms if limit_ms is None or waited_ms < limit_ms else None


def _session_ms(removal: Removal, heard_ms: int) -> int:
    """When the session that ended had last been renewed: not by all that was heard of it."""
    return min(heard_ms, removal.at_ms - (removal.session_timeout_ms or 0))


def _for_silence(removal: Removal, context: Context, because: list[Claim]) -> Advice:
    """A longer session timeout helps a member that pauses and comes back; for any other it makes the outage longer."""
    is_conditional = not removal.is_surely_silent
    if is_conditional or not removal.connection_open:
        return _advice(Try.SILENT, because, member=removal.member, is_conditional=is_conditional)
    return _advice(
        Try.SILENT_ON_OPEN_CONNECTION,
        because,
        member=removal.member,
        above_ms=removal.session_timeout_ms or None,
        is_epoch=context.generation.is_epoch,
    )


def _for_lateness(removal: Removal, context: Context, because: list[Claim]) -> Advice:
    member = removal.member
    joins_in_poll = all_are([member], JOIN_IN_POLL)
    generation = context.generation
    kind = Try.LATE_TO_REJOIN if generation.protocol.joins_again and not joins_in_poll else Try.SHORTER_POLL
    return _advice(kind, because, member=member, joins_in_poll=joins_in_poll, is_epoch=generation.is_epoch)


def _for_leave(removal: Removal, context: Context, because: list[Claim]) -> Advice | None:
    """A member that is closed for good does nothing wrong; one that comes back at once was restarted."""
    leaving, member = Leaving(removal), removal.member
    joins_in_poll = all_are([member], JOIN_IN_POLL)
    if leaving.by_administrator:
        return None
    if leaving.by_poll_timeout:
        return _advice(Try.LONGER_POLL_INTERVAL, because, member=member, joins_in_poll=joins_in_poll)
    # A member of a consumer group joins once, so the time since then says nothing.
    idle_ms = leaving.unanswered_ms if context.generation.protocol.joins_again else None
    limit_ms = removal.rebalance_timeout_ms
    if leaving.is_unknown and sends_poll_interval(member) and idle_ms and limit_ms and idle_ms >= limit_ms:
        return _advice(
            Try.LONGER_POLL_INTERVAL, because, member=member, joins_in_poll=joins_in_poll, is_conditional=True
        )
    if member.group_instance_id is None and _is_about_restarts(context):
        return _advice(Try.STATIC_MEMBERSHIP, because, member=member)
    return None


def _is_about_restarts(context: Context) -> bool:
    """Whether all that happened is that clients left and were back at once: without that there was no rebalance.

    A full group refuses the new process of a static member, as long as that has its place. Nor must another member have
    joined again by itself.
    """
    generation = context.generation
    removed, joined = generation.changes.removed, generation.changes.joined
    left = Counter(identity(removal.member) for removal in removed if removal.cause is Cause.MEMBER_LEFT)
    came = Counter(identity(joining.member) for joining in joined)
    others = {trigger.cause for trigger in generation.triggers} - {Cause.MEMBER_LEFT, Cause.NEW_MEMBER}
    if (
        not left
        or generation.tries > 1  # others had come or gone before
        or left != came
        or len(removed) != left.total()
        or others
        or any(part.begins_another for part in generation.members.values())
        or any(joining.fills_group for joining in joined)
    ):
        return False
    last_ms = {identity(joining.member): joining.at_ms for joining in joined}
    return all(
        0 <= last_ms[identity(removal.member)] - removal.at_ms <= (removal.session_timeout_ms or 0) * IN_TIME
        for removal in removed
    )


_BY_CAUSE: Final = {
    Cause.GROUP_TOO_LARGE: Try.LARGER_GROUP_SIZE,
    Cause.TOO_MANY_PENDING_MEMBERS: Try.CLIENT_WITHOUT_JOIN,
}


def _for_causes(claims: Sequence[Claim]) -> Iterator[Advice]:
    """About the first cause, which is the first claim."""
    match claims[0]:
        case Evicted():
            yield _advice(Try.LARGER_GROUP_SIZE, claims[:1])
        case AssignmentTooLarge():
            yield _advice(Try.SMALLER_ASSIGNMENT, claims[:1])
        case Caused(cause=cause) if cause in _BY_CAUSE:
            yield _advice(_BY_CAUSE[cause], claims[:1])


def _for_topics(context: Context, claims: Sequence[Claim]) -> Iterator[Advice]:
    """Where some members of several changed the topics that they subscribe to, and not all of them alike."""
    generation = context.generation
    changes = {(resubscription.came, resubscription.went) for resubscription in generation.changes.resubscribed}
    is_about_topics = any(came or went for came, went in changes)
    alike = len(changes) == 1 and len(generation.changes.resubscribed) == len(generation.members)
    if generation.cause is Cause.METADATA_CHANGED and is_about_topics and len(generation.members) > 1 and not alike:
        yield _advice(Try.SAME_TOPICS, [claim for claim in claims if isinstance(claim, Resubscribed)])


def _for_delays(context: Context, claims: Sequence[Claim]) -> Iterator[Advice]:
    generation = context.generation
    for claim in claims:
        match claim:
            case GaveUpLate() if claim.asked_after_ms >= SLOW_REJOIN_MS:
                yield _advice(Try.ASKED_LATE, [claim], member=claim.member)
            case HeldUp() if claim.held_up_ms >= SLOW_REJOIN_MS and not generation.late_members:
                joins_in_poll = all_are([claim.member], JOIN_IN_POLL)
                yield _advice(Try.JOINED_LATE, [claim], member=claim.member, joins_in_poll=joins_in_poll)
            case PendingIds() if not any(removal.is_unheard for removal in generation.changes.removed):
                yield _advice(Try.PENDING_IDS, [claim])


def _for_moves(context: Context, claims: Sequence[Claim]) -> Iterator[Advice]:
    """About the assignor, if it moved or stopped more than it had to and that had a price."""
    generation = context.generation
    if not generation.protocol.has_client_assignors:
        return  # the server's assignors move partitions one by one
    members = [part.member for part in generation.members.values()]
    name = generation.protocol_name
    found = [claim for claim in claims if isinstance(claim, Moved)]
    if generation.moved_needlessly and _has_new_processes(generation):
        return  # no assignor knows what a process had before it was restarted
    if generation.moved_needlessly:
        other = sticky(members, name) if name in EAGER_ASSIGNORS - {"sticky"} else None
        if other is None:
            yield _advice(Try.STICKIER_ASSIGNOR, found)
        else:
            yield _advice(Try.STICKIER_ASSIGNOR, found, change=other)
    elif name in EAGER_ASSIGNORS and _stopped_for_nothing(context):
        other = cooperative(members, name)
        if other is not None:
            stopped = [claim for claim in claims if isinstance(claim, Unowned)]
            yield _advice(Try.COOPERATIVE_ASSIGNOR, [*found, *stopped], change=other)


def _has_new_processes(generation: Generation) -> bool:
    """Whether clients were restarted in the rebalance, and so joined it with nothing, or had not got what they lose."""
    changes = generation.changes
    if any(part.had_nothing and part.has_lost for part in generation.members.values()):
        return True
    removed = {identity(removal.member) for removal in changes.removed}
    return bool(changes.replaced) or any(identity(joining.member) in removed for joining in changes.joined)


def _stopped_for_nothing(context: Context) -> bool:
    generation, previous = context.generation, context.previous
    # A process that had ended gave nothing up for the rebalance, and when it stopped is not known.
    changes = generation.changes
    gone = {identity(removal.member) for removal in changes.removed}
    gone |= {identity(replacement.member) for replacement in changes.replaced}
    stopped = [absence for absence in generation.absences if identity(absence.member) not in gone]
    stopped_ms = max((absence.ms for absence in stopped if not absence.is_unsure), default=0)
    return (
        previous is not None
        and bool(previous.partitions)
        and generation.partitions_moved == 0
        and not generation.first_owned
        and len(generation.members) > 1
        and stopped_ms >= STOPPED_MS
    )
