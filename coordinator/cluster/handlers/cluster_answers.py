"""Fetched offsets of groups whose answer is large come from the cluster one after the other.

The cluster answers with all that a group has, and how much that is the node knows only then. Asked by many connections
at once it would hold all of these answers, of up to 100 MiB each, before the first is encoded. So of a group whose
answer is not known the first request is waited for, and large ones, which tools ask for, wait for each other.
"""

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any, Final

from coordinator.runtime.slices import MUCH_BYTES, Steps, awaited

GROUPS_MAX: Final = 10_000
"""Groups whose size is remembered."""
PARTITION_BYTES: Final = 32
"""What a committed offset adds to the answer beside its text."""


class _Turns:
    """One at a time. Who is cancelled while it waits, or has its turn, gives it on."""

    def __init__(self) -> None:
        self.is_used = False
        self._waiting: deque[_Ticket] = deque()

    @property
    def is_unused(self) -> bool:
        return not self.is_used and not self._waiting

    def enter(self) -> Steps[None]:
        if not self.is_used:
            self.is_used = True
            return
        ticket = _Ticket()
        self._waiting.append(ticket)
        try:
            yield from awaited(ticket.wait)
        except GeneratorExit:
            if ticket.is_given:
                self.leave()
            else:
                self._waiting.remove(ticket)
            raise

    def leave(self) -> None:
        self.is_used = bool(self._waiting)
        if self._waiting:
            self._waiting.popleft().give()


class _Ticket:
    def __init__(self) -> None:
        self.is_given = False
        self._answered: Callable[[None], None]

    def wait(self, answered: Callable[[None], None]) -> None:
        self._answered = answered

    def give(self) -> None:
        self.is_given = True
        self._answered(None)


class ClusterAnswers:
    """What is known of the sizes, and who has to wait."""

    def __init__(self) -> None:
        self._sizes: OrderedDict[str, int] = OrderedDict()
        """Group id → bytes of its answer, at most as many as have been committed since."""
        self._large = _Turns()
        self._first: dict[str, _Turns] = {}
        """Of groups whose size is not known."""

    def in_turn(self, group_id: str, steps: Callable[[], Steps[Any]]) -> Steps[Any]:
        """The steps that ask for the offsets of a group, when it is their turn."""
        while group_id not in self._sizes:
            turns = self._first.setdefault(group_id, _Turns())
            is_first = not turns.is_used
            yield from turns.enter()
            try:
                if is_first or group_id not in self._sizes:
                    return (yield from steps())
            finally:
                turns.leave()
                if turns.is_unused:
                    self._first.pop(group_id, None)
        if self._sizes[group_id] < MUCH_BYTES:
            return (yield from steps())
        yield from self._large.enter()
        try:
            return (yield from steps())
        finally:
            self._large.leave()

    def answered(self, group_id: str, size_bytes: int) -> None:
        self._sizes[group_id] = size_bytes
        self._sizes.move_to_end(group_id)
        if len(self._sizes) > GROUPS_MAX:
            self._sizes.popitem(last=False)

    def committed(self, group_id: str, request: Any) -> None:
        """A commit to the group, of any version."""
        size_bytes = self._sizes.get(group_id, MUCH_BYTES)
        if size_bytes < MUCH_BYTES:
            self._sizes[group_id] = size_bytes + sum(
                len(partition.committed_metadata or "") + PARTITION_BYTES
                for topic in request.topics
                for partition in topic.partitions
            )
