"""Topics as JSON: the groups that consume each, by committed offsets, assignment or subscription."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from coordinator.client.group_description import PartitionLag
from coordinator.dashboard.board import Board

Json = dict[str, Any]

GROUPS_SHOWN: Final = 500
"""Groups in the answer about a topic, those with the most lag."""
TOPICS_SHOWN: Final = 1_000
"""Topics in the list, those with the most lag."""


@dataclass(slots=True)
class _Consumption:
    """What one group has to do with one topic."""

    group_id: str
    partitions: list[PartitionLag] = field(default_factory=list)
    members_subscribed: int = 0
    lag: int | None = None
    lag_ms: int | None = None

    def add(self, partition: PartitionLag, now_ms: int) -> None:
        self.partitions.append(partition)
        lag = partition.lag
        if lag is not None:
            self.lag = lag + (self.lag or 0)
            age_ms = partition.lag_ms(now_ms) if lag else 0
            if age_ms is not None:
                self.lag_ms = max(age_ms, self.lag_ms or 0)


def topics(board: Board) -> Json:
    """All topics that a group consumes, the largest lag first."""
    by_topic: dict[str, list[_Consumption]] = {}
    for topic, consumption in _consumptions(board):
        by_topic.setdefault(topic, []).append(consumption)
    rows: list[Json] = [
        {
            "topic": topic,
            "groups": len(consumers),
            "lag": _total(consumers),
            "lag_ms": _largest(consumer.lag_ms for consumer in consumers),
        }
        for topic, consumers in by_topic.items()
    ]
    rows.sort(key=lambda row: (_by_lag(row["lag"]), row["topic"]))
    return {"total": len(rows), "topics": rows[:TOPICS_SHOWN]}


def topic(board: Board, name: str) -> Json | None:
    """The groups that consume a topic, the largest lag first; None if there are none."""
    consumers = [consumption for topic, consumption in _consumptions(board, name) if topic == name]
    if not consumers:
        return None
    consumers.sort(key=lambda consumption: (_by_lag(consumption.lag), consumption.group_id))
    rows = [
        {
            "group_id": consumer.group_id,
            "state": board.row(consumer.group_id).state,
            "lag": consumer.lag,
            "lag_ms": consumer.lag_ms,
            "partitions_committed": sum(one.committed_offset is not None for one in consumer.partitions),
            "partitions_owned": sum(one.member_id is not None for one in consumer.partitions),
            "members_subscribed": consumer.members_subscribed,
            "moved_ms": _largest(board.lags.moved_ms(consumer.group_id, one) for one in consumer.partitions),
        }
        for consumer in consumers[:GROUPS_SHOWN]
    ]
    return {
        "topic": name,
        "time_ms": board.lags.latest.time_ms or None,
        "lag_problem": board.lags.problem,
        "lag": _total(consumers),
        "lag_ms": _largest(consumer.lag_ms for consumer in consumers),
        "groups": rows,
        "groups_total": len(consumers),
    }


def _consumptions(board: Board, only: str | None = None) -> Iterator[tuple[str, _Consumption]]:
    """Topic and group, for each topic of each group; for one topic if it is named."""
    now_ms = board.lags.latest.time_ms
    for group_id in dict.fromkeys([*board.groups, *board.lags.latest.groups]):
        found: dict[str, _Consumption] = {}
        sampled, history = board.lags.group(group_id), board.groups.get(group_id)
        for partition in () if sampled is None else sampled.group.partitions:
            if only is None or partition.topic == only:
                _of(found, partition.topic, group_id).add(partition, now_ms)
        for member in () if history is None else history.members.values():
            for name in member.subscribed_topics:
                if only is None or name == only:
                    _of(found, name, group_id).members_subscribed += 1
        yield from found.items()


def _of(found: dict[str, _Consumption], topic: str, group_id: str) -> _Consumption:
    consumption = found.get(topic)
    if consumption is None:
        consumption = found[topic] = _Consumption(group_id)
    return consumption


def _total(consumers: Iterable[_Consumption]) -> int | None:
    lag_values = [consumer.lag for consumer in consumers if consumer.lag is not None]
    return sum(lag_values) if lag_values else None


def _largest(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)


def _by_lag(lag: int | None) -> int:
    """Sorts the largest lag first, and what is not known last."""
    return 1 if lag is None else -lag
