"""Claims about members that were removed for their silence: what their connections tell, and whether they are back."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain, takewhile

from coordinator.audit.schema import MemberRef
from coordinator.core.causes import Cause
from coordinator.explain import owners
from coordinator.explain.changes import Joining, Removal
from coordinator.explain.claims.claim import Claim, derived, seen
from coordinator.explain.claims.silences import (
    Back,
    CameAgain,
    Closer,
    ConnectionClosed,
    ConnectionOpen,
    MayBeClosed,
    StoodStill,
)
from coordinator.explain.facts import RETURN_MS
from coordinator.explain.generation import Generation
from coordinator.explain.history import GroupHistory
from coordinator.explain.identities import identity
from coordinator.explain.makers.context import Context


def silence_claims(context: Context) -> Iterator[Claim]:
    """What is known beside the silence itself: pauses, connections, and who is back."""
    removals = context.generation.changes.removed
    for removal in removals:
        if removal.coordinator_paused_ms and not removal.is_unheard:
            yield StoodStill(
                member=removal.member,
                paused_ms=removal.coordinator_paused_ms,
                silent_ms=removal.silent_ms or 0,
                evidence=seen(removal.seq),
            )
    yield from _connections(context, removals)
    yield from _came_again(context, removals)
    yield from _returns(context.history, context.generation)


def _connections(context: Context, removals: list[Removal]) -> Iterator[Claim]:
    is_streams = runs_streams(context.generation, context.previous)
    closed = [removal for removal in removals if removal.is_disconnected]
    in_order = [removal for removal in closed if removal.may_be_closed or is_streams]
    closer = Closer.KAFKA_STREAMS if is_streams else Closer.STATIC
    lives = {id(removal) for removal in closed if context.again(removal) is not None}
    yield from (_closed(removal, None, lives=id(removal) in lives) for removal in closed if removal not in in_order)
    yield from (_closed(removal, closer, lives=id(removal) in lives) for removal in in_order)
    expired = [removal for removal in removals if _is_unexplained(removal)]
    for removal in expired:
        if removal.may_be_closed and not removal.is_disconnected and context.again(removal) is None:
            yield MayBeClosed(member=removal.member, evidence=derived(removal.seq))
    for removal in expired:
        if removal.connection_open:
            yield ConnectionOpen(member=removal.member, evidence=seen(removal.seq))


def _is_unexplained(removal: Removal) -> bool:
    """Whether its session ended, and neither the coordinator nor the member itself tells why."""
    is_expired = removal.cause is Cause.SESSION_EXPIRED and removal.left_ms is None
    return is_expired and not removal.is_by_coordinator and not removal.rejected


def _came_again(context: Context, removals: list[Removal]) -> Iterator[CameAgain]:
    for removal in removals:
        again = context.again(removal)
        if again is not None and removal.cause is not Cause.MEMBER_LEFT:
            heard_ms = removal.last_heard_ms
            yield CameAgain(
                member=removal.member,
                at_ms=again.time_ms,
                removed_ms=removal.at_ms,
                silent_ms=None if heard_ms is None else max(0, again.time_ms - heard_ms),
                evidence=seen(removal.seq, again.seq),
            )


def _closed(removal: Removal, closer: Closer | None, *, lives: bool) -> ConnectionClosed:
    assert removal.connection_closed_ms is not None
    heard_ms, timeout_ms, silent_ms = removal.last_sign_ms, removal.session_timeout_ms, None
    is_long = heard_ms is not None and timeout_ms and removal.connection_closed_ms - heard_ms > timeout_ms // 2
    if heard_ms is not None and is_long and not removal.rejected and not removal.waited:
        silent_ms = removal.connection_closed_ms - heard_ms
    return ConnectionClosed(
        member=removal.member,
        at_ms=removal.connection_closed_ms,
        removed_ms=removal.at_ms,
        closer=None if lives else closer,
        silent_before_ms=silent_ms,
        lives=lives,
        in_pause_ms=removal.connection_closed_in_pause_ms if removal.gave_up else None,
        evidence=seen(removal.seq),
    )


def runs_streams(generation: Generation, previous: Generation | None) -> bool:
    """Whether the members belong to Kafka Streams, by their assignor: they send no LeaveGroup when they are closed."""
    before = previous.protocol_name if previous is not None else ""
    return (generation.protocol_name or before) == owners.KAFKA_STREAMS


def _returns(history: GroupHistory, generation: Generation) -> Iterator[Back]:
    """Which of those that were silent are back as other members."""
    removed = [removal for removal in generation.changes.removed if removal.cause is not Cause.MEMBER_LEFT]
    if not removed:
        return
    alone = _identities_of_one(history, generation)
    joined: dict[tuple[str, ...], list[Joining]] = {}
    for joining in joined_from(history, generation):
        joined.setdefault(identity(joining.member), []).append(joining)
    for removal in removed:
        who = identity(removal.member)
        again = (
            next((joining for joining in joined.get(who, ()) if _is_back(removal, joining)), None)
            if who in alone
            else None
        )
        if again is not None:
            yield Back(
                member=removal.member,
                new_member=again.member,
                gone_ms=removal.gone_ms,
                back_ms=again.at_ms,
                is_closed=removal.gone_ms < removal.at_ms,
                found_closed=removal.gone_ms < removal.at_ms and removal.connection_closed_in_pause_ms is not None,
                evidence=derived(removal.seq, again.seq),
            )


def _is_back(removal: Removal, joined: Joining) -> bool:
    return removal.precedes(joined) and joined.at_ms <= removal.at_ms + RETURN_MS


def joined_from(history: GroupHistory, generation: Generation) -> Iterator[Joining]:
    """Who joined in this generation's rebalance, and until a client counts as another one, in the next ones."""
    until_ms = max((removal.at_ms for removal in generation.changes.removed), default=0) + RETURN_MS
    newest_first = takewhile(lambda later: later.first_seq >= generation.first_seq, reversed(history.generations))
    for later in reversed([*newest_first]):
        if (later.started_ms or 0) > until_ms:
            return
        yield from later.changes.joined
    yield from history.pending_changes.joined


def _identities_of_one(history: GroupHistory, generation: Generation) -> set[tuple[str, ...]]:
    """What clients keep when they are restarted, where one member alone had it: others may share a client id."""
    before = history.before(generation)
    refs_by_id: dict[str, MemberRef] = {}
    for part in before.members.values() if before is not None else ():
        refs_by_id[part.member.member_id] = part.member
    new = {joining.member.member_id for joining in generation.changes.joined}
    stayed = (part.member for part in generation.members.values() if part.member.member_id not in new)
    for member in chain(stayed, (removal.member for removal in generation.changes.removed)):
        refs_by_id[member.member_id] = member
    counts = Counter(identity(member) for member in refs_by_id.values())
    return {who for who, count in counts.items() if count == 1 and who[0]}
