"""How long producers are remembered, and how many: time, number, and a log that is damaged."""

import sys
import tracemalloc
from typing import Final

import pytest

from _wire.errors import ErrorCode
from _wire.records import BatchHeader, batch_headers
from coordinator.broker.data.producer_directory import PRODUCERS_PER_TURN, readable_batches
from coordinator.broker.data.producers import ProducerLimits, ProducerStates
from coordinator.config.source import ConfigSource
from coordinator.config.transaction_keys import PRODUCER_ID_EXPIRATION_MS
from coordinator.log.partition.partition_log import PartitionLog
from tests.broker.virtual_broker import DATA, START_MS, VirtualBroker, batch

DAY_MS: Final = 24 * 3600 * 1000
CHECK_MS: Final = 600_000
NONE: Final = ErrorCode.NONE
GAP: Final = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
LOG_FILE: Final = DATA / "orders-0" / f"{0:020d}.log"


def made(settings: dict[str, str] | None = None, partitions: int = 1) -> VirtualBroker:
    broker = VirtualBroker(settings)
    broker.create_topic("orders", partitions)
    return broker


def send(
    broker: VirtualBroker, producer_id: int, sequence: int, *, partition: int = 0, epoch: int = 0, age_ms: int = 0
) -> ErrorCode:
    data = batch(
        b"value",
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        timestamp_ms=broker.clock.now_ms() - age_ms,
    )
    return ErrorCode(broker.produce("orders", data, partition).error_code)


def header_of(producer_id: int, sequence: int = 0, *, is_transactional: bool = False) -> BatchHeader:
    fields = {
        "producer_id": producer_id,
        "producer_epoch": 0,
        "base_sequence": sequence,
        "is_transactional": is_transactional,
    }
    return batch_headers(batch(b"value", **fields))[0]


# ---- time


def test_a_producer_is_forgotten_at_the_check_after_its_expiration():
    broker = made()
    send(broker, 7, 0)
    broker.advance(DAY_MS - 1)
    assert send(broker, 8, 0) == NONE
    assert send(broker, 7, 5) == GAP
    broker.advance(CHECK_MS)
    assert send(broker, 7, 5) == NONE, "forgotten"
    assert send(broker, 8, 5) == GAP


def test_another_expiration_counts_for_producers_that_are_known_already():
    broker = made()
    send(broker, 7, 0)
    broker.broker_config.set_dynamic(ConfigSource.DYNAMIC_BROKER, {PRODUCER_ID_EXPIRATION_MS: 1})
    broker.advance(CHECK_MS)
    assert send(broker, 7, 5) == NONE, "forgotten"


@pytest.mark.parametrize(("age_ms", "is_forgotten"), [(DAY_MS - CHECK_MS, True), (DAY_MS - CHECK_MS - 1, False)])
def test_a_producer_expires_by_the_timestamp_of_its_last_batch(age_ms, is_forgotten):
    broker = made()
    send(broker, 7, 0)
    send(broker, 7, 1, age_ms=age_ms)
    assert send(broker, 7, 3) == GAP
    broker.advance(CHECK_MS)
    assert send(broker, 7, 3) == (NONE if is_forgotten else GAP)


def test_a_producer_without_timestamps_is_remembered_until_the_next_check():
    broker = made()
    send(broker, 7, 0, age_ms=START_MS + 1)
    assert send(broker, 7, 2) == GAP
    broker.advance(CHECK_MS)
    assert send(broker, 7, 2) == NONE


def test_the_times_can_be_set():
    broker = made({"producer.id.expiration.ms": "1000", "producer.id.expiration.check.interval.ms": "100"})
    send(broker, 7, 0)
    broker.advance(999)
    assert send(broker, 7, 5) == GAP
    broker.advance(100)
    assert send(broker, 7, 5) == NONE


def test_many_producers_are_checked_in_several_turns():
    partitions = 3
    broker = made({"producer.ids.per.partition.max": "1000000"}, partitions)
    for partition in range(partitions):
        send(broker, 0, 0, partition=partition)
        states = broker.producers.states_of(broker.partitions.get("orders", partition), 0)
        for producer_id in range(PRODUCERS_PER_TURN):
            states.update(header_of(producer_id))
    broker.advance(DAY_MS)
    remembered = [
        len(broker.producers.states_of(broker.partitions.get("orders", partition), 0))
        for partition in range(partitions)
    ]
    assert sorted(remembered) == [0, PRODUCERS_PER_TURN, PRODUCERS_PER_TURN]
    for _ in range(2):
        broker.advance(1)
    assert send(broker, 0, 5, partition=2) == NONE
    assert broker.wheel.pending == 1


def test_without_idempotent_producers_there_is_no_timer():
    broker = made()
    broker.produce("orders", batch(b"a"))
    assert broker.wheel.pending == 0
    send(broker, 7, 0)
    send(broker, 8, 0)
    assert broker.wheel.pending == 1
    broker.topics.delete(["orders"], broker.clock.now_ms())
    broker.advance(CHECK_MS)
    assert broker.wheel.pending == 0


# ---- number


def test_one_producer_too_many_takes_the_place_of_the_one_that_is_silent_for_the_longest_time():
    broker = made({"producer.ids.per.partition.max": "3"})
    for producer_id in (1, 2, 3):
        send(broker, producer_id, 0)
    assert send(broker, 1, 1) == NONE
    assert send(broker, 4, 0) == NONE
    assert [send(broker, producer_id, 9) for producer_id in (1, 3, 4)] == [GAP] * 3
    assert send(broker, 2, 9) == NONE, "forgotten"


def states_of(count: int) -> ProducerStates:
    return ProducerStates(ProducerLimits(DAY_MS, count))


def test_invented_producers_of_one_client_do_not_push_out_those_of_others():
    states = states_of(100)
    for sequence in (0, 1):
        states.update(header_of(1, sequence), address="victim")
    for producer_id in range(1_000, 2_000):
        for sequence in (0, 1):
            states.update(header_of(producer_id, sequence), address="attacker")
    assert 1 in dict(states.snapshot())
    assert len(states) == 100


def test_producers_that_wrote_one_batch_go_first():
    states = states_of(10)
    for sequence in (0, 1):
        states.update(header_of(1, sequence), address="one")
    for producer_id in range(100, 200):
        states.update(header_of(producer_id, 0), address="one")
    assert list(dict(states.snapshot())) == [1, *range(191, 200)]


def test_of_producers_that_wrote_often_the_one_that_is_silent_for_the_longest_time_goes_first():
    states = states_of(3)
    for producer_id in (1, 2, 3):
        for sequence in (0, 1):
            states.update(header_of(producer_id, sequence), address="one")
    states.update(header_of(1, 2), address="one")
    for sequence in (0, 1):
        states.update(header_of(4, sequence), address="one")
    assert sorted(dict(states.snapshot())) == [1, 3, 4]


def test_a_client_with_few_producers_takes_a_place_of_the_one_with_most():
    states = states_of(10)
    for producer_id in range(2):
        states.update(header_of(producer_id, 0), address="few")
    for producer_id in range(100, 108):
        states.update(header_of(producer_id, 0), address="many")
    states.update(header_of(50, 0), address="new")
    assert sorted(dict(states.snapshot())) == [0, 1, 50, *range(101, 108)]


def test_many_open_transactions_do_not_make_each_new_producer_expensive():
    states = states_of(10)
    for producer_id in range(5_000):
        states.update(header_of(producer_id, 0, is_transactional=True))
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        states.update(header_of(10_000, 0))
    finally:
        sys.setprofile(before)
    assert calls < 200
    assert len(states.open) == 5_000


def test_a_producer_takes_a_kilobyte_at_most():
    count = 10_000
    headers = [header_of(number, sequence) for number in range(1000, 1000 + count) for sequence in range(300, 306)]
    tracemalloc.start()
    try:
        states = ProducerStates(ProducerLimits(DAY_MS, count))
        for header in headers:
            states.update(header)
        used_bytes = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert len(states) == count
    assert used_bytes / count < 1024


# ---- epochs and ids


def test_an_epoch_below_the_one_that_no_producer_has_is_fenced():
    broker = made()
    assert send(broker, 7, 0, epoch=-2) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert send(broker, 7, 0, epoch=-1) == NONE
    assert send(broker, 7, 5, epoch=0) == NONE, "the first one with an epoch"


def test_a_negative_producer_id_is_none():
    broker = made()
    assert [send(broker, -2, sequence) for sequence in (0, 0, 9)] == [NONE] * 3


def test_a_duplicate_is_found_after_the_batch_was_validated():
    broker = made()
    send(broker, 7, 0)
    assert send(broker, 7, 0) == NONE
    assert send(broker, 7, 0, age_ms=-2 * 3_600_000) == ErrorCode.INVALID_TIMESTAMP


# ---- damage

WRONG_CHECKSUM: Final = {61: b"?"}
WRONG_LENGTH: Final = {8: bytes(4)}
WRONG_END: Final = {23: b"\x7f\xff\xff\xff"}


def write(broker: VirtualBroker, producers: int, roll_before: int | None = None) -> PartitionLog:
    """Append one batch of each producer to the log, whose producer states were not read yet."""
    log = broker.partitions.get("orders", 0)
    for producer_id in range(producers):
        timestamp_ms = START_MS if roll_before is None or producer_id < roll_before else START_MS + 5000
        fields = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": 0, "timestamp_ms": timestamp_ms}
        log.append(bytearray(batch(b"value", **fields)), 0, START_MS)
    return log


def damage(broker: VirtualBroker, bytes_at: dict[int, bytes], *victims: int) -> None:
    """Overwrite bytes of batches. All batches have the same size."""
    content = broker.fs.content(LOG_FILE)
    size = len(batch(b"value"))
    for victim in victims:
        for at, data in bytes_at.items():
            start = victim * size + at
            content[start : start + len(data)] = data


@pytest.mark.parametrize("bytes_at", [WRONG_CHECKSUM, WRONG_LENGTH, WRONG_END])
def test_producers_of_other_batches_than_the_damaged_one_are_restored(bytes_at):
    broker = made()
    log = write(broker, 5)
    damage(broker, bytes_at, 2)
    remembered = [0, 1, 3, 4]
    assert [header.producer_id for header, _ in readable_batches(log, 0)] == remembered
    assert [send(broker, producer_id, 7) for producer_id in range(5)] == [
        GAP if producer_id in remembered else NONE for producer_id in range(5)
    ]


@pytest.mark.parametrize("bytes_at", [WRONG_LENGTH, WRONG_END])
def test_after_a_batch_without_an_end_the_next_one_is_found(bytes_at):
    broker = made({"log.roll.ms": "1000"})
    log = write(broker, 6, roll_before=4)
    assert [segment.base_offset for segment in log.segments] == [0, 4]
    damage(broker, bytes_at, 1)
    assert [header.producer_id for header, _ in readable_batches(log, 0)] == [0, 2, 3, 4, 5]


def test_several_damaged_batches_are_each_left_out():
    broker = made()
    log = write(broker, 8)
    damage(broker, WRONG_CHECKSUM, 0, 3, 4, 7)
    assert [header.producer_id for header, _ in readable_batches(log, 0)] == [1, 2, 5, 6]


def test_a_log_that_cannot_be_read_is_not_reported_as_a_sequence_error():
    """Its earlier batches cannot be read, so whether this one is new cannot be said."""
    broker = made()
    write(broker, 2)
    del broker.fs.content(LOG_FILE)[100:]
    assert send(broker, 7, 0) == ErrorCode.KAFKA_STORAGE_ERROR


# ---- the wall clock


@pytest.mark.parametrize("step_ms", [-DAY_MS, DAY_MS])
def test_a_step_of_the_wall_clock_moves_no_timer(step_ms):
    """A step forward makes the producers as old as their records say; a step back keeps them longer."""
    broker = made()
    assert send(broker, 7, 0) == NONE
    states = broker.producers.states_of(broker.partitions.get("orders", 0), broker.wall_ms())
    states.update(header_of(8))
    due_ms = broker.wheel.next_deadline_ms()
    broker.wall_ahead_ms = step_ms
    broker.advance(CHECK_MS)
    assert broker.clock.now_ms() >= due_ms
    assert len(states) == (0 if step_ms > 0 else 2)
    assert send(broker, 9, 0, partition=0) == (NONE if step_ms > 0 else ErrorCode.INVALID_TIMESTAMP)
    if step_ms < 0:
        assert broker.wheel.next_deadline_ms() == broker.clock.now_ms() + CHECK_MS
