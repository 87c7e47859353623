"""The open transactions of partitions that keep committed readers waiting: how many, and for how long (KIP-664)."""

from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from coordinator.metrics.census import Pause

LATE_TRANSACTION_BUFFER_MS: Final = 5 * 60_000
"""What a transaction may be open for beyond `transaction.max.timeout.ms` (`ProducerStateManager`)."""
PARTITIONS_AT_ONCE: Final = 2_000


class LateTransactions(msgspec.Struct):
    """What is found in the partitions whose producers are known."""

    late_partitions: int = 0
    """Partitions with a transaction that is open for longer than any timeout allows."""
    oldest_seconds: float = 0.0
    """Since the last batch of the transaction that has been open for longest in its partition; the longest of all."""


async def find_late_transactions(
    oldest_transactions: Callable[[], Iterator[int | None]], timeout_max_ms: int, now_ms: int, pause: Pause
) -> LateTransactions:
    """Look at all partitions; `pause` is awaited between slices of the work."""
    found = LateTransactions()
    for position, last_timestamp_ms in enumerate(oldest_transactions(), 1):
        if last_timestamp_ms is not None:
            open_ms = now_ms - last_timestamp_ms
            found.oldest_seconds = max(found.oldest_seconds, open_ms / 1000)
            found.late_partitions += open_ms > timeout_max_ms + LATE_TRANSACTION_BUFFER_MS
        if position % PARTITIONS_AT_ONCE == 0:
            await pause()
    return found
