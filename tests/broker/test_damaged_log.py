"""A log that is damaged on disk: an error for its partition, with one log line, and for no other."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Final

import pytest

from _wire.errors import ErrorCode
from _wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from _wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from _wire.records import batch_headers, build_batch
from tests.servers import RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient

BATCHES: Final = 10
VICTIM: Final = 5
FIRST_MS: Final = 1000
MAX_TIMESTAMP: Final = -3
_NUMBERS = count(1)


@pytest.fixture
def topic(client: WireClient) -> str:
    """A topic of two partitions with ten batches of one record each."""
    name = f"damaged-{next(_NUMBERS)}"
    client.create_topic(name, 2)
    for partition in (0, 1):
        for number in range(BATCHES):
            records = build_batch([(None, b"value", ())], timestamp_ms=FIRST_MS + number)
            assert client.produce(name, records, partition=partition).error_code == ErrorCode.NONE
    return name


@pytest.fixture
def log_file(server: RunningServer, topic: str) -> Path:
    """The log of partition 0."""
    return server.data / f"{topic}-0" / f"{0:020d}.log"


@pytest.fixture
def logged(server: RunningServer, topic: str) -> Iterator[Callable[[], list[str]]]:
    """What the server has logged of partition 0 since the test began."""
    begin = server.log.stat().st_size

    def lines() -> list[str]:
        with server.log.open("rb") as log:
            log.seek(begin)
            return [line for line in log.read().decode().splitlines() if f"{topic}-0" in line]

    yield lines
    assert "Traceback" not in "".join(lines())


def damage(log_file: Path, at: int, data: bytes) -> None:
    """Overwrite bytes of the batch in the middle."""
    start = batch_headers(log_file.read_bytes())[VICTIM].position
    with log_file.open("r+b") as file:
        file.seek(start + at)
        file.write(data)


def damage_length(log_file: Path, length: int) -> None:
    damage(log_file, 8, length.to_bytes(4, "big", signed=True))


def fetched(client: WireClient, topic: str, offset: int, max_bytes: int = 1 << 20) -> list[tuple[ErrorCode, list[int]]]:
    """Error and base offsets, of each partition."""
    partitions = [
        FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=max_bytes) for index in (0, 1)
    ]
    request = FetchRequest(max_bytes=1 << 20, topics=[FetchTopic(topic=topic, partitions=partitions)])
    answers = client.request(request, 11).responses[0].partitions
    return [
        (
            ErrorCode(answer.error_code),
            [header.base_offset for header in batch_headers(answer.records or b"", 0, False)],
        )
        for answer in answers
    ]


def listed(client: WireClient, topic: str, timestamp: int) -> list[tuple[ErrorCode, int]]:
    wanted = [ListOffsetsPartition(partition_index=index, timestamp=timestamp) for index in (0, 1)]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=wanted)])
    return [
        (ErrorCode(partition.error_code), partition.offset)
        for partition in client.request(request, 7).topics[0].partitions
    ]


@pytest.mark.parametrize("max_bytes", [1 << 20, 10])
@pytest.mark.parametrize("length", [0, -1, 20, 2**31 - 1])
def test_a_fetch_of_a_damaged_batch_answers_corrupt_message(client, topic, log_file, logged, length, max_bytes):
    damage_length(log_file, length)
    rest = list(range(VICTIM, BATCHES)) if max_bytes > 10 else [VICTIM]
    assert fetched(client, topic, VICTIM, max_bytes) == [(ErrorCode.CORRUPT_MESSAGE, []), (ErrorCode.NONE, rest)]
    assert fetched(client, topic, VICTIM, max_bytes) == [(ErrorCode.CORRUPT_MESSAGE, []), (ErrorCode.NONE, rest)]
    wait_for(logged, 5, "the log line")
    assert len(logged()) == 1, "one for each place, however often it is read"
    assert "a log is damaged" in logged()[0]
    after = [] if max_bytes <= 10 else list(range(VICTIM + 1, BATCHES))
    assert fetched(client, topic, VICTIM + 1, max_bytes)[0] == (ErrorCode.NONE, after or [VICTIM + 1])


def test_the_batches_before_a_damaged_one_are_fetched(client, topic, log_file, logged):
    damage_length(log_file, 0)
    assert fetched(client, topic, 0)[0] == (ErrorCode.NONE, list(range(VICTIM)))


def test_a_flipped_bit_in_a_record_is_found_by_the_server(client, topic, log_file, logged):
    damage(log_file, 65, b"\xff")
    assert fetched(client, topic, 0)[0] == (ErrorCode.NONE, list(range(VICTIM)))
    assert fetched(client, topic, VICTIM)[0] == (ErrorCode.CORRUPT_MESSAGE, [])
    assert fetched(client, topic, VICTIM + 1)[0] == (ErrorCode.NONE, list(range(VICTIM + 1, BATCHES)))
    wait_for(logged, 5, "the log line")
    assert len(logged()) == 1
    assert str(log_file) in logged()[0]


@pytest.mark.parametrize("length", [0, -1, 20, 2**31 - 1])
def test_list_offsets_by_time_over_a_damaged_length(client, topic, log_file, logged, length):
    damage_length(log_file, length)
    assert listed(client, topic, FIRST_MS + VICTIM) == [(ErrorCode.CORRUPT_MESSAGE, -1), (ErrorCode.NONE, VICTIM)]
    assert len(wait_for(logged, 5, "the log line")) == 1
    assert listed(client, topic, FIRST_MS) == [(ErrorCode.NONE, 0)] * 2


def test_list_offsets_of_the_latest_record_that_is_damaged(client, topic, log_file):
    last = batch_headers(log_file.read_bytes())[-1]
    content = bytearray(log_file.read_bytes())
    content[last.position + 65] ^= 1
    log_file.write_bytes(content)
    assert listed(client, topic, MAX_TIMESTAMP) == [(ErrorCode.CORRUPT_MESSAGE, -1), (ErrorCode.NONE, BATCHES - 1)]


def test_a_file_that_became_shorter_is_a_storage_error(client, topic, log_file, logged):
    with log_file.open("r+b") as file:
        file.truncate(100)
    assert fetched(client, topic, VICTIM)[0] == (ErrorCode.KAFKA_STORAGE_ERROR, [])
    assert listed(client, topic, FIRST_MS + VICTIM)[0] == (ErrorCode.KAFKA_STORAGE_ERROR, -1)
    wait_for(logged, 5, "a log line")
