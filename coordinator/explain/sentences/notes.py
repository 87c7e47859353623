"""What happened to a group beside its rebalances, in words: each a clause, free of control characters."""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

from coordinator.audit import schema
from coordinator.audit.schema import MemberRef
from coordinator.audit.schema.unseen import UnseenBecause
from coordinator.core.causes import Cause, InferredCause
from coordinator.explain.claims.claim import Claim
from coordinator.explain.claims.notes import (
    AtTheCluster,
    GroupConverted,
    GroupGone,
    Loaded,
    NotSeen,
    OffsetsGone,
    OffsetsSet,
    PlaceTaken,
    Refusal,
)
from coordinator.explain.claims.silences import CoordinatorAway
from coordinator.explain.generation import CONSUMER
from coordinator.explain.protocols.table import protocol_of_claim
from coordinator.explain.sentences.held_groups import held_note
from coordinator.explain.sentences.rejections import refusal, without_instance
from coordinator.explain.sentences.silences import absence
from coordinator.explain.words import Names, counted, duration, listed, plain, requester

PARTITIONS_NAMED: Final = 3
TOPICS_NAMED: Final = 3


def note(claim: Claim) -> str:
    """A clause about what happened."""
    return _NOTES[type(claim)](claim)


def _replacement(claim: PlaceTaken) -> str:
    instance = plain(claim.member.group_instance_id or "")
    now, before = without_instance(claim.member), claim.before
    new, old = _client(now), _client(before)
    if (now.client_id, now.client_host) == (before.client_id, before.client_host):
        return f"the static member {instance} of {new} was restarted, without a rebalance"
    return f"{new} took the place of {old} as static member {instance}, without a rebalance"


def _client(member: MemberRef) -> str:
    """A client by its own name, whatever its instance id."""
    return Names([member]).full(member)


def _offsets_set(claim: OffsetsSet) -> str:
    event = claim.event
    count = sum(map(len, event.partitions.values())) + event.unnamed_partitions
    text = f"{requester(event.requested_by)} reset {counted(count, 'committed offset')}"
    if event.member is not None:
        text = f"{_client(event.member)} set {counted(count, 'committed offset')} back"
    elif not event.requested_by.client_host:  # loaded: nobody knows who committed in it
        text = f"a transaction set {counted(count, 'committed offset')} back"
    moves = list(_moves(event))
    return f"{text}: {listed(moves[:PARTITIONS_NAMED], more=max(0, count - PARTITIONS_NAMED))}" if moves else text


def _moves(event: schema.OffsetsReset) -> Iterator[str]:
    for topic, partitions in sorted(event.partitions.items()):
        for index, before, now in partitions:
            came_from = "none" if before < 0 else f"{before:,}"
            yield f"{plain(topic)}-{index} from {came_from} to {now:,}"


def _offsets_gone(claim: OffsetsGone) -> str:
    event = claim.event
    count = sum(map(len, event.partitions.values())) + event.unnamed_partitions
    topics = sorted(event.partitions)
    of = f" of {listed([plain(topic) for topic in topics[:TOPICS_NAMED]], more=max(0, len(topics) - TOPICS_NAMED))}"
    what = counted(count, "committed offset") + (of if topics else "")
    if isinstance(event, schema.OffsetsExpired):
        return f"{what} expired (offsets.retention.minutes)"
    with_what = _DELETED_WITH.get(event.cause)
    if with_what is not None:
        return f"{what} {'was' if count == 1 else 'were'} deleted with {with_what[count > 1]}{_which(event)}"
    by = requester(event.requested_by) if event.requested_by is not None else "an administrator"
    return f"{by} deleted {what}{_which(event)}"


_DELETED_WITH: Final = {
    Cause.TOPIC_DELETED: ("its topic", "their topics"),
    Cause.GROUP_REMOVED: ("the group", "the group"),
}
"""Cause → with what one offset was deleted, and with what several."""


def _which(event: schema.OffsetsDeleted) -> str:
    """`: orders-0 at 41 and orders-1 at 7`, as far as the event tells what was deleted."""
    parts = [
        f"{plain(topic)}-{index} at {offset:,}" if offset >= 0 else f"{plain(topic)}-{index} of an open transaction"
        for topic, partitions in sorted(event.offsets.items())
        for index, offset in sorted(partitions)
    ]
    count = len(parts)
    return f": {listed(parts[:PARTITIONS_NAMED], more=max(0, count - PARTITIONS_NAMED))}" if parts else ""


def _refusal(claim: Refusal) -> str:
    return refusal(claim.event, protocol_of_claim(claim.is_epoch))


def _converted(claim: GroupConverted) -> str:
    protocol = " (KIP-848)" if claim.group_type == CONSUMER else ""
    whose = {0: "", 1: ", with its member"}.get(claim.members, f", with its {claim.members:,} members")
    return f"the group became a {claim.group_type} group{protocol}{whose}"


def _loaded(claim: Loaded) -> str:
    if claim.broker is None:
        return "the coordinator loaded the group again"
    if claim.before is None:
        return f"broker {claim.broker} coordinates the group from then on, and no line tells which one gave it up"
    if claim.away_ms is None:
        return f"the group moved from broker {claim.before} to broker {claim.broker}"
    away = duration(claim.away_ms)
    if claim.before == claim.broker:  # whose log may be the only one that is read
        return (
            f"broker {claim.broker} gave the group up and took it again {away} later: it was restarted, or another"
            " broker had the group meanwhile"
        )
    return f"the group moved from broker {claim.before} to broker {claim.broker}: it had no coordinator for {away}"


def _group_gone(claim: GroupGone) -> str:
    event = claim.event
    if event.requested_by is not None:
        return f"{requester(event.requested_by)} deleted the group"
    if event.cause is Cause.GROUP_REMOVED:
        return "the group was removed"
    return _REMOVALS.get(event.cause, f"the group was removed: {event.cause.value.replace('_', ' ')}")


_REMOVALS: Final[Mapping[StrEnum, str]] = {
    InferredCause.ADOPTED: "nodes in front of the cluster coordinate the group from here on",
    Cause.ADMIN: "an administrator deleted the group",
    Cause.RELEASED: "the group was given back to the cluster, which coordinates it from here on",
    Cause.OFFSETS_EXPIRED: "the group was removed: it was empty, and its last committed offset had expired",
    Cause.NO_OFFSETS: "the group was removed: it had neither members nor committed offsets",
    Cause.NOT_STORED: "the group was removed: the coordinator ended before it was stored",
    Cause.STORE_FAILED: "the group was removed: the coordinator could not store it",
}


def _not_seen(claim: NotSeen) -> str:
    event = claim.event
    if event.because == UnseenBecause.NOT_THROUGH_NODES and event.member is not None:
        return (
            f"no node saw {_client(event.member)} come: it came to the brokers directly, or by way of a node that had"
            " not begun to look; what it sends is not seen, and records alone tell of it"
        )
    how_long = ""
    if event.from_ms is not None and event.until_ms is not None:
        how_long = f", for {duration(event.until_ms - event.from_ms)}"
    if event.because == UnseenBecause.NOT_WATCHED:
        return f"no rule watched the group from here on{how_long}: of what happened meanwhile records alone tell"
    is_away = event.because == UnseenBecause.NODE_AWAY
    what = "saw nothing, as it was away" if is_away else "saw more than it could keep"
    until = " until then" if how_long else ""
    return (
        f"node {event.by_node} {what}{how_long}{until}: members had come by way of it, and of what they did meanwhile"
        " records alone tell"
    )


def _at_the_cluster(claim: AtTheCluster) -> str:
    return held_note(claim.event)


_NOTES: Final[Mapping[type[Claim], Callable[[Any], str]]] = {
    PlaceTaken: _replacement,
    OffsetsSet: _offsets_set,
    OffsetsGone: _offsets_gone,
    Refusal: _refusal,
    Loaded: _loaded,
    GroupConverted: _converted,
    GroupGone: _group_gone,
    NotSeen: _not_seen,
    AtTheCluster: _at_the_cluster,
    CoordinatorAway: absence,
}
