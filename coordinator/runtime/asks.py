"""What can be asked of a shard: of one group, of all of them, and the end of a transaction."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from coordinator.core.decision import Decision, Reply
from coordinator.core.group import Group
from coordinator.core.stored import TransactionMarker
from coordinator.runtime.interfaces import AuditRecord

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
class AuditAsk:
    """Records for the audit topic about groups as they are before the events of a batch: it goes first in its batch."""

    write: Callable[[Mapping[str, Group], int], list[AuditRecord]]
    """(groups of the shard, now in ms) → records."""
    request_id: None = None


Ask = GroupAsk | ShardAsk | MarkerAsk | AuditAsk
