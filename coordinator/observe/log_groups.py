"""The groups that logs of brokers tell of."""

from collections.abc import Iterable
from typing import Final

import msgspec

from coordinator.observe.logs import statements as said
from coordinator.observe.logs.statements import OfGroup, Statement

OF_CONSUMER_GROUPS: Final = (said.EpochBumped, said.ConsumerJoined, said.TargetComputed)
BEGINS: Final = (said.RebalancePrepared, said.EpochBumped)


class LoggedGroup(msgspec.Struct):
    """A group as its lines tell it. Times are wall-clock ms since the epoch."""

    group_id: str
    group_type: str = ""
    """classic or consumer (KIP-848); empty: its lines do not tell."""
    rebalances: int = 0
    """That the lines tell to begin; of a consumer group, each time that its epoch rose."""
    first_ms: int = 0
    last_ms: int = 0
    is_doubtful: bool = True
    """All of its lines may be forged or cut."""


def logged_groups(statements: Iterable[Statement]) -> list[LoggedGroup]:
    """By name."""
    found: dict[str, LoggedGroup] = {}
    for statement in statements:
        if not isinstance(statement, OfGroup):
            continue
        at_ms = statement.place.time_ms
        group = found.get(statement.group_id)
        if group is None:
            group = found[statement.group_id] = LoggedGroup(statement.group_id, first_ms=at_ms)
        group.first_ms, group.last_ms = min(group.first_ms, at_ms), max(group.last_ms, at_ms)
        group.is_doubtful &= statement.is_doubtful
        group.rebalances += isinstance(statement, BEGINS) and not statement.is_doubtful
        if isinstance(statement, OF_CONSUMER_GROUPS):
            group.group_type = "consumer"
        elif isinstance(statement, said.RebalancePrepared):
            group.group_type = "classic"
    return sorted(found.values(), key=lambda group: group.group_id)
