"""Findings about streams groups (KIP-1071)."""

from collections.abc import Iterator
from typing import Final

from coordinator.audit.schema import MEMBERS_NAMED_MAX
from coordinator.explain.claims.claim import seen
from coordinator.explain.claims.findings import Kind
from coordinator.explain.claims.streams import ShutdownRequested, StaleMember, StaleTopology, TopologyNotReady
from coordinator.explain.facts import Facts
from coordinator.explain.folded_group import NOT_READY

SHUTDOWN_RECENT_MS: Final = 3_600_000
"""A shutdown that was asked for within this time is reported."""


def topology_not_ready(facts: Facts, now_ms: int) -> Iterator[TopologyNotReady]:
    """As long as the group is NotReady, if it was told why since it was loaded."""
    history = facts.history
    topology, since_ms = history.topology, history.not_ready_ms
    if topology is None or since_ms is None or history.state != NOT_READY:
        return
    yield TopologyNotReady(
        kind=Kind.TOPOLOGY_NOT_READY,
        from_ms=since_ms,
        until_ms=max(now_ms, topology.time_ms),
        status=topology.status,
        topics=tuple(topology.topics),
        unnamed_topics=topology.unnamed_topics,
        detail=topology.detail,
        failed=tuple(sorted(history.failed_topics.items())),
        evidence=seen(topology.seq),
    )


def shutdown_requested(facts: Facts, now_ms: int) -> Iterator[ShutdownRequested]:
    asked = facts.history.shutdown
    if asked is not None and now_ms - asked.time_ms <= SHUTDOWN_RECENT_MS:
        yield ShutdownRequested(
            kind=Kind.SHUTDOWN_REQUESTED,
            from_ms=asked.time_ms,
            until_ms=asked.time_ms,
            member=asked.member,
            evidence=seen(asked.seq),
        )


def stale_topology(facts: Facts, now_ms: int) -> Iterator[StaleTopology]:
    """As long as such members are in the group."""
    members = facts.history.members.values()
    stale = [member.stale_topology for member in members if member.stale_topology is not None]
    if stale:
        yield StaleTopology(
            kind=Kind.STALE_TOPOLOGY,
            from_ms=min(event.time_ms for event in stale),
            until_ms=now_ms,
            members=tuple(StaleMember(event.member, event.topology_epoch) for event in stale[:MEMBERS_NAMED_MAX]),
            unnamed=max(len(stale) - MEMBERS_NAMED_MAX, 0),
            group_topology_epoch=stale[0].group_topology_epoch,
            evidence=seen(*(event.seq for event in stale[:MEMBERS_NAMED_MAX])),
        )
