"""Heartbeats that name very many topics: the names are put in order in steps, before the group is asked."""

from collections.abc import Generator
from heapq import merge
from itertools import groupby
from typing import Any, Final, NamedTuple

from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions

NAMES_SORTED_AT_ONCE: Final = 2_000
"""Names of topics that are sorted in one step: about a millisecond."""
NAMES_MERGED_AT_ONCE: Final = 1_000
"""Of sorted runs so many names are merged in one step."""


class LongHeartbeat(NamedTuple):
    """A heartbeat that names very many topics. It has the fields of the request, but its names are in order."""

    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None
    rack_id: str | None
    rebalance_timeout_ms: int
    subscribed_topic_names: tuple[str, ...]
    """In ascending order, without doubles."""
    subscribed_topic_regex: str | None
    server_assignor: str | None
    topic_partitions: list[TopicPartitions] | None


def sorting_names(request: ConsumerGroupHeartbeatRequest, names: list[str]) -> Generator[None, None, LongHeartbeat]:
    """The request with its names in order, in steps of about a millisecond."""
    found = yield from sorting(names)
    fields: dict[str, Any] = {name: getattr(request, name) for name in LongHeartbeat._fields}
    return LongHeartbeat(**fields | {"subscribed_topic_names": found})


def sorting(names: list[str]) -> Generator[None, None, tuple[str, ...]]:
    """The names in ascending order, without doubles, in steps of about a millisecond: sorted runs, which are merged."""
    runs = []
    for start in range(0, len(names), NAMES_SORTED_AT_ONCE):
        runs.append(sorted(set(names[start : start + NAMES_SORTED_AT_ONCE])))
        yield
    found: list[str] = []
    for name, _ in groupby(merge(*runs)):
        found.append(name)
        if len(found) % NAMES_MERGED_AT_ONCE == 0:
            yield
    return tuple(found)


def sorted_names(names: list[str] | tuple[str, ...]) -> tuple[str, ...]:
    """The topics that a heartbeat names, in ascending order, without doubles."""
    return names if isinstance(names, tuple) else tuple(sorted(set(names)))
