"""Claims about what is wrong with a group beyond one rebalance."""

from collections.abc import Callable, Iterator
from typing import Final

from coordinator.explain.claims.findings import Found
from coordinator.explain.facts import Facts
from coordinator.explain.history import GroupHistory
from coordinator.explain.makers.findings import (
    assignment,
    clients,
    comings,
    delays,
    identities,
    rebalances,
    share,
    streams,
)

_LOOKS: Final[tuple[Callable[[Facts, int], Iterator[Found]], ...]] = (
    comings.comes_and_goes,
    comings.crash_loop,
    rebalances.storm,
    comings.rolling_restart,
    comings.replaced,
    comings.pauses_too_long,
    delays.slow_rejoiner,
    delays.holds_up_others,
    rebalances.stopped_for_nothing,
    assignment.idle_members,
    assignment.no_commits,
    identities.static_restarts,
    identities.shared_instance_id,
    identities.wasted_instance_id,
    clients.cannot_join,
    clients.too_old,
    clients.held_by_cluster,
    share.given_up,
    share.lets_locks_end,
    share.takes_all,
    share.start_stands,
    streams.topology_not_ready,
    streams.shutdown_requested,
    streams.stale_topology,
)


def found_in(history: GroupHistory, now_ms: int) -> Iterator[Found]:
    """All findings of a group at a wall-clock time, in ms since the epoch.

    A group that was removed, or never was, can only have those about members at another coordinator.
    """
    facts = Facts(history)
    looks = _LOOKS if history.exists else (clients.held_by_cluster,)
    for look in looks:
        yield from look(facts, now_ms)
