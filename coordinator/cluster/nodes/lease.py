"""Until when a node may answer as the leader of its partitions, by its own clock alone.

The nodes' group removes a member that it has not heard for the session timeout, counted from when it got the last
heartbeat. The node counts from when it has sent that heartbeat, so its lease is over first, whatever happens on the
way. A node that was stopped looks at its lease before it answers anything.
"""

from collections.abc import Callable

NEVER = -1


class Lease:
    """Begun by the first renewal."""

    def __init__(self, length_ms: int, now_ms: Callable[[], int]) -> None:
        """`now_ms` is a clock that never goes back, and goes on while the process is stopped."""
        self._length_ms = length_ms
        self._now_ms = now_ms
        self.until_ms = NEVER

    @property
    def is_held(self) -> bool:
        return self._now_ms() < self.until_ms

    def renew(self, sent_ms: int) -> None:
        """The group answered what was sent then: it counted this node as a member after that."""
        self.until_ms = max(self.until_ms, sent_ms + self._length_ms)

    def end(self) -> None:
        """The node is not a member any more."""
        self.until_ms = NEVER
