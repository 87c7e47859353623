"""Members that were not heard, their connections, and the coordinator's own absence, in words."""

from collections.abc import Iterator, Sequence
from typing import Final

from coordinator.explain.claims.silences import (
    AbsenceKind,
    Back,
    CameAgain,
    Closer,
    ConnectionClosed,
    ConnectionOpen,
    CoordinatorAway,
    End,
    MayBeClosed,
    Muted,
    Refused,
    Silent,
    StoodStill,
    Unheard,
    UnheardSinceStart,
)
from coordinator.explain.sentences.wording import Wording
from coordinator.explain.words import NAMES_IN_A_SENTENCE, counted, duration, plain

CLOSERS: Final = {Closer.STATIC: "a static member", Closer.KAFKA_STREAMS: "Kafka Streams"}


def silent(claim: Silent, wording: Wording) -> str:
    """A clause."""
    who = wording.names.full(claim.member)
    timeout = duration(claim.timeout_ms) if claim.timeout_ms else ""
    silent_ms = claim.silent_ms
    if silent_ms is None or not claim.is_known:
        limit = f", {timeout}" if timeout else ""
        what = "nothing" if claim.committed_ms is None and not claim.rejected else "nothing that renews its session"
        return f"{what} was heard of {who} for its session timeout{limit}"
    if claim.rejected:
        return f"the requests of {who} were rejected for {duration(silent_ms)} ({claim.rejected}), so its session ended"
    if claim.committed_ms is not None:
        return f"{who} sent no heartbeat for {duration(silent_ms)}, though it sent commits meanwhile"
    if not timeout:
        return f"{who} was silent for {duration(silent_ms)}, longer than its session timeout"
    if duration(silent_ms) == timeout:
        return f"{who} was silent for {timeout}, its session timeout"
    return f"{who} was silent for {duration(silent_ms)}, and its session timeout is {timeout}"


def unheard(claim: Unheard, wording: Wording) -> str:
    """A clause."""
    who, paused = wording.names.full(claim.member), duration(claim.paused_ms)
    if claim.found_closed:
        return f"the coordinator itself stood still for {paused}, and found the connection of {who} closed after that"
    timeout = f", {duration(claim.timeout_ms)}" if claim.timeout_ms else ""
    return (
        f"the coordinator itself stood still for {paused}, and did not hear {who} within its session timeout{timeout}"
    )


def unheard_together(claims: Sequence[Unheard], wording: Wording) -> str:
    """As `unheard`, of several members together."""
    whose = wording.names.listed([claim.member for claim in claims])
    text = f"the coordinator itself stood still for {duration(max(claim.paused_ms for claim in claims))}, and"
    if all(claim.found_closed for claim in claims):
        return f"{text} found the connections of {whose} closed after that"
    return f"{text} did not hear {whose} within their session timeouts"


def refused(claim: Refused, wording: Wording) -> str:
    """A clause."""
    who, right = wording.names.full(claim.member), missing_right(claim)
    return f"{claim.api} of {who} was refused ({right}), so that its session ended"


def missing_right(claim: Refused) -> str:
    """`it may not READ group billing`."""
    return f"it may not {claim.operation} {claim.resource_type.lower()} {plain(claim.resource_name)}"


def muted(claim: Muted, wording: Wording) -> str:
    """A clause."""
    who, timeout = wording.names.full(claim.member), duration(claim.timeout_ms) if claim.timeout_ms else ""
    longer = f", longer than its session timeout, {timeout}" if timeout else ""
    return (
        f"{who} had exceeded a quota: the coordinator read nothing from its connection for"
        f" {duration(claim.muted_ms)}{longer}"
    )


def not_to_blame(claims: Sequence[Unheard], wording: Wording) -> Iterator[str]:
    """What follows for members whose sessions ended because the coordinator stood still."""
    blameless = [claim.member for claim in claims if claim.is_known]
    if blameless:
        whose = wording.names.listed(blameless)
        yield f"The coordinator heard nobody and answered nobody in that time, so it is no fault of {whose}."
    unclear = [claim.member for claim in claims if not claim.is_known]
    if unclear:
        ended = "its process ended" if len(unclear) == 1 else "their processes ended"
        yield f"Whether {wording.names.listed(unclear)} gave up because nobody answered, or {ended}, is not known."
    closed = [claim.member for claim in claims if claim.is_closed and claim.is_known]
    if closed:
        yield (
            f"The connections of {wording.names.listed(closed)} closed meanwhile: clients may give up when nobody"
            " answers."
        )


def stood_still(claims: Sequence[StoodStill], wording: Wording) -> Iterator[str]:
    for claim in claims[:NAMES_IN_A_SENTENCE]:
        yield (
            f"The coordinator itself stood still for {duration(claim.paused_ms)} of the {duration(claim.silent_ms)} in"
            f" which it did not hear {wording.names.of(claim.member)}."
        )


def connections_closed(claims: Sequence[ConnectionClosed], wording: Wording) -> Iterator[str]:
    for closer in (None, *Closer):
        alike = [claim for claim in claims if claim.closer is closer and not _is_special(claim)]
        if len(alike) == 1:
            yield _connection_closed(alike[0], wording)
        elif alike:
            in_order = f"they were closed in order ({CLOSERS[closer]} sends no LeaveGroup then), " if closer else ""
            yield (
                f"The connections of {wording.names.listed([closed.member for closed in alike])} closed before they"
                f" were removed: {in_order}their processes ended, or their hosts or the network closed the connections."
            )
    yield from (_connection_closed(claim, wording) for claim in claims if _is_special(claim))


def _is_special(claim: ConnectionClosed) -> bool:
    """Whether more is known of it than that it closed."""
    return claim.lives or claim.in_pause_ms is not None


def came_again(claims: Sequence[CameAgain], wording: Wording) -> Iterator[str]:
    if len(claims) > NAMES_IN_A_SENTENCE:
        yield f"{counted(len(claims), 'of them', 'of them')} asked again under their old member ids: they were alive."
        return
    for claim in claims:
        after = duration(max(0, claim.at_ms - claim.removed_ms))
        who = wording.names.of(claim.member)
        yield f"{who} asked again under its old member id {after} after it was removed: its process was alive."


def _connection_closed(claim: ConnectionClosed, wording: Wording) -> str:
    in_order = f"it was closed in order ({CLOSERS[claim.closer]} sends no LeaveGroup then), " if claim.closer else ""
    before = duration(max(0, claim.removed_ms - claim.at_ms))
    why = f"{in_order}its process ended, or its host or the network closed the connection."
    if claim.lives:
        why = "its client, its host or something between them closed it."
    if claim.in_pause_ms is not None:
        paused = duration(claim.in_pause_ms)
        why = f"the coordinator stood still for {paused} then, so its client may have given up; or {why}"
    text = (
        f"The connection of {wording.names.of(claim.member)} closed at {wording.clock(claim.at_ms)}, {before} before it"
        f" was removed: {why}"
    )
    if claim.silent_before_ms is not None:
        text += f" It had been silent for {duration(claim.silent_before_ms)} by then."
    return text


def connections_open(claims: Sequence[ConnectionOpen], wording: Wording) -> Iterator[str]:
    names = wording.names.listed([claim.member for claim in claims])
    if len(claims) == 1:
        yield (
            f"The connection of {names} stayed open: its process stood still (SIGSTOP, garbage collection, a suspended"
            " machine), had no processor or hung, or worked in one long batch where its client sends heartbeats only"
            " between two calls of poll(), or its host or the network was cut off."
        )
        return
    yield (
        f"The connections of {names} stayed open: their processes stood still (SIGSTOP, garbage collection, a suspended"
        " machine), had no processor or hung, or worked in one long batch where their clients send heartbeats only"
        " between two calls of poll(), or their hosts or the network were cut off."
    )


def may_be_closed(claims: Sequence[MayBeClosed], wording: Wording) -> Iterator[str]:
    names = wording.names.listed([claim.member for claim in claims])
    what, who = ("is a static member, which sends", "it")
    if len(claims) > 1:
        what, who = ("are static members, which send", "they")
    yield f"{names} {what} no LeaveGroup at a shutdown: {who} may have been closed in order."


def back(claims: Sequence[Back], wording: Wording) -> Iterator[str]:
    if len(claims) > NAMES_IN_A_SENTENCE:
        yield f"{counted(len(claims), 'of them is', 'of them are')} back under new member ids."
        return
    for claim in claims:
        after = duration(max(0, claim.back_ms - claim.gone_ms))
        what = "its connection closed" if claim.is_closed else "it was removed"
        if claim.found_closed:
            what = "its connection was found closed"
        yield f"{wording.names.of(claim.member)} is back under a new member id, {after} after {what}."


def unheard_since_start(claims: Sequence[UnheardSinceStart], wording: Wording) -> Iterator[str]:
    for has_committed, what in ((False, "Nothing"), (True, "No heartbeat")):
        members = [claim.member for claim in claims if claim.has_committed is has_committed]
        if members:
            theirs = "its session" if len(members) == 1 else "their sessions"
            yield f"{what} was heard of {wording.names.listed(members)} since then, when {theirs} began again."


# ---- the coordinator itself

PAUSES: Final = {
    "suspended": "its process was suspended (SIGSTOP, a machine that sleeps)",
    "without_cpu": "it had no processor",
    "blocked": "it was busy, or waited in a call",
}
"""`pause_kind` → what it was."""


def coordinator_away(claims: Sequence[CoordinatorAway], wording: Wording) -> Iterator[str]:
    for claim in claims:
        yield f"At {wording.clock(claim.at_ms)}, {absence(claim)}."


def absence(claim: CoordinatorAway) -> str:
    """A clause: `the coordinator was stopped`."""
    whose = "the coordinator" if claim.node_id is None else f"node {claim.node_id}"
    away_ms = None if claim.from_ms is None or claim.until_ms is None else max(0, claim.until_ms - claim.from_ms)
    match claim.kind:
        case AbsenceKind.PAUSED:
            kind = f": {PAUSES[claim.pause_kind]}" if claim.pause_kind in PAUSES else ""
            other = claim.other_node_id
            lost = "" if other is None else f". That was longer than its lease, and node {other} took the group over"
            return f"{whose} stood still for {duration(away_ms or 0)}{kind}{lost}"
        case AbsenceKind.UNAVAILABLE:
            return (
                f"{whose} could write nothing for {duration(away_ms or 0)} (a full disk?), and answered no request of"
                " the group"
            )
        case AbsenceKind.STOPPED:
            return f"{whose} was stopped"
        case AbsenceKind.LED:
            other, away = claim.other_node_id, duration(away_ms or 0)
            how = f"after node {other}, whose last event here was {away} before"
            if claim.end is End.IN_ORDER:
                how = f"{away} after the stop of node {other}"
            return f"{whose} led the group from here on, {how}"
    return _started(claim, away_ms)


def _started(claim: CoordinatorAway, away_ms: int | None) -> str:
    if claim.is_first:
        return "the coordinator started"
    text = "the coordinator started again"
    match claim.end:
        case End.NOT_KNOWN:
            return text
        case End.IN_ORDER:
            return f"{text}, {duration(away_ms or 0)} after its stop"
    how = "it had ended without a stop"
    if claim.end is End.IN_ORDER_UNTOLD:
        how = "it had been stopped in order, and could not write when"
    if away_ms is None:
        return f"{text}: {how}, so it is unknown for how long it was away"
    return f"{text}: {how}, at most {duration(away_ms)} before"
