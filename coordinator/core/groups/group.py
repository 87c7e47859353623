"""The state of one group: its members and its committed offsets. Only events change it."""

from dataclasses import dataclass, field

from coordinator.core.classic.group import ClassicGroup
from coordinator.core.offsets.committed_offsets import CommittedOffsets


@dataclass(slots=True)
class Group:
    """A group that exists. A group id without one has no group in the coordinator: absence is None, never a state."""

    group_id: str
    classic: ClassicGroup = field(init=False)
    offsets: CommittedOffsets = field(default_factory=CommittedOffsets)

    def __post_init__(self) -> None:
        self.classic = ClassicGroup(self.group_id)
