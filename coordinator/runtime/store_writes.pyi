from collections.abc import Callable, Sequence
from typing import Any

from coordinator.core.stored import Stored
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.runtime.interfaces import AppendMeter, StoreError
from coordinator.runtime.store import ProjectionStream, Stream, WhenDurable
from coordinator.wall_time import WallTime

class StoreWrites:
    """Appends each batch to the logs of a shard, and calls `appended` with each log that it appended to."""

    _state: Stream
    _projection: ProjectionStream | None
    _when_durable: WhenDurable | None
    held: list[Any]
    """Records of the projection that are not appended yet. A kill loses them, and what they report with them."""

    def __init__(
        self,
        state: Stream,
        projection: ProjectionStream | None,
        *,
        appended: Callable[[PartitionLog], None],
        meter: AppendMeter | None,
        when_durable: WhenDurable | None,
        is_disk_failure: Callable[[PartitionLog, Exception], bool],
        wall: WallTime,
        held_max: int,
    ) -> None:
        """As `LogStore`. With `held_max` records nothing more is held back."""
    @property
    def batch_bytes_max(self) -> int:
        """`max.message.bytes` of the topic, or the size of a segment if that is smaller."""
    def append(
        self,
        projected: Sequence[Any],
        stored: Sequence[Stored],
        now_ms: int,
        completed: Callable[[StoreError | None], None],
    ) -> None:
        """Append at once: the logs are on this node. With `when_durable` it completes later.

        The projection comes first. So it may have events of a batch that then fails (a load voids them), but it never
        lacks events that are stored.
        """
    @property
    def appends_at_once(self) -> bool: ...
    def append_at_once(self, stored: Sequence[Stored], now_ms: int) -> StoreError | None: ...
    def _append(self, projected: Sequence[Any], stored: Sequence[Stored], now_ms: int) -> StoreError | None:
        """Write to the logs; return what failed."""
