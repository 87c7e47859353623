"""Findings about clients that cannot join, and about members at another coordinator."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from coordinator.audit.schema import REJECTION_APART_MS, MemberRef, RequestRejected
from coordinator.explain.claims.claim import SEEN, seen
from coordinator.explain.claims.findings import CannotJoin, HeldByCluster, Kind, Offer, TooOld
from coordinator.explain.facts import Facts
from coordinator.explain.generation import CONSUMER
from coordinator.explain.history import GroupHistory

SLACK_MS: Final = 60_000
"""How long a client may wait between two attempts to join without being taken for one that has given up."""

GATHERED_SLACK_MS: Final = 120_000
"""Beyond the time between two events while it goes on: refused versions are gathered for a minute."""

INCONSISTENT: Final = "INCONSISTENT_GROUP_PROTOCOL"
UNRELEASED: Final = "UNRELEASED_INSTANCE_ID"
LASTING: Final = frozenset({INCONSISTENT, "GROUP_MAX_SIZE_REACHED", UNRELEASED, "INVALID_SESSION_TIMEOUT"})
"""Errors of a request to join that its client meets again and again."""


def cannot_join(facts: Facts, now_ms: int) -> Iterator[CannotJoin]:
    """Those whose last rejection is recent: while they go on, one is told every `REJECTION_APART_MS`."""
    history = facts.history
    if not history.members:
        return  # an empty group takes any assignor
    by_client: dict[tuple[str, str, str], list[RequestRejected]] = defaultdict(list)
    for event in history.rejected:
        if event.error in LASTING and not event.injected and event.created_seq == history.created_seq:
            by_client[event.member.client_id, event.member.client_host, event.error].append(event)
    for (client_id, host, error), events in by_client.items():
        last = events[-1]
        is_recent = now_ms - last.time_ms <= REJECTION_APART_MS + SLACK_MS
        if is_recent and facts.last_joined_ms.get((client_id, host), 0) < last.time_ms and not _is_over(last, history):
            yield CannotJoin(
                kind=Kind.REJECTED_CLIENT,
                from_ms=events[0].time_ms,
                until_ms=last.time_ms,
                client=(client_id, host),
                refusal=last,
                offers=tuple(_offers(history)) if error == INCONSISTENT else (),
                is_epoch=history.group_type == CONSUMER,
                evidence=seen(*(event.seq for event in events)),
            )


def _is_over(refusal: RequestRejected, history: GroupHistory) -> bool:
    """Whether who had the instance id is gone, or the client that was refused has it now."""
    if refusal.error != UNRELEASED or refusal.holder is None:
        return False
    return refusal.holder.member_id not in history.members


def _offers(history: GroupHistory) -> Iterator[Offer]:
    """Which members of the group offer which assignors, as far as that is known."""
    offers: dict[tuple[str, ...], list[MemberRef]] = defaultdict(list)
    for tracked in history.members.values():
        if tracked.protocols:
            offers[tracked.protocols].append(tracked.member)
    for protocols, members in sorted(offers.items()):
        yield Offer(tuple(members), protocols)


def too_old(facts: Facts, now_ms: int) -> Iterator[TooOld]:
    """Members that are too old, for as long as that goes on: refusals are gathered for a minute, and told again."""
    history = facts.history
    found: dict[tuple[str, str], list[RequestRejected]] = defaultdict(list)
    for event in history.rejected:
        if event.refused_version is not None and not event.injected and event.member.member_id in history.members:
            found[event.member.member_id, event.api].append(event)
    for (member_id, _), events in found.items():
        if now_ms - events[-1].time_ms <= REJECTION_APART_MS + GATHERED_SLACK_MS:
            member = history.members[member_id].member
            yield TooOld(
                kind=Kind.TOO_OLD_CLIENT,
                from_ms=events[0].time_ms,
                until_ms=events[-1].time_ms,
                client=(member.client_id, member.client_host),
                refusal=events[-1],
                evidence=seen(*(event.seq for event in events)),
            )


def held_by_cluster(facts: Facts, now_ms: int) -> Iterator[HeldByCluster]:
    """Of a group that nodes in front of a cluster are to coordinate: clients are in it at the cluster."""
    event = facts.history.held_by_cluster
    if event is not None:
        yield HeldByCluster(
            kind=Kind.COORDINATED_TWICE if event.is_owned else Kind.HELD_BY_CLUSTER,
            from_ms=event.since_ms,
            until_ms=now_ms,
            held=event,
            members_here=len(facts.history.members),
            evidence=SEEN,
        )
