"""Batches that a real server compresses again, in threads, while it serves other clients."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from select import select
from typing import Final

import pytest

from _wire.messages.api_versions import ApiVersionsRequest
from _wire.records import batch_headers, build_batch, parse_records
from tests.servers import QUICK_GROUPS, RunningServer
from tests.wire_client import WireClient, fetch_request, produce_request

SLOWEST: Final = {"compression.type": "zstd", "compression.zstd.level": "22"}
VALUE_BYTES: Final = 500_000
ANSWERED_MEANWHILE: Final = 30
"""Requests in the time that zstd takes for so many bytes, half a second; in the event loop hardly one would be."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    with RunningServer(tmp_path, QUICK_GROUPS) as server:
        yield server


def value(number: int) -> bytes:
    return Random(number).randbytes(VALUE_BYTES // 2).hex().encode()


def values_in(client: WireClient, topic: str, compression: str) -> list[bytes | None]:
    found: list[bytes | None] = []
    while True:
        request = fetch_request(topic, len(found), max_bytes=1 << 22)
        records = client.request(request, 11).responses[0].partitions[0].records
        if not records:
            return found
        assert {header.compression for header in batch_headers(records)} == {compression}
        found += [record.value for record in parse_records(records)]


def test_large_and_small_batches_of_a_connection_are_appended_in_its_order(server):
    sent = [value(0), b"small", value(1), b"another", value(2)]
    with WireClient(server.bootstrap) as client:
        client.create_topic("t", configs={"compression.type": "gzip"})
        frames = [client.frame(produce_request("t", build_batch([(None, each, ())])), 9) for each in sent]
        client.socket.sendall(b"".join(frame for frame, _ in frames))
        answers = [client.receive(request).responses[0].partition_responses[0] for _, request in frames]
        assert [(answer.error_code, answer.base_offset) for answer in answers] == [(0, offset) for offset in range(5)]
        assert values_in(client, "t", "gzip") == sent


def test_other_clients_are_answered_while_a_batch_is_compressed_slowly(server):
    with WireClient(server.bootstrap) as slow, WireClient(server.bootstrap) as other:
        slow.create_topic("t", configs=SLOWEST)
        sent = slow.send(produce_request("t", build_batch([(None, value(0), ())])), 9)
        answered = 0
        while not select([slow.socket], [], [], 0)[0]:
            other.request(ApiVersionsRequest(), 0)
            answered += 1
        assert answered > ANSWERED_MEANWHILE
        assert slow.receive(sent).responses[0].partition_responses[0].error_code == 0
        assert values_in(other, "t", "zstd") == [value(0)]


def test_a_client_that_disconnects_meanwhile_harms_nobody(server):
    with WireClient(server.bootstrap) as other:
        other.create_topic("t", configs=SLOWEST)
        for number in range(3):
            with WireClient(server.bootstrap) as leaving:
                leaving.send(produce_request("t", build_batch([(None, value(number), ())])), 9)
        assert other.produce("t", build_batch([(None, b"last", ())])).error_code == 0
        assert b"last" in values_in(other, "t", "zstd")
    assert server.stop() == 0
    assert "unhandled exception" not in server.log.read_text()
