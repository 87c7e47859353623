"""What all events of groups have in common."""

from typing import Any


class GroupEvent:
    """An event of one group, at `at_ms`, in wall-clock milliseconds since the epoch."""

    __slots__ = ()
    group_id: str
    at_ms: int

    @property
    def key(self) -> str:
        """The key of the group in its shard."""
        return self.group_id

    def apply(self, group: Any) -> None:
        """Change the group (`Group`). It is total for a live group and reads no clock."""
        raise NotImplementedError
