"""`log.flush.policy=always` on a real server: everything works, and survives a kill."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from _wire.errors import ErrorCode
from _wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from _wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from _wire.records import build_batch, parse_records
from tests.servers import QUICK_GROUPS, RunningServer
from tests.wire_client import WireClient

VALUES = [b"%d" % number for number in range(20)]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    with RunningServer(tmp_path, QUICK_GROUPS | {"log.flush.policy": "always"}) as server:
        yield server


def fetched(client: WireClient) -> list[bytes | None]:
    wanted = FetchTopic(topic="t", partitions=[FetchPartition(partition=0, partition_max_bytes=1 << 20)])
    request = FetchRequest(max_bytes=1 << 20, max_wait_ms=5_000, min_bytes=1, topics=[wanted])
    (partition,) = client.request(request, 11).responses[0].partitions
    assert partition.high_watermark == len(VALUES)
    return [record.value for record in parse_records(partition.records or b"")]


def commit(client: WireClient, offset: int) -> ErrorCode:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    request = OffsetCommitRequest(group_id="g", topics=[OffsetCommitRequestTopic(name="t", partitions=[partition])])
    return ErrorCode(client.request(request, 5).topics[0].partitions[0].error_code)


def committed(client: WireClient) -> int:
    request = OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[0])])
    return int(client.request(request, 5).topics[0].partitions[0].committed_offset)


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_what_is_acknowledged_is_there_after_a_restart(server, how):
    with WireClient(server.bootstrap) as client:
        client.create_topic("t")
        for offset, value in enumerate(VALUES):
            answer = client.produce("t", build_batch([(None, value, ())]), acks=1 if offset % 2 else -1)
            assert (answer.error_code, answer.base_offset) == (ErrorCode.NONE, offset)
            assert commit(client, offset) is ErrorCode.NONE
        client.join_alone("joined")
        assert fetched(client) == VALUES
    if how == "stop":
        server.stop()
    else:
        server.kill()
    server.start()
    with WireClient(server.bootstrap) as client:
        assert fetched(client) == VALUES
        assert committed(client) == len(VALUES) - 1
    log = server.log.read_text()
    assert "damaged" not in log
    assert "cut the end" not in log
