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

    @property
    def lag(self) -> int | None:
        known = [each.lag for each in self.partitions if each.lag is not None]
        return sum(known) if known else None

    def lag_ms(self, now_ms: int) -> int | None:
        return _largest(each.lag_ms(now_ms) for each in self.partitions)


def topics(board: Board) -> Json:
    """All topics that a group consumes, the largest lag first."""
    by_topic: dict[str, list[_Consumption]] = {}
    for topic, each in _consumptions(board):
        by_topic.setdefault(topic, []).append(each)
    now_ms = board.lags.latest.time_ms
    rows = [
        {
            "topic": topic,
            "groups": len(consumers),
            "lag": _total(consumers),
            "lag_ms": _largest(each.lag_ms(now_ms) for each in consumers),
        }
        for topic, consumers in by_topic.items()
    ]
    rows.sort(key=lambda row: (*_most_lag_first(row), row["topic"]))
    return {"total": len(rows), "topics": rows[:TOPICS_SHOWN]}


def topic(board: Board, name: str) -> Json | None:
    """The groups that consume a topic, the largest lag first; None if there are none."""
    consumers = [each for topic, each in _consumptions(board, name) if topic == name]
    if not consumers:
        return None
    now_ms = board.lags.latest.time_ms
    rows = [
        {
            "group_id": each.group_id,
            "state": board.row(each.group_id).state,
            "lag": each.lag,
            "lag_ms": each.lag_ms(now_ms),
            "partitions_committed": sum(one.committed_offset is not None for one in each.partitions),
            "partitions_owned": sum(one.member_id is not None for one in each.partitions),
            "members_subscribed": each.members_subscribed,
            "moved_ms": _largest(board.lags.moved_ms(each.group_id, one) for one in each.partitions),
        }
        for each in consumers
    ]
    rows.sort(key=lambda row: (*_most_lag_first(row), row["group_id"]))
    return {
        "topic": name,
        "time_ms": now_ms or None,
        "lag_problem": board.lags.problem,
        "lag": _total(consumers),
        "lag_ms": _largest(each.lag_ms(now_ms) for each in consumers),
        "groups": rows[:GROUPS_SHOWN],
        "groups_total": len(rows),
    }


def _consumptions(board: Board, only: str | None = None) -> Iterator[tuple[str, _Consumption]]:
    """Topic and group, for each topic of each group; for one topic if it is named."""
    for group_id in dict.fromkeys([*board.groups, *board.lags.latest.groups]):
        found: dict[str, _Consumption] = {}
        sampled, history = board.lags.group(group_id), board.groups.get(group_id)
        for partition in () if sampled is None else sampled.group.partitions:
            if only is None or partition.topic == only:
                found.setdefault(partition.topic, _Consumption(group_id)).partitions.append(partition)
        for member in () if history is None else history.members.values():
            for name in member.subscribed_topics:
                if only is None or name == only:
                    found.setdefault(name, _Consumption(group_id)).members_subscribed += 1
        yield from found.items()


def _total(consumers: Iterable[_Consumption]) -> int | None:
    known = [each.lag for each in consumers if each.lag is not None]
    return sum(known) if known else None


def _largest(values: Iterable[int | None]) -> int | None:
    return max((each for each in values if each is not None), default=None)


def _most_lag_first(row: Json) -> tuple[int]:
    return (1 if row["lag"] is None else -row["lag"],)
