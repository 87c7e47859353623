"""Why a removed member was silent, as far as its connection tells, and whether its client came back."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain, takewhile

from coordinator.audit.schema import MemberRef
from coordinator.core.causes import Cause
from coordinator.explain import owners
from coordinator.explain.facts import RETURN_MS, identity
from coordinator.explain.generation import Generation, Joining, Removal
from coordinator.explain.history import GroupHistory
from coordinator.explain.words import NAMES_IN_A_SENTENCE, Clock, Names, counted, duration

STATIC = "a static member"
KAFKA_STREAMS = "Kafka Streams"
ENDED = "its process ended, or its host or the network closed the connection"
STOOD_STILL = (
    "its process stood still (SIGSTOP, garbage collection, a suspended machine), had no processor or hung, or worked in"
    " one long batch where its client sends heartbeats only between two calls of poll(), or its host or the network was"
    " cut off"
)


def silences(generation: Generation, previous: Generation | None, names: Names, clock: Clock) -> Iterator[str]:
    """What the connections of members that were removed for their silence tell of why they were silent."""
    removals = generation.changes.removed
    is_streams = runs_streams(generation, previous)
    closed = [each for each in removals if each.is_disconnected]
    in_order = [each for each in closed if each.may_be_closed or is_streams]
    yield from _disconnected([each for each in closed if each not in in_order], "", names, clock)
    yield from _disconnected(in_order, KAFKA_STREAMS if is_streams else STATIC, names, clock)
    expired = [each for each in removals if each.cause is Cause.SESSION_EXPIRED and not each.is_unheard]
    static = [each.member for each in expired if each.may_be_closed and not each.is_disconnected]
    if static:
        what, who = ("is a static member, which sends", "it")
        if len(static) > 1:
            what, who = ("are static members, which send", "they")
        yield f"{names.listed(static)} {what} no LeaveGroup at a shutdown: {who} may have been closed in order."
    still = [each for each in expired if each.connection_open]
    if len(still) == 1:
        yield f"The connection of {names.of(still[0].member)} stayed open: {STOOD_STILL}."
    elif still:
        yield (
            f"The connections of {names.listed([each.member for each in still])} stayed open: their processes stood"
            " still (SIGSTOP, garbage collection, a suspended machine), had no processor or hung, or worked in one long"
            " batch where their clients send heartbeats only between two calls of poll(), or their hosts or the network"
            " were cut off."
        )


def runs_streams(generation: Generation, previous: Generation | None) -> bool:
    """Whether the members belong to Kafka Streams, by their assignor: they send no LeaveGroup when they are closed."""
    before = previous.protocol_name if previous is not None else ""
    return (generation.protocol_name or before) == owners.KAFKA_STREAMS


def pauses(removals: list[Removal], names: Names) -> Iterator[str]:
    """How much of the silence of members the coordinator itself stood still."""
    unheard = [each for each in removals if each.is_unheard]
    if unheard:
        whose = names.listed([each.member for each in unheard])
        closed = [each.member for each in unheard if each.connection_open is False]
        yield f"The coordinator heard nobody and answered nobody in that time, so it is no fault of {whose}."
        if closed:
            yield (
                f"The connections of {names.listed(closed)} closed meanwhile: clients may give up when nobody answers."
            )
    for each in [each for each in removals if each.coordinator_paused_ms and not each.is_unheard][:NAMES_IN_A_SENTENCE]:
        yield (
            f"The coordinator itself stood still for {duration(each.coordinator_paused_ms or 0)} of the"
            f" {duration(each.silent_ms or 0)} in which it did not hear {names.of(each.member)}."
        )


def _disconnected(removals: list[Removal], who_may_close: str, names: Names, clock: Clock) -> Iterator[str]:
    """`who_may_close`: who sends no LeaveGroup at a shutdown, so that it may have been closed in order."""
    if not removals:
        return
    one = len(removals) == 1
    in_order = ""
    if who_may_close:
        in_order = f"{'it was' if one else 'they were'} closed in order ({who_may_close} sends no LeaveGroup then), "
    if not one:
        yield (
            f"The connections of {names.listed([each.member for each in removals])} closed before they were removed:"
            f" {in_order}their processes ended, or their hosts or the network closed the connections."
        )
        return
    (removal,) = removals
    assert removal.connection_closed_ms is not None
    before_ms = max(0, removal.at_ms - removal.connection_closed_ms)
    text = (
        f"The connection of {names.of(removal.member)} closed at {clock(removal.connection_closed_ms)},"
        f" {duration(before_ms)} before it was removed: {in_order}{ENDED}."
    )
    heard_ms, timeout_ms = removal.last_heard_ms, removal.session_timeout_ms
    if heard_ms is not None and timeout_ms and removal.connection_closed_ms - heard_ms > timeout_ms // 2:
        text += f" It had been silent for {duration(removal.connection_closed_ms - heard_ms)} by then."
    yield text


def returns(history: GroupHistory, generation: Generation, names: Names) -> Iterator[str]:
    """Which of those that were silent are back as other members."""
    removed = [each for each in generation.changes.removed if each.cause is not Cause.MEMBER_LEFT]
    if not removed:
        return
    alone = _identities_of_one(history, generation)
    joined = list(_joined_from(history, generation))
    back = []
    for removal in removed:
        if identity(removal.member) in alone:
            again = next((each for each in joined if _is_back(removal, each)), None)
            if again is not None:
                back.append((removal, again))
    if len(back) > NAMES_IN_A_SENTENCE:
        yield f"{counted(len(back), 'of them is', 'of them are')} back under new member ids."
        return
    for removal, again in back:
        after_ms = duration(again.at_ms - removal.gone_ms)
        what = "its connection closed" if removal.gone_ms < removal.at_ms else "it was removed"
        yield f"{names.of(removal.member)} is back under a new member id, {after_ms} after {what}."


def _is_back(removal: Removal, joined: Joining) -> bool:
    return (
        removal.precedes(joined)
        and identity(joined.member) == identity(removal.member)
        and joined.at_ms <= removal.at_ms + RETURN_MS
    )


def _joined_from(history: GroupHistory, generation: Generation) -> Iterator[Joining]:
    """Who joined in this generation's rebalance, and until a client counts as another one, in the next ones."""
    until_ms = max((each.at_ms for each in generation.changes.removed), default=0) + RETURN_MS
    newest_first = takewhile(lambda each: each.first_seq >= generation.first_seq, reversed(history.generations))
    for each in reversed([*newest_first]):
        if (each.started_ms or 0) > until_ms:
            return
        yield from each.changes.joined
    yield from history.pending_changes.joined


def _identities_of_one(history: GroupHistory, generation: Generation) -> set[tuple[str, ...]]:
    """What clients keep when they are restarted, where one member alone had it: others may share a client id."""
    before = history.before(generation)
    known: dict[str, MemberRef] = {}
    for part in before.members.values() if before is not None else ():
        known[part.member.member_id] = part.member
    new = {each.member.member_id for each in generation.changes.joined}
    stayed = (part.member for part in generation.members.values() if part.member.member_id not in new)
    for member in chain(stayed, (each.member for each in generation.changes.removed)):
        known[member.member_id] = member
    counts = Counter(identity(member) for member in known.values())
    return {who for who, count in counts.items() if count == 1 and who[0]}
