"""Reading a partition that is damaged, moves, or whose leader goes away."""

import struct
import tracemalloc

import pytest

from _wire.errors import ErrorCode
from _wire.records import build_batch
from coordinator.client.wire import ClientError
from coordinator.core.partitioning import partition_for
from coordinator.observe.errors import MayNotReadOffsets, NoOffsetsTopic, OffsetsUnavailable
from coordinator.observe.records import offsets_topic
from coordinator.observe.records.offsets_topic import OffsetsTopic
from coordinator.observe.records.reader import OffsetsReading, read_offsets_partition
from coordinator.observe.records.stored import ClassicGroup
from tests.observe.records.commits import generation
from tests.observe.records.scripted import FETCH, LIST_OFFSETS, METADATA, Log, ScriptedBroker

G = "billing"


def generations(first: int, last: int) -> list[bytes]:
    """A batch for each offset: the generation of that number."""
    return [build_batch([generation(G, each)], base_offset=each, timestamp_ms=each) for each in range(first, last + 1)]


def damaged(batch: bytes) -> bytes:
    return batch[:-3] + b"\xee\xee\xee"


def unpaused(broker: ScriptedBroker, attempts_max: int = 30) -> OffsetsReading:
    """A reading that waits for nothing before it asks again."""
    topic = OffsetsTopic(broker.bootstrap, timeout_seconds=2, attempts_max=attempts_max, pause=lambda seconds: None)
    return OffsetsReading(topic, G)


def read(broker: ScriptedBroker) -> tuple[list[int], list[str]]:
    """The generations that are found, and the notes."""
    reading = unpaused(broker)
    found = [(place.position, record.generation_id) for place, record in reading if isinstance(record, ClassicGroup)]
    assert all(position == number for position, number in found)
    return [number for _, number in found], list(reading.notes)


def test_a_batch_in_the_middle_is_damaged():
    batches = generations(0, 5)
    batches[2] = damaged(batches[2])
    with ScriptedBroker([Log(*batches)]) as broker:
        found, (note,) = read(broker)
    assert found == [0, 1, 3, 4, 5]
    assert note == "__consumer_offsets-0: what lies at offset 2 cannot be read: the checksum of a batch is wrong"


def test_the_last_batch_is_damaged():
    batches = generations(0, 5)
    batches[5] = damaged(batches[5])
    with ScriptedBroker([Log(*batches)]) as broker:
        found, notes = read(broker)
    assert found == [0, 1, 2, 3, 4]
    assert "offset 5" in notes[0]


def test_a_damaged_batch_is_all_that_an_answer_has():
    """With several records: its own header says where it ends."""
    bad = damaged(build_batch([generation(G, 7)] * 5, base_offset=2))
    with ScriptedBroker([Log(*generations(0, 1), bad, *generations(7, 8))]) as broker:
        broker.logs[0].read = lambda offset, bytes_max: next(  # type: ignore[method-assign]
            batch for batch in broker.logs[0].batches if Log.next_offset_of(batch) > offset
        )
        found, notes = read(broker)
    assert (found, len(notes)) == ([0, 1, 7, 8], 1)


def test_a_length_that_cannot_be():
    """Nothing tells where the next batch begins: it is looked for."""
    batches = generations(0, 9)
    batches[3] = batches[3][:8] + b"\xff\xff\xff\xff" + batches[3][12:]
    with ScriptedBroker([Log(*batches)]) as broker:
        found, notes = read(broker)
    assert found == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    assert notes == ["__consumer_offsets-0: what lies at offset 3 cannot be read: the length of a batch is -1"]


def test_a_long_batch_whose_length_cannot_be():
    bad = build_batch([generation(G, 7)] * 20, base_offset=3)
    bad = bad[:8] + b"\xff\xff\xff\xff" + bad[12:]
    with ScriptedBroker([Log(*generations(0, 2), bad, *generations(23, 40))]) as broker:
        found, notes = read(broker)
    assert found == [0, 1, 2, *range(34, 41)]
    assert notes == [
        "__consumer_offsets-0: what lies at offset 3 cannot be read: the length of a batch is -1",
        "__consumer_offsets-0: offsets 3 to 33 were passed over",
    ]


def test_a_batch_that_is_cut_short_comes_with_the_next_answer(monkeypatch):
    monkeypatch.setattr(offsets_topic, "FETCH_BYTES", 150)
    monkeypatch.setattr(offsets_topic, "FETCH_BYTES_MIN", 150)
    with ScriptedBroker([Log(*generations(0, 9))]) as broker:
        assert read(broker) == ([*range(10)], [])
    assert sum(key == FETCH for key, _ in broker.asked) > 5


def test_answers_are_as_large_as_they_come_soon(monkeypatch):
    """So that progress can be told on a slow line too."""
    took = iter([0.1, 0.1, 0.1, 0.1, 0.1, 1.0, 3.0, 3.0, 0.4, 0.1])
    now = [0.0]

    def clock() -> float:
        """Called before each Fetch and after it."""
        now[1:] = [*now[1:], 0.0]
        if len(now) % 2:
            now[0] += next(took)
        return now[0]

    with ScriptedBroker([Log(*generations(0, 9))]) as broker:
        broker.logs[0].read = lambda offset, bytes_max: broker.logs[0].batches[offset]  # type: ignore[method-assign]
        topic = OffsetsTopic(broker.bootstrap, clock=clock)
        assert len(list(OffsetsReading(topic, G))) == 10
    sizes = [request.max_bytes >> 20 for key, request in broker.asked if key == FETCH]
    assert sizes == [1, 2, 4, 8, 16, 16, 16, 8, 4, 8]


def test_retention_moves_the_start():
    with ScriptedBroker([Log(*generations(0, 9))]) as broker:
        reading = unpaused(broker)
        broker.logs[0].start = 4
        broker.logs[0].batches = broker.logs[0].batches[4:]
        assert [place.position for place, _ in reading] == [4, 5, 6, 7, 8, 9]
    assert reading.notes == ["__consumer_offsets-0: offsets 0 to 3 were removed while it was read"]


def test_a_new_leader_has_less(monkeypatch):
    """As after an unclean election. What was read of the rest is gone, and told all the same."""
    monkeypatch.setattr(offsets_topic, "FETCH_BYTES", 150)
    monkeypatch.setattr(offsets_topic, "FETCH_BYTES_MIN", 150)
    with ScriptedBroker([Log(*generations(0, 9))]) as broker:
        reading = unpaused(broker)
        found = [next(reading)[0].position for _ in range(6)]
        broker.logs[0].end, broker.logs[0].batches = 5, broker.logs[0].batches[:5]
        found += [place.position for place, _ in reading]
    assert found == [0, 1, 2, 3, 4, 5]
    (note,) = reading.notes
    assert note.startswith("__consumer_offsets-0 was cut back to offset 5 while it was read up to ")


def test_compaction_has_removed_what_was_before_the_end():
    log = Log(*generations(0, 4))
    log.end = 9
    with ScriptedBroker([log]) as broker:
        found, (note,) = read(broker)
    assert found == [0, 1, 2, 3, 4]
    assert note == "__consumer_offsets-0 has nothing to read from offset 5 to 8"


def test_an_empty_answer_is_not_the_end():
    with ScriptedBroker([Log(*generations(0, 4))]) as broker:
        broker.empty_fetches = 2
        assert read(broker) == ([0, 1, 2, 3, 4], [])


def test_a_quota_is_waited_for():
    paused: list[float] = []
    with ScriptedBroker([Log(*generations(0, 4))]) as broker:
        broker.throttled_ms = [700, 0, 3_600_000, 20_000, 100, 100]
        topic = OffsetsTopic(broker.bootstrap, pause=paused.append)
        assert [place.position for place, _ in OffsetsReading(topic, G)] == [0, 1, 2, 3, 4]
    assert paused == [0.7, 0.05, 60, 20, 0.1, 0.1]


def test_a_quota_that_does_not_let_it_be_read():
    with ScriptedBroker([Log(*generations(0, 4))]) as broker:
        broker.throttled_ms = [1] * 1_000
        with pytest.raises(OffsetsUnavailable, match="a quota of the cluster does not let it be read"):
            list(unpaused(broker))


@pytest.mark.parametrize("api", [FETCH, LIST_OFFSETS])
def test_the_leader_changes(api: int):
    log = Log(*generations(0, 3))
    with ScriptedBroker([log]) as old, ScriptedBroker([log], 2) as new:
        old.brokers = new.brokers = [old, new]
        old.errors[api] = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
        old.leaders = new.leaders = {}
        topic = OffsetsTopic(old.bootstrap, pause=lambda seconds: old.leaders.update({0: 2}))
        assert [place.position for place, _ in OffsetsReading(topic, G)] == [0, 1, 2, 3]
    assert {key for key, _ in new.asked} >= {api}


def test_the_leader_dies():
    log = Log(*generations(0, 3))
    with ScriptedBroker([log]) as staying:
        with ScriptedBroker([log], 2) as leader:
            staying.brokers, staying.leaders = [staying, leader], {0: 2}
            topic = OffsetsTopic(staying.bootstrap, pause=lambda seconds: staying.leaders.clear())
            reading = OffsetsReading(topic, G)
        assert [place.position for place, _ in reading] == [0, 1, 2, 3]


@pytest.mark.parametrize("api", [FETCH, LIST_OFFSETS])
def test_a_connection_that_is_closed_is_opened_again(api: int):
    with ScriptedBroker([Log(*generations(0, 3))]) as broker:
        broker.hangs_up = [api]
        assert read(broker) == ([0, 1, 2, 3], [])


def test_a_partition_that_stays_without_a_leader():
    with ScriptedBroker([Log()]) as broker:
        broker.leaders[0] = -1
        with pytest.raises(OffsetsUnavailable, match="cannot read __consumer_offsets-0: it has no leader; retry later"):
            unpaused(broker, attempts_max=3)
    assert [key for key, _ in broker.asked].count(METADATA) == 3


def test_errors_that_do_not_end():
    with ScriptedBroker([Log(*generations(0, 3))]) as broker:
        reading = unpaused(broker, attempts_max=4)
        broker.errors[FETCH] = [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 10
        with pytest.raises(OffsetsUnavailable):
            next(reading)
    assert len(broker.errors[FETCH]) == 6


def test_another_error_is_told():
    with ScriptedBroker([Log(*generations(0, 3))]) as broker:
        reading = unpaused(broker)
        broker.errors[FETCH] = [ErrorCode.UNSUPPORTED_VERSION]
        with pytest.raises(ClientError, match="cannot read __consumer_offsets-0: UNSUPPORTED_VERSION"):
            next(reading)


def test_no_such_topic():
    with ScriptedBroker([]) as broker:
        broker.topic_error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        with pytest.raises(NoOffsetsTopic, match="has no topic __consumer_offsets: it has had no group yet"):
            read_offsets_partition(broker.bootstrap, G)


def test_a_topic_that_is_being_made():
    with ScriptedBroker([]) as broker:
        broker.topic_error = ErrorCode.LEADER_NOT_AVAILABLE
        with pytest.raises(OffsetsUnavailable, match="has no partitions yet"):
            read_offsets_partition(broker.bootstrap, G)


@pytest.mark.parametrize(("group_id", "why"), [("g" * 40_000, "an id of 40000 bytes"), ("g\udcff", "no Unicode text")])
def test_ids_that_no_group_can_have(group_id: str, why: str):
    with pytest.raises(ClientError, match=why):
        read_offsets_partition("127.0.0.1:1", group_id)


@pytest.mark.parametrize("api", [METADATA, LIST_OFFSETS, FETCH])
def test_no_right_to_read(api: int):
    with ScriptedBroker([Log(*generations(0, 3))]) as broker:
        broker.errors[api] = [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
        with pytest.raises(MayNotReadOffsets) as problem:
            list(read_offsets_partition(broker.bootstrap, G))
    assert problem.value.give == "READ on topic __consumer_offsets"
    assert str(problem.value) == (
        f"cannot read the records of groups: {broker.bootstrap} has to grant this client "
        "READ on topic __consumer_offsets"
    )


def test_damaged_and_newer_records_of_the_group():
    key, value = generation(G, 1)
    newer = struct.pack(">hh", 77, len(G)) + G.encode()
    streams = struct.pack(">hh", 17, len(G)) + G.encode()
    records = [(key, (value or b"")[:-4]), (newer, b"x"), (streams, None), (key, b"\0\x63"), generation(G, 5)]
    with ScriptedBroker([Log(build_batch(records))]) as broker:
        reading = unpaused(broker)
        assert [place.position for place, _ in reading] == [4]
    assert reading.undecoded == {77: 1, 17: 1}
    assert [note.partition(" cannot be read: ")[0] for note in reading.notes] == [
        "__consumer_offsets-0: the record at offset 0",
        "__consumer_offsets-0: the record at offset 3",
    ]


def test_notes_are_bounded():
    records = [(generation(G, 1)[0], b"")] * 250
    with ScriptedBroker([Log(build_batch(records))]) as broker:
        reading = unpaused(broker)
        assert list(reading) == []
    assert (len(reading.notes), reading.notes.left_out) == (100, 150)


def test_many_partitions_and_the_right_one():
    logs = [Log() for _ in range(50)]
    partition = partition_for(G, 50)
    logs[partition] = Log(*generations(0, 1))
    with ScriptedBroker(logs) as broker:
        reading = unpaused(broker)
        assert [place.name for place, _ in reading] == [f"__consumer_offsets-{partition}"] * 2
    assert reading.partition == partition


def test_large_records_take_bounded_memory():
    """80 MiB in all, and no more than an answer and some of it at the same time."""
    key, _ = generation(G, 1)
    batches = [build_batch([(key, bytes(1 << 20))], base_offset=each, compression="zstd") for each in range(80)]
    with ScriptedBroker([Log(*batches)]) as broker:
        reading = unpaused(broker)
        tracemalloc.start()
        try:
            assert list(reading) == []
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert reading.scanned.records == 80
    assert peak < 20 << 20
