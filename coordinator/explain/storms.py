"""Storms: times in which a group, or all groups together, rebalance too often. The only definition of one.

Rebalances that only let members in are not counted: a group that starts or grows is no storm.
"""

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from coordinator.core.causes import Cause

STORM_WINDOW_MS: Final = 5 * 60_000
GROUP_STORM_REBALANCES: Final = 6
"""A storm of a group: as many rebalances in `STORM_WINDOW_MS`."""

CLUSTER_STORM_REBALANCES: Final = 30
"""A storm of the cluster: as many rebalances of all groups in `STORM_WINDOW_MS`."""

CLUSTER_STORM_GROUPS: Final = 2
"""A storm of the cluster has as many groups: that of one group is only the group's."""

GROWTH: Final = frozenset({Cause.NEW_MEMBER, Cause.MEMBER_REJOINED})
NAMED_MAX: Final = 5
"""Groups and causes that a storm names, the most frequent."""

UNKNOWN: Final = "unknown"


class Rebalances(NamedTuple):
    """Rebalances of a group for a cause that started at a time, or within `span_ms` from then on (wall-clock ms)."""

    time_ms: int
    group_id: str
    cause: str
    times: int = 1
    span_ms: int = 0

    @property
    def is_growth(self) -> bool:
        return self.cause in GROWTH


@dataclass(frozen=True, slots=True)
class Storm:
    """`group_id` None: of all groups. `most` is the largest number of rebalances in `STORM_WINDOW_MS`.

    `groups` and `causes` are (name, rebalances), the most frequent first, at most `NAMED_MAX` of each.
    """

    group_id: str | None
    from_ms: int
    until_ms: int
    rebalances: int
    most: int
    group_count: int
    groups: tuple[tuple[str, int], ...]
    causes: tuple[tuple[str, int], ...]


def storms_of_group(group_id: str, rebalances: Iterable[Rebalances]) -> list[Storm]:
    """The storms of one group, in order; `rebalances` are only the group's, in any order."""
    return _storms(group_id, rebalances, GROUP_STORM_REBALANCES)


def storms_of_cluster(rebalances: Iterable[Rebalances]) -> list[Storm]:
    """The storms of all groups together, in order."""
    found = _storms(None, rebalances, CLUSTER_STORM_REBALANCES)
    return [storm for storm in found if storm.group_count >= CLUSTER_STORM_GROUPS]


def all_storms(rebalances: Iterable[Rebalances]) -> list[Storm]:
    """Those of the cluster and those of each group, the newest first."""
    every = list(rebalances)
    by_group: dict[str, list[Rebalances]] = {}
    for group_rebalances in every:
        by_group.setdefault(group_rebalances.group_id, []).append(group_rebalances)
    found = storms_of_cluster(every)
    for group_id, of_group in by_group.items():
        found += storms_of_group(group_id, of_group)
    return sorted(found, key=lambda storm: (-storm.from_ms, storm.group_id or ""))


def _storms(group_id: str | None, rebalances: Iterable[Rebalances], threshold: int) -> list[Storm]:
    """Windows that reach the threshold; those that overlap are one storm."""
    items = sorted(rebalance for rebalance in rebalances if not rebalance.is_growth and rebalance.times > 0)
    window: deque[int] = deque()
    in_window = 0
    spans: list[tuple[int, int, int]] = []
    for place, item in enumerate(items):
        window.append(place)
        in_window += item.times
        while item.time_ms - items[window[0]].time_ms >= STORM_WINDOW_MS:
            in_window -= items[window.popleft()].times
        if in_window < threshold:
            continue
        if spans and window[0] <= spans[-1][1]:
            first, _, most = spans.pop()
            spans.append((first, place, max(most, in_window)))
        else:
            spans.append((window[0], place, in_window))
    return [_storm(group_id, items[first : last + 1], most) for first, last, most in spans]


def _storm(group_id: str | None, items: list[Rebalances], most: int) -> Storm:
    groups, causes = Counter[str](), Counter[str]()
    for item in items:
        groups[item.group_id] += item.times
        causes[item.cause] += item.times
    return Storm(
        group_id,
        items[0].time_ms,
        items[-1].time_ms + items[-1].span_ms,
        sum(groups.values()),
        most,
        len(groups),
        tuple(groups.most_common(NAMED_MAX)),
        tuple(causes.most_common(NAMED_MAX)),
    )
