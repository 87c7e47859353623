"""OffsetForLeaderEpoch for epochs before and after the one epoch of a log; the answers are those of Kafka 4.3.1."""

from collections.abc import Iterator

import pytest

from _wire.errors import ErrorCode
from _wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.broker.virtual_broker import batch
from tests.servers import RunningServer
from tests.wire_client import WireClient

INT32_MIN, INT32_MAX = -(1 << 31), (1 << 31) - 1
UNKNOWN_END = (-1, -1)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WireClient]:
    with RunningServer(tmp_path_factory.mktemp("epochs")) as running, WireClient(running.bootstrap) as connected:
        connected.create_topic("orders")
        assert connected.produce("orders", batch(b"a")).error_code == ErrorCode.NONE
        yield connected


@pytest.mark.parametrize(
    "claimed, epoch, error, end",
    [
        (-1, 0, ErrorCode.NONE, (0, 1)),
        (0, 0, ErrorCode.NONE, (0, 1)),
        (0, -1, ErrorCode.NONE, UNKNOWN_END),
        (0, 1, ErrorCode.NONE, UNKNOWN_END),
        (0, -2, ErrorCode.NONE, (-2, 0)),
        (-1, INT32_MIN, ErrorCode.NONE, (INT32_MIN, 0)),
        (1, 0, ErrorCode.UNKNOWN_LEADER_EPOCH, UNKNOWN_END),
        (INT32_MAX, 0, ErrorCode.UNKNOWN_LEADER_EPOCH, UNKNOWN_END),
        (-2, 0, ErrorCode.FENCED_LEADER_EPOCH, UNKNOWN_END),
    ],
)
def test_the_end_of_an_epoch(client, claimed, epoch, error, end):
    wanted = OffsetForLeaderPartition(partition=0, current_leader_epoch=claimed, leader_epoch=epoch)
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic="orders", partitions=[wanted])])
    (answer,) = client.request(request, 4).topics[0].partitions
    assert (answer.error_code, answer.leader_epoch, answer.end_offset) == (error, *end)
