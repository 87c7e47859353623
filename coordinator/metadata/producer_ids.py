"""Assigns producer ids from blocks that are reserved in the metadata log.

Counterpart in Kafka: `RPCProducerIdManager` (KIP-730).
"""

from contextlib import suppress
from typing import Final

from coordinator.log.errors import LogAppendError
from coordinator.metadata.store import MetadataStore

PRODUCER_IDS_PER_BLOCK: Final = 1000
"""Producer ids that are reserved at a time, as in Kafka's controller. A crash loses at most two blocks."""
RESERVED_AHEAD_FROM: Final = PRODUCER_IDS_PER_BLOCK // 2
"""When no more ids than these are left, the next block is reserved: they last for a flush that takes a second. Kafka
does it when a tenth is left."""


class ProducerIds:
    """No id is assigned twice, also after a restart: an id is assigned when its block is durable."""

    def __init__(self, store: MetadataStore) -> None:
        self._store = store
        self._left = range(0)
        self._next_block = range(0)
        self._is_reserving = False
        self.has_failed = False
        """Whether no block could be reserved when that was tried last."""

    @property
    def next_id(self) -> int | None:
        """The id that `allocate` returns next, as far as one is reserved."""
        left = self._left or self._next_block
        return left[0] if left else None

    def request(self, now_ms: int) -> None:
        """Have the next block reserved if it is time; `has_failed` says whether that failed."""
        with suppress(LogAppendError):
            self.is_any_left(now_ms)

    def allocate(self, now_ms: int) -> int | None:
        """Return a new producer id; None: none is left until the changes of the metadata so far are committed.

        Raises:
            LogAppendError: none is left, and no block can be reserved.
        """
        if not self.is_any_left(now_ms):
            return None
        producer_id, self._left = self._left[0], self._left[1:]
        return producer_id

    def is_any_left(self, now_ms: int) -> bool:
        """Whether an id can be assigned now. The next block is reserved if it is time.

        Raises:
            LogAppendError: none is left, and no block can be reserved.
        """
        if len(self._left) <= RESERVED_AHEAD_FROM and not self._next_block and not self._is_reserving:
            self._reserve(now_ms)
        if not self._left:
            self._left, self._next_block = self._next_block, range(0)
        return bool(self._left)

    def _reserve(self, now_ms: int) -> None:
        self._is_reserving, self.has_failed = True, False
        try:
            self._store.reserve_producer_ids(PRODUCER_IDS_PER_BLOCK, now_ms, self._reserved)
        except LogAppendError:
            self._is_reserving, self.has_failed = False, True
            if not self._left:
                raise
            # Some are left: the next allocation tries again.

    def _reserved(self, block: range) -> None:
        self._next_block, self._is_reserving = block, False
