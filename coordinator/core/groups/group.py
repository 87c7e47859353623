"""The state of one group: its kind, its members and its committed offsets. Only events change them."""

from dataclasses import dataclass, field
from typing import Any, Generic

from coordinator.config.settings import Config
from coordinator.core.groups.kind import GroupKind
from coordinator.core.groups.membership import M
from coordinator.core.offsets.committed_offsets import CommittedOffsets


@dataclass(slots=True)
class Group(Generic[M]):
    """A group that exists. A group id without one has no group in the coordinator: absence is None, never a state.

    An event that changes its kind sets `kind` and `membership` together; the offsets stay.
    """

    group_id: str
    kind: GroupKind = field(repr=False, compare=False)
    membership: M
    offsets: CommittedOffsets = field(default_factory=CommittedOffsets)


def is_oversized(group: Group[Any], config: Config) -> bool:
    """Whether the group has more members than the setting of its kind allows."""
    limit = group.kind.max_size
    return limit is not None and len(group.membership.members) > config[limit]
