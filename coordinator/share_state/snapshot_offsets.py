"""Where the snapshots lie in the log of a shard of the share coordinator.

Counterpart in Kafka: `ShareCoordinatorOffsetsManager`.
"""

from _wire.embedded import prefix_of
from coordinator.core.share_state.stored import SNAPSHOT


class SnapshotOffsets:
    """Where the last snapshot of each share partition lies: the records before the first of them are not needed."""

    def __init__(self) -> None:
        self._by_key: dict[bytes, int] = {}
        self._last_tombstone = 0

    def add(self, offset: int, key: bytes, value: bytes | None) -> None:
        """A record was appended next, or read."""
        if prefix_of(key) != SNAPSHOT:
            return
        if value is None:
            self._by_key.pop(key, None)
            self._last_tombstone = offset
        else:
            self._by_key[key] = offset

    @property
    def oldest_needed(self) -> int:
        """The offset before which nothing is needed; without a share partition, that of the last tombstone."""
        return min(self._by_key.values(), default=self._last_tombstone)

    def clear(self) -> None:
        self._by_key.clear()
        self._last_tombstone = 0
