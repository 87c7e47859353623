"""What can be asked of a shard: of one group, of all of them, and the end of a transaction."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from coordinator.core.decision import Decision, Reply
from coordinator.core.group import Group
from coordinator.core.stored import TransactionMarker

GroupDecision = Callable[[Group, int], Decision]
ShardDecision = Callable[[Mapping[str, Group], int], Sequence[Reply]]


class GroupAsk(NamedTuple):
    """Something asked of one group; `request_id` is None when nobody waits for an answer."""

    request_id: int | None
    group_id: str
    decide: GroupDecision


class ShardAsk(NamedTuple):
    """Something asked of all groups of the shard, which it does not change."""

    request_id: int | None
    decide: ShardDecision


class MarkerAsk(NamedTuple):
    """The end of a transaction, for all groups of the shard that have a part in it; answered NONE."""

    request_id: int | None
    marker: TransactionMarker


Ask = GroupAsk | ShardAsk | MarkerAsk
