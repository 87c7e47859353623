"""What a node in front of a cluster has that is read at each scrape."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from coordinator.cluster.parts import ClusterHome, ClusterLinks
from coordinator.front.group_parts import GroupParts
from coordinator.front.node_loop import NodeLoop

if TYPE_CHECKING:
    from coordinator.metrics.node_metrics import NodeMetrics
    from coordinator.metrics.timing import TimeHistogram


class MeasuredParts(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a node that metrics are about."""

    loop: NodeLoop
    links: ClusterLinks
    groups: GroupParts
    home: ClusterHome


def measure_cluster_node(metrics: "NodeMetrics", parts: MeasuredParts, append_times: "TimeHistogram") -> None:
    """Have a node read at each scrape."""
    from coordinator.metrics.node_metrics import Measured

    leads, groups = parts.links.leads, parts.groups
    metrics.register(lambda: _samples(parts, append_times))
    metrics.measure(
        Measured(
            coordinator=groups.coordinator,
            coordinator_epoch=groups.coordinator_epoch,
            sessions=groups.sessions,
            wheel=parts.loop.wheel,
            pending=groups.pending.unanswered,
            leads=lambda topic, partition: partition in leads.partitions,
            now_ms=parts.loop.now_ms,
            wall_ms=parts.loop.wall_ms,
            not_ready_because=lambda: _problem(parts),
        )
    )


def _problem(parts: MeasuredParts) -> str:
    if not parts.links.lease.is_held:
        return "no lease: the group of the nodes has not answered"
    return ""


def _samples(parts: MeasuredParts, append_times: "TimeHistogram") -> Iterator[tuple[Any, Any]]:
    from coordinator.cluster import declared_metrics as own
    from coordinator.metrics.histogram import histogram_value

    links, owned = parts.links, parts.home.ownership.owned_groups()
    leads = links.leads
    missing = sum(links.sentinels.get(group_id) is None for group_id in owned)
    lease_ms = max(links.lease.until_ms - parts.loop.now_ms(), 0)
    times = histogram_value(append_times.bounds_ms, append_times.range_counts, append_times.sum_ms)
    yield own.APPEND_TIME_MS, [((), times)]
    for metric, value in (
        (own.PARTITIONS_LED, len(leads.partitions)),
        (own.TAKEOVERS, leads.takeovers),
        (own.FENCED, leads.fences),
        (own.LEASES_LOST, leads.leases_lost),
        (own.LEASE_SECONDS, lease_ms / 1000),
        (own.GROUPS_OWNED, len(owned)),
        (own.SENTINELS_MISSING, missing),
        (own.NODES, len(leads.nodes)),
        (own.BROKERS, len(links.brokers.by_id)),
    ):
        yield metric, [((), value)]
