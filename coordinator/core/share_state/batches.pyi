from collections.abc import Iterable

from coordinator.core.share_states import StateBatch

def packed(batches: Iterable[StateBatch]) -> bytes:
    """Batches as they are kept."""

def unpacked(batches: bytes) -> tuple[StateBatch, ...]:
    """The batches that are kept so."""

def count_of(batches: bytes) -> int:
    """How many packed batches these are."""

def merged(existing: bytes, new: bytes, start_offset: int) -> bytes:
    """Both together as batches that do not overlap, in order, without what lies below `start_offset` (-1: all of it).

    All are packed, and none ends before it begins. Where two overlap, the one with the higher delivery count wins, then
    the one with the higher state. It is Kafka's result, also where that leaves two equal neighbours apart.
    """
