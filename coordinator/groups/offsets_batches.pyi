from collections.abc import Callable

from coordinator.core.stored import Stored
from coordinator.log.segments.segment_file import PrebuiltBatch

def build_batches(
    stored: list[Stored],
    base_offset: int,
    at_ms: int,
    leader_epoch: int,
    build_other: Callable[[Stored, int, int], bytes],
) -> list[PrebuiltBatch]:
    """A batch for each of the stored, from `base_offset` on, with records of the time `at_ms`.

    `build_other(stored, base_offset, at_ms)` makes those of transactions: markers, and records with a producer.
    """
