"""Claims about members that left without a reason: which way of leaving the events fit."""

from collections.abc import Iterable, Iterator

from coordinator.audit.schema import CoordinatorPaused, OffsetsDeleted, OffsetsExpired
from coordinator.core.causes import Cause
from coordinator.explain.changes import Removal, misses_heartbeats
from coordinator.explain.claims.causes import Guess, LeftUnsaid, Usual
from coordinator.explain.claims.claim import unknown
from coordinator.explain.clients import Library, library_of, never_says_why, sends_poll_interval
from coordinator.explain.folded_group import FoldedGroup
from coordinator.explain.leaving import Leaving
from coordinator.explain.makers.context import READ_AFTER_MS


def left_unsaid(removals: Iterable[Removal], history: FoldedGroup) -> Iterator[LeftUnsaid]:
    """About those of these members that left without a reason."""
    left = (removal for removal in removals if removal.cause is Cause.MEMBER_LEFT and not removal.gives_no_reason)
    unsaid = [removal for removal in left if Leaving(removal).is_unknown]
    if len(unsaid) > 1:
        evidence = unknown(*(removal.seq for removal in unsaid))
        unseen = filter(None, (_usual_seen(history, removal) for removal in unsaid))
        members = tuple(removal.member for removal in unsaid)
        yield LeftUnsaid(members=members, usual=next(unseen, Usual.UNKNOWN), evidence=evidence)
    elif unsaid:
        is_topic_gone = any(_has_lost_topics(deletion, unsaid[0]) for deletion in history.deletions)
        has_nothing = unsaid[0].owned == 0 or is_topic_gone
        removal, idle_ms = unsaid[0], Leaving(unsaid[0]).idle_ms or 0
        late_ms = _read_late_ms(removal.at_ms, history), _read_late_ms(removal.at_ms - idle_ms, history)
        yield _why_unsaid(removal, _usual_seen(history, removal), *late_ms, has_nothing=has_nothing)


def _read_late_ms(at_ms: int, history: FoldedGroup) -> int:
    """How long a request that was read at a time may have waited for that, as the coordinator stood still."""
    for coordinator_event in reversed(history.coordinator_events):
        if (
            isinstance(coordinator_event, CoordinatorPaused)
            and 0 <= at_ms - coordinator_event.until_ms <= READ_AFTER_MS
        ):
            return coordinator_event.until_ms - coordinator_event.from_ms
    return 0


def _usual_seen(history: FoldedGroup, removal: Removal) -> Usual | None:
    """What is known of clients of another Kafka; None: their coordinator, or a node, tells what they are."""
    if not history.is_observed or removal.is_seen_by_node:
        return None
    return Usual.UNSEEN if history.reasons_are_seen else Usual.NOT_LOGGED


def _has_lost_topics(deletion: OffsetsDeleted | OffsetsExpired, removal: Removal) -> bool:
    """Whether a topic was deleted since a member committed last: what it had of it brings no records."""
    is_deleted = isinstance(deletion, OffsetsDeleted) and deletion.cause is Cause.TOPIC_DELETED
    return is_deleted and (removal.last_committed_ms or 0) <= deletion.time_ms <= removal.at_ms


def _why_unsaid(
    removal: Removal, usual: Usual | None, read_late_ms: int, sign_late_ms: int, *, has_nothing: bool
) -> LeftUnsaid:
    """`read_late_ms`: how long its LeaveGroup may have been on its way; `sign_late_ms`: its last sign before that."""
    leaving, limit_ms = Leaving(removal), removal.rebalance_timeout_ms
    idle_ms = leaving.idle_ms
    if not sends_poll_interval(removal.member):
        limit_ms = None
    guess = Guess.NEITHER
    if not has_nothing and idle_ms is not None and limit_ms is not None:  # who has nothing commits nothing
        guess = Guess.CLOSED if idle_ms < limit_ms else Guess.POLL_TIMEOUT
        if guess is Guess.CLOSED and idle_ms + sign_late_ms >= limit_ms:
            guess = Guess.NEITHER
        is_forgotten = removal.was_loaded and removal.last_committed_ms is None  # a load takes that with it
        is_early = (leaving.unanswered_ms or 0) - read_late_ms < limit_ms
        if guess is Guess.POLL_TIMEOUT and (is_forgotten or is_early or _stood_still(removal, read_late_ms)):
            guess = Guess.NEITHER
    return LeftUnsaid(
        members=(removal.member,),
        usual=usual or _usual(removal),
        limit_ms=limit_ms,
        idle_ms=idle_ms,
        committed=idle_ms is not None and removal.last_committed_ms == removal.at_ms - idle_ms,
        guess=guess,
        evidence=unknown(removal.seq),
    )


def _stood_still(removal: Removal, read_late_ms: int) -> bool:
    """Whether it sent no heartbeats just before it left: these come as long as its application does not poll."""
    if removal.silent_ms is None or not removal.session_timeout_ms:
        return False
    return misses_heartbeats(removal.silent_ms - max(read_late_ms, removal.muted_ms or 0), removal.session_timeout_ms)


def _usual(removal: Removal) -> Usual:
    """Whether clients of this software give reasons when they leave (KIP-800)."""
    member = removal.member
    if not member.client_software_name and removal.was_loaded:
        return Usual.FORGOTTEN
    if library_of(member) is Library.JAVA:
        return Usual.GIVES
    if never_says_why(member):
        return Usual.GIVES_NONE
    return Usual.UNKNOWN if member.client_software_name else Usual.UNNAMED
