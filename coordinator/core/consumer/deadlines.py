"""When members of a consumer group are removed unless they do something: the timers beside their sessions."""

from dataclasses import dataclass, field
from enum import IntEnum
from heapq import heappop, heappush


class Deadline(IntEnum):
    """What a member has to do in time."""

    REVOCATION = 0
    """Give up the partitions that it has to revoke (Kafka: rebalance timeout)."""
    JOIN = 1
    """A member of the classic protocol: send JoinGroup."""
    SYNC = 2
    """A member of the classic protocol: send SyncGroup."""


DeadlineKey = tuple[str, Deadline]


@dataclass(slots=True)
class Deadlines:
    """The deadlines of the members of one group, in milliseconds since the epoch."""

    by_key: dict[DeadlineKey, int] = field(default_factory=dict)
    heap: list[tuple[int, str, Deadline]] = field(default_factory=list, compare=False)
    """(time, member id, kind), also of deadlines that were removed or set again; never one of those at the top."""

    @property
    def next_ms(self) -> int | None:
        return self.heap[0][0] if self.heap else None

    def due(self, now_ms: int) -> list[DeadlineKey]:
        """The deadlines that are over, the earliest first."""
        found = sorted((at_ms, key) for key, at_ms in self.by_key.items() if at_ms <= now_ms)
        return [key for _, key in found]

    def set(self, member_id: str, kind: Deadline, at_ms: int) -> None:
        self.by_key[member_id, kind] = at_ms
        heappush(self.heap, (at_ms, member_id, kind))
        self._drop_old()

    def remove(self, member_id: str, kind: Deadline) -> None:
        if self.by_key.pop((member_id, kind), None) is not None:
            self._drop_old()

    def remove_all(self, member_id: str) -> None:
        if self.by_key:  # mostly there are none, and thousands of members may go at once
            for kind in Deadline:
                self.by_key.pop((member_id, kind), None)
            self._drop_old()

    def _drop_old(self) -> None:
        while self.heap and self.by_key.get(self.heap[0][1:]) != self.heap[0][0]:
            heappop(self.heap)
