"""What one drain stores: record batches that the log takes, each as full as it may be."""

from typing import Final

import pytest

from _wire.records import build_batch
from coordinator.core.stored import Producer, StoredRecord, TransactionMarker
from coordinator.core.stored_batch import StoredBatch
from coordinator.runtime.batch import Batch, RecordsTooLarge

PRODUCER: Final = Producer(7, 0)
OTHER_PRODUCER: Final = Producer(8, 0)


def records(count: int = 1, value: bytes | None = b"value") -> list[StoredRecord]:
    return [(f"key {number:6}".encode(), value) for number in range(count)]


def built_bytes(stored: StoredBatch) -> int:
    return len(build_batch(stored.records, base_offset=1_000_000, timestamp_ms=1_700_000_000_000))


@pytest.mark.parametrize("of", [records(), records(1, None), records(1, bytes(100_000)), records(300)])
def test_the_size_of_a_batch_is_that_which_is_built(of):
    stored = StoredBatch(None, of)
    assert stored.size_bytes == built_bytes(stored)


def test_a_batch_as_large_as_the_log_takes_is_accepted_and_a_larger_one_is_not():
    small, large = StoredBatch(None, records()), StoredBatch(PRODUCER, records(20))
    Batch(built_bytes(large)).check([small, large])
    with pytest.raises(RecordsTooLarge, match=f"{built_bytes(large)} bytes"):
        Batch(built_bytes(large) - 1).check([small, large])


def test_decisions_share_a_batch_as_far_as_they_fit():
    one = records()
    batch = Batch(built_bytes(StoredBatch(None, one * 2)))
    for _ in range(5):
        batch.store([StoredBatch(None, list(one))])
    assert batch.stored == [StoredBatch(None, one * 2), StoredBatch(None, one * 2), StoredBatch(None, one)]


def test_a_small_decision_after_a_large_one_has_a_batch_of_its_own():
    large, small = records(50), records()
    batch = Batch(built_bytes(StoredBatch(None, large)))
    batch.store([StoredBatch(None, list(large))])
    batch.store([StoredBatch(None, list(small))])
    batch.store([StoredBatch(None, list(small))])
    assert batch.stored == [StoredBatch(None, large), StoredBatch(None, small * 2)]


def test_producers_share_no_batch_and_nothing_moves_past_a_marker():
    one, marker = records(), TransactionMarker(PRODUCER, True, 0)
    batch = Batch(1_000_000)
    for producer in (None, PRODUCER, PRODUCER, OTHER_PRODUCER):
        batch.store([StoredBatch(producer, list(one))])
    batch.store_marker(marker)
    batch.store([StoredBatch(OTHER_PRODUCER, list(one))])
    assert batch.stored == [
        StoredBatch(None, one),
        StoredBatch(PRODUCER, one * 2),
        StoredBatch(OTHER_PRODUCER, one),
        marker,
        StoredBatch(OTHER_PRODUCER, one),
    ]
