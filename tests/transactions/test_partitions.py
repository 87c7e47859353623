"""Transactions as partitions see them: what may be appended, what committed readers get, and what a restart knows."""

from typing import Any

import pytest

from _wire.errors import ErrorCode
from _wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from _wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from _wire.records import batch_headers
from coordinator.broker.data.list_offsets import list_offsets
from coordinator.broker.data.producers import REFUSED_REMEMBERED, Marker
from coordinator.runtime.slices import at_once
from tests.broker.virtual_broker import batch
from tests.transactions.world import TOPIC, World, offsets, orders

NONE = ErrorCode.NONE
LATEST = -1


@pytest.fixture
def world() -> World:
    return World()


def begun(world: World, transactional_id: str = "t", *values: bytes) -> int:
    """A producer with an open transaction in partition 0; its id."""
    producer_id = world.initialize(transactional_id).producer_id
    assert world.produce(transactional_id, producer_id, 0, 0, *(values or (b"a",))) == NONE
    return producer_id


def write_marker(world: World, marker: Marker) -> ErrorCode:
    return at_once(world.writer.write(TOPIC, 0, marker))


def listed(world: World, timestamp: int, isolation_level: int) -> int:
    request = ListOffsetsRequest(
        isolation_level=isolation_level,
        topics=[
            ListOffsetsTopic(name=TOPIC, partitions=[ListOffsetsPartition(partition_index=0, timestamp=timestamp)])
        ],
    )
    response = at_once(list_offsets(request, 7, world.broker.partitions, world.broker.load))
    return response.topics[0].partitions[0].offset


# ---- verification


@pytest.mark.parametrize(
    ("api_version", "error"), [(9, ErrorCode.TRANSACTION_ABORTABLE), (11, ErrorCode.TRANSACTION_ABORTABLE), (12, NONE)]
)
def test_from_version_12_on_produce_adds_its_partition(world, api_version, error):
    producer_id = world.initialize().producer_id
    assert world.produce("t", producer_id, 0, 0, api_version=api_version) == error


def test_an_open_transaction_is_not_verified_again(world):
    producer_id = begun(world)
    world.coordinator.shards = ()
    assert world.produce("t", producer_id, 0, 1) == NONE
    assert world.produce("t", producer_id, 0, 0, partition=1) == ErrorCode.NOT_COORDINATOR


def test_a_transactional_batch_without_verification_is_rejected(world):
    producer_id = world.initialize().producer_id
    states = at_once(world.broker.load(world.log()))
    world.add("t", producer_id, 0, orders(0))
    assert world.broker.produce(TOPIC, _transactional(producer_id), transactional_id="t").error_code == (
        ErrorCode.INVALID_TXN_STATE
    )
    assert len(states) == 0


def _transactional(producer_id: int, epoch: int = 0) -> bytes:
    fields = {"producer_id": producer_id, "producer_epoch": epoch, "base_sequence": 0, "is_transactional": True}
    return batch(b"v", **fields)


def test_a_verification_does_not_outlive_a_marker(world):
    """The answer came, but the transaction was aborted before the batch was appended: it would hang forever."""
    producer_id = world.initialize().producer_id
    log = world.log()
    states = at_once(world.broker.load(log))
    header = batch_headers(_transactional(producer_id))[0]
    verification = states.begin_verification(header, False)
    assert write_marker(world, Marker(producer_id, 0, False, 0, 0)) == NONE
    states.end_verification(producer_id, verification, is_verified=True)
    assert states.check(header, verification) == ErrorCode.INVALID_TXN_STATE


def test_a_marker_leaves_the_verification_of_the_next_transaction(world):
    """A Produce waits while the transaction before it ends: its partitions are added when all markers are written."""
    pid = begun(world)
    world.groups_error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    world.add("t", pid, 0, offsets(1))
    states = at_once(world.broker.load(world.log()))
    header = batch_headers(_transactional(pid, epoch=1))[0]
    verification = states.begin_verification(header, False)
    assert world.end("t", pid, 0, committed=True).producer_epoch == 1
    states.end_verification(pid, verification, is_verified=True)
    assert states.check(header, verification) == NONE


def test_a_marker_of_transaction_version_2_voids_the_verification_of_its_own_transaction(world):
    producer_id = world.initialize().producer_id
    states = at_once(world.broker.load(world.log()))
    header = batch_headers(_transactional(producer_id))[0]
    verification = states.begin_verification(header, False)
    assert write_marker(world, Marker(producer_id, 1, False, 0, 2)) == NONE
    states.end_verification(producer_id, verification, is_verified=True)
    assert states.check(header, verification) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert not states._verifications


def test_of_verifications_that_failed_the_newest_are_remembered(world):
    for producer_id in range(100, 100 + REFUSED_REMEMBERED + 5):
        assert world.produce("unknown", producer_id, 0, 0) == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    states = world.log().open_transactions
    assert list(states._verifications) == list(states._refused) == list(range(105, 105 + REFUSED_REMEMBERED))


def test_a_transaction_does_not_begin_after_a_batch_that_was_refused(world):
    """The first batch was refused as its partition had not been added; those that were sent after it must not pass."""
    producer_id = world.initialize().producer_id
    assert world.produce("t", producer_id, 0, 0, api_version=9) == ErrorCode.TRANSACTION_ABORTABLE
    world.add("t", producer_id, 0, orders(0))
    assert world.produce("t", producer_id, 0, 1, api_version=9) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert world.produce("t", producer_id, 0, 0, api_version=9) == NONE
    assert world.produce("t", producer_id, 0, 1, api_version=9) == NONE


def test_a_refused_batch_of_a_newer_epoch_counts_in_place_of_the_older_ones(world):
    producer_id = world.initialize().producer_id
    assert world.produce("t", producer_id, 0, 0, api_version=9) == ErrorCode.TRANSACTION_ABORTABLE
    epoch = world.initialize().producer_epoch
    assert world.produce("t", producer_id, epoch, 3, api_version=9) == ErrorCode.TRANSACTION_ABORTABLE
    world.add("t", producer_id, epoch, orders(0))
    assert world.produce("t", producer_id, epoch, 3, api_version=9) == NONE


def test_a_batch_without_transaction_is_compared_with_a_refused_one_too(world):
    producer_id = world.initialize().producer_id
    assert world.produce("t", producer_id, 0, 0, api_version=9) == ErrorCode.TRANSACTION_ABORTABLE
    assert world.produce(None, producer_id, 0, 1, is_transactional=False) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_the_partition_knows_a_fenced_producer_before_the_coordinator_is_asked(world):
    producer_id = begun(world)
    assert write_marker(world, Marker(producer_id, 1, True, 0, 2)) == NONE
    assert world.produce("unknown", producer_id, 0, 1) == ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_transactional_batch_without_producer_is_not_verified(world):
    assert world.produce("t", -1, -1, -1) == NONE


@pytest.mark.parametrize(("producer_id", "epoch"), [(-1, 0), (-(2**63), 0), (5, -1), (5, -32768)])
def test_a_marker_of_no_producer_is_not_written(world, producer_id, epoch):
    assert write_marker(world, Marker(producer_id, epoch, True, 0, 0)) == ErrorCode.UNKNOWN_SERVER_ERROR
    assert world.log().log_end_offset == 0


def test_an_unknown_producer_begins_at_sequence_0(world):
    producer_id = world.initialize().producer_id
    assert world.produce("t", producer_id, 0, 5) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    older = world.initialize("older").producer_id
    world.add("older", older, 0, orders(0))
    assert world.produce("older", older, 0, 5, api_version=11) == NONE


def test_in_a_transaction_all_batches_are_transactional(world):
    producer_id = begun(world)
    assert world.produce(None, producer_id, 0, 1, is_transactional=False) == ErrorCode.INVALID_TXN_STATE


def test_a_repeated_batch_is_appended_once(world):
    producer_id = begun(world)
    assert world.produce("t", producer_id, 0, 0, b"a") == NONE
    world.end("t", producer_id, 0, committed=True)
    assert world.visible() == [b"a"]


# ---- markers


def test_a_marker_of_transaction_version_2_has_a_greater_epoch(world):
    producer_id = begun(world)
    assert write_marker(world, Marker(producer_id, 0, True, 0, 2)) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert write_marker(world, Marker(producer_id, 1, True, 0, 2)) == NONE
    assert write_marker(world, Marker(producer_id, 1, True, 0, 2)) == NONE, "nothing is open: a repeated marker"
    assert write_marker(world, Marker(producer_id, 0, True, 0, 2)) == ErrorCode.INVALID_PRODUCER_EPOCH


def test_an_older_marker_may_have_the_same_epoch(world):
    producer_id = begun(world)
    assert write_marker(world, Marker(producer_id, 0, True, 0, 0)) == NONE
    assert world.produce("t", producer_id, 0, 1) == NONE, "the epoch goes on"


def test_a_marker_of_a_former_coordinator_is_fenced(world):
    producer_id = begun(world)
    assert write_marker(world, Marker(producer_id, 0, True, 5, 0)) == NONE
    assert write_marker(world, Marker(producer_id, 0, True, 4, 0)) == ErrorCode.TRANSACTION_COORDINATOR_FENCED


# ---- readers


def test_committed_readers_stop_at_the_last_stable_offset(world):
    first = begun(world, "first", b"a", b"b")
    begun(world, "second", b"c")
    world.produce(None, -1, -1, -1, b"plain", is_transactional=False)
    response = world.fetch()
    assert (response.high_watermark, response.last_stable_offset, response.records) == (4, 0, b"")
    assert world.fetch(isolation_level=0).records
    assert [listed(world, LATEST, level) for level in (0, 1)] == [4, 0]
    assert [listed(world, 0, level) for level in (0, 1)] == [0, -1]
    world.end("first", first, 0, committed=True)
    assert world.fetch().last_stable_offset == listed(world, LATEST, 1) == 2
    assert world.visible() == [b"a", b"b"]


def test_aborted_transactions_are_told_to_committed_readers(world):
    first = begun(world, "first", b"a")
    second = begun(world, "second", b"b")
    world.end("first", first, 0, committed=False)
    world.end("second", second, 0, committed=True)
    told = world.fetch()
    assert [
        (aborted_transaction.producer_id, aborted_transaction.first_offset)
        for aborted_transaction in told.aborted_transactions
    ] == [(first, 0)]
    assert world.fetch(isolation_level=0).aborted_transactions is None
    assert world.fetch(offset=3).aborted_transactions == []
    assert world.visible() == [b"b"]


def test_a_committed_reader_waits_for_the_marker_and_not_for_bytes(world):
    producer_id = begun(world)
    request = FetchRequest(
        max_wait_ms=1_000,
        min_bytes=1,
        max_bytes=1 << 20,
        isolation_level=1,
        session_epoch=-1,
        topics=[FetchTopic(topic=TOPIC, partitions=[FetchPartition(fetch_offset=0, partition_max_bytes=1 << 20)])],
    )
    fetched = world.broker.fetch(request)
    world.produce("t", producer_id, 0, 1, b"more")
    assert fetched.is_waiting
    world.end("t", producer_id, 0, committed=True)
    assert not fetched.is_waiting
    assert fetched.values[:2] == [b"a", b"more"]


# ---- restarts


def test_an_aborted_transaction_is_told_after_any_restart(world):
    producer_id = begun(world)
    world.end("t", producer_id, 0, committed=False)
    for clean in (False, True, True, False):
        world.restart(clean=clean)
        assert world.visible() == []


def test_an_aborted_transaction_is_listed_once_after_clean_restarts_without_a_snapshot(world):
    producer_id = begun(world)
    world.end("t", producer_id, 0, committed=False)
    for _ in range(2):
        world.restart(clean=True)
        at_once(world.broker.load(world.log()))
        assert world.log().newest_producer_snapshot() == (0, [])
        (segment,) = world.log().segments
        assert [entry.producer_id for entry in segment.transaction_index.entries] == [producer_id]


def test_after_a_clean_stop_only_the_end_of_a_log_is_read(world, monkeypatch):
    producer_id = begun(world)
    for sequence in range(1, 8):
        world.produce("t", producer_id, 0, sequence)
    world.restart(clean=True)
    states = at_once(world.broker.load(world.log()))
    assert (states.next_offset, states.first_unstable_offset) == (8, 0)
    assert world.produce("t", producer_id, 0, 3) == NONE, "one of the last five batches"
    assert world.log().log_end_offset == 8


def test_the_states_are_saved_when_a_segment_is_rolled():
    world = World({"log.roll.ms": "1000"})
    producer_id = begun(world)
    world.advance(2_000)
    world.produce("t", producer_id, 0, 1)
    offset, (entry,) = world.log().newest_producer_snapshot()
    assert (offset, entry.producer_id, entry.last_sequence, entry.first_offset) == (1, producer_id, 0, 0)


def test_a_producer_with_an_open_transaction_does_not_expire():
    world = World({"producer.id.expiration.ms": "1000", "producer.id.expiration.check.interval.ms": "1000"})
    begun(world, "open")
    world.produce(None, 99, 0, 0, is_transactional=False)
    world.advance(5_000)
    states = world.log().open_transactions
    assert [producer_id for producer_id, _ in states.snapshot()] == [world.transaction("open").producer_id]


def test_a_batch_whose_records_were_compacted_away_opens_no_transaction(world):
    """Its marker may have been removed before it: nothing would ever end the transaction."""
    states = at_once(world.broker.load(world.log()))
    header = batch_headers(_transactional(7))[0]
    states.update(_Compacted(header))
    assert (states.first_unstable_offset, len(states)) == (None, 1)


class _Compacted:
    """A header that says that no record is left."""

    record_count = 0

    def __init__(self, header: Any) -> None:
        self._header = header

    def __getattr__(self, name: str) -> Any:
        return getattr(self._header, name)
