"""The size of records in a batch, as it is measured and as it is built."""

from hypothesis import given
from hypothesis import strategies as st

from _wire.records import build_batch
from coordinator.core.stored import Producer
from coordinator.core.stored_batch import StoredBatch

RECORDS = st.lists(
    st.tuples(st.binary(max_size=300), st.none() | st.binary(max_size=20_000).map(lambda value: value * 3)),
    min_size=1,
    max_size=200,
)


def built_bytes(records: list[tuple[bytes, bytes | None]]) -> int:
    return len(build_batch(records, timestamp_ms=5))


@given(RECORDS)
def test_the_size_is_that_of_the_record_batch(records):
    assert StoredBatch(None, records).size_bytes == built_bytes(records)


@given(RECORDS, RECORDS)
def test_the_size_of_added_records_is_what_they_take_behind_the_others(records, more):
    extended, taking = StoredBatch(None, list(records)), StoredBatch(None, list(records))
    extended.extend(more)
    together = built_bytes(records + more)
    assert extended.size_bytes == together
    assert not taking.extend_if_fits(StoredBatch(None, more), together - 1)
    assert (taking.records, taking.size_bytes) == (records, built_bytes(records))
    assert taking.extend_if_fits(StoredBatch(None, more), together)
    assert (taking.records, taking.size_bytes) == (records + more, together)


def test_records_of_another_producer_are_not_taken():
    record = (b"key", b"value")
    for producer, other in ((None, Producer(7, 0)), (Producer(7, 0), None), (Producer(7, 0), Producer(7, 1))):
        stored = StoredBatch(producer, [record])
        assert not stored.extend_if_fits(StoredBatch(other, [record]), 1_000_000)
        assert stored == StoredBatch(producer, [record])
