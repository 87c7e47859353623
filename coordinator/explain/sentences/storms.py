"""Storms in words."""

from collections.abc import Iterable

from coordinator.explain.storms import Storm
from coordinator.explain.words import Clock, counted, duration, plain, utc_clock


def headline(storm: Storm, clock: Clock = utc_clock) -> str:
    """A storm of a group, or of all groups."""
    spread = "" if storm.group_id is not None else f" of {counted(storm.group_count, 'group')}"
    return storm_headline(storm.rebalances, storm.from_ms, storm.until_ms, clock, spread)


def storm_headline(rebalances: int, from_ms: int, until_ms: int, clock: Clock, spread: str = "") -> str:
    took = duration(until_ms - from_ms)
    return f"a storm: {counted(rebalances, 'rebalance')}{spread} in {took} from {clock(from_ms)} on"


def cause_counts(causes: Iterable[tuple[str, int]]) -> tuple[str, ...]:
    """`member left: 4`, of each cause."""
    return tuple(f"{plain(name).replace('_', ' ')}: {count}" for name, count in causes)
