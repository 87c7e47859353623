"""The lag of all groups: now, and over the last hour."""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeVar

from coordinator.client.group_description import DescribedGroup, PartitionLag
from coordinator.dashboard.standing import StandingOffsets

POINT_EVERY_MS: Final = 20_000
POINTS_KEPT: Final = 181
"""An hour, both ends included."""
GROUP_SERIES_MAX: Final = 5_000
PARTITION_SERIES_MAX: Final = 10_000
"""Series of the last hour, of groups and of partitions: some 2 KB each. Further ones have their lag of now alone."""
UNKNOWN: Final = -(2**63)
"""In place of a lag; a committed offset beyond the end of the log has a negative one."""
UNKNOWN_AGE: Final = -1
AGE_SECONDS_MAX: Final = 2**31 - 1

Key = TypeVar("Key")

PartitionKey = tuple[str, str, int]
"""Group, topic and partition."""

Point = tuple[int, int | None, int | None]
"""Time (ms), lag in records, age of the lag in seconds; None where it is not known."""


@dataclass(frozen=True, slots=True)
class SampledGroup:
    """A group as the server described it at the time of a sample, with the lag of all its partitions together."""

    group: DescribedGroup
    lag: int | None
    lag_ms: int | None


@dataclass(frozen=True, slots=True)
class Sample:
    """All groups at a time. At least `groups_left_out` were too many to be read."""

    time_ms: int
    groups: dict[str, SampledGroup]
    groups_left_out: int = 0


@dataclass(slots=True)
class LagSeries:
    """Two rings: a point has the place of its number modulo `POINTS_KEPT`."""

    lags: "array[int]" = field(default_factory=lambda: array("q", [UNKNOWN]) * POINTS_KEPT)
    ages_seconds: "array[int]" = field(default_factory=lambda: array("i", [UNKNOWN_AGE]) * POINTS_KEPT)

    def put(self, number: int, lag: int | None, lag_ms: int | None) -> None:
        place = number % POINTS_KEPT
        self.lags[place] = UNKNOWN if lag is None else lag
        self.ages_seconds[place] = UNKNOWN_AGE if lag_ms is None else min(lag_ms // 1000, AGE_SECONDS_MAX)


class Lags:
    """The latest sample, and points of the samples before it, one every `POINT_EVERY_MS`."""

    def __init__(self) -> None:
        self.latest = Sample(0, {})
        self.problem = ""
        """Why there is no newer sample, in one line; empty while all is well."""
        self._point_number = -1
        self._point_ms = 0
        self._times_ms = array("q", [0]) * POINTS_KEPT
        self._groups: dict[str, LagSeries] = {}
        self._partitions: dict[PartitionKey, LagSeries] = {}
        self._moved: dict[PartitionKey, tuple[int, int]] = {}
        """Committed offset, and the time of the first sample that had it after another one; 0 for the first ever."""
        self._standing = StandingOffsets()

    def apply(self, sample: Sample) -> None:
        """Take a sample that is newer than all before it."""
        self.latest, self.problem = sample, ""
        self._note_moves(sample)
        moved_ms = {key: at_ms for key, (_, at_ms) in self._moved.items() if at_ms}
        self._standing.apply([group.group for group in sample.groups.values()], sample.time_ms, moved_ms)
        if sample.time_ms < self._point_ms + POINT_EVERY_MS:
            return
        self._point_number += 1
        self._point_ms = sample.time_ms
        self._times_ms[self._point_number % POINTS_KEPT] = sample.time_ms
        self._forget_gone(sample)
        for series in (*self._groups.values(), *self._partitions.values()):
            series.put(self._point_number, None, None)
        for group_id, group in sample.groups.items():
            if (series_of_group := _series(self._groups, group_id, GROUP_SERIES_MAX)) is not None:
                series_of_group.put(self._point_number, group.lag, group.lag_ms)
            for at in group.group.partitions:
                key = (group_id, at.topic, at.partition)
                if (series_of_partition := _series(self._partitions, key, PARTITION_SERIES_MAX)) is not None:
                    series_of_partition.put(self._point_number, at.lag, at.lag_ms(sample.time_ms))

    def group(self, group_id: str) -> SampledGroup | None:
        return self.latest.groups.get(group_id)

    def of_group(self, group_id: str) -> list[Point]:
        """The last hour of a group, the oldest point first."""
        series = self._groups.get(group_id)
        return [] if series is None else self._points([series])

    def of_partitions(self, group_id: str, partitions: Iterable[PartitionLag]) -> list[Point]:
        """The last hour of some partitions of a group: the sum of their lags, and the largest age."""
        keys = ((group_id, partition.topic, partition.partition) for partition in partitions)
        return self._points([self._partitions[key] for key in keys if key in self._partitions])

    def moved_ms(self, group_id: str, partition: PartitionLag) -> int | None:
        """When the committed offset of a partition was first seen to be what it is; None if it has not moved yet."""
        return self._moved.get((group_id, partition.topic, partition.partition), (0, 0))[1] or None

    def _points(self, series: list[LagSeries]) -> list[Point]:
        return [
            (self._times_ms[place], *_combined(series, place)) for place in self._places() if _has_lag(series, place)
        ]

    def _places(self) -> Iterator[int]:
        for number in range(max(0, self._point_number - POINTS_KEPT + 1), self._point_number + 1):
            yield number % POINTS_KEPT

    def _forget_gone(self, sample: Sample) -> None:
        """Groups that are no longer there, and their partitions: others of their names are others."""
        if sample.groups_left_out:
            return
        for gone in self._groups.keys() - sample.groups.keys():
            del self._groups[gone]
        for key in [key for key in self._partitions if key[0] not in sample.groups]:
            del self._partitions[key]

    def _note_moves(self, sample: Sample) -> None:
        moved: dict[PartitionKey, tuple[int, int]] = {}
        for group_id, group in sample.groups.items():
            for at in group.group.partitions:
                if at.committed_offset is not None and len(moved) < PARTITION_SERIES_MAX:
                    key = (group_id, at.topic, at.partition)
                    before = self._moved.get(key)
                    if before is None:
                        moved[key] = (at.committed_offset, 0)
                    else:
                        is_same = before[0] == at.committed_offset
                        moved[key] = before if is_same else (at.committed_offset, sample.time_ms)
        self._moved = moved


def _series(series_by_key: dict[Key, LagSeries], key: Key, series_max: int) -> LagSeries | None:
    found = series_by_key.get(key)
    if found is None and len(series_by_key) < series_max:
        found = series_by_key[key] = LagSeries()
    return found


def _has_lag(series: list[LagSeries], place: int) -> bool:
    return any(lag_series.lags[place] != UNKNOWN for lag_series in series)


def _combined(series: list[LagSeries], place: int) -> tuple[int | None, int | None]:
    lags = [lag_series.lags[place] for lag_series in series if lag_series.lags[place] != UNKNOWN]
    ages = [lag_series.ages_seconds[place] for lag_series in series if lag_series.ages_seconds[place] != UNKNOWN_AGE]
    return (sum(lags) if lags else None), max(ages, default=None)
