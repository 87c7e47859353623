"""What can be asked of a shard: of one group, of all of them, and the end of a transaction."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from coordinator.core.decision import Decision, Reply
from coordinator.core.group import Group
from coordinator.core.stored import TransactionMarker
from coordinator.runtime.deleted_topics import IsGone

GroupDecision = Callable[[Group, int], Decision]
ShardDecision = Callable[[Mapping[str, Group], int], Sequence[Reply]]


@dataclass(slots=True)
class GroupAsk:
    """Something asked of one group; `request_id` is None when nobody waits for an answer."""

    request_id: int | None
    group_id: str
    decide: GroupDecision


@dataclass(slots=True)
class ShardAsk:
    """Something asked of all groups of the shard, which it does not change."""

    request_id: int | None
    decide: ShardDecision


@dataclass(slots=True)
class MarkerAsk:
    """The end of a transaction, for all groups of the shard that have a part in it; answered NONE."""

    request_id: int | None
    marker: TransactionMarker


@dataclass(slots=True)
class ForgetTopicsAsk:
    """All groups of the shard forget the committed offsets in topics that are gone. Nobody waits for a response."""

    is_gone: IsGone
    request_id: None = None


Ask = GroupAsk | ShardAsk | MarkerAsk | ForgetTopicsAsk
