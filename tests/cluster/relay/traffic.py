"""What clients and brokers send in tests of the relay."""

import asyncio
import socket

from _wire.errors import ErrorCode
from _wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from _wire.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from tests.cluster.relay.scripted import (
    BROKER_ID,
    OWNED,
    Peer,
    Scene,
    decoded,
    encoded,
    frame,
)

FETCH, LIST_OFFSETS, PRODUCE, HEARTBEAT, FIND_COORDINATOR, DESCRIBE_GROUPS = 1, 2, 0, 12, 10, 15
MIB = 1 << 20
STALLED_BYTES_MAX = 90 * MIB
"""More than is ever taken of what nobody reads."""
READ_BYTES = 1 << 18
"""The most that the event loops read at once."""


def describe(correlation_id: int, group_id: str = OWNED) -> bytes:
    return encoded(correlation_id, DescribeGroupsRequest(groups=[group_id]), 5)


def is_refused(received: bytes, correlation_id: int) -> bool:
    """Whether it is the answer of the relay to `describe`."""
    answer: DescribeGroupsResponse = decoded(received, DescribeGroupsResponse, 5, correlation_id)
    return answer.groups[0].error_code == ErrorCode.NOT_COORDINATOR


def found(correlation_id: int, group_id: str) -> bytes:
    """A broker's response to FindCoordinator v4."""
    body = FindCoordinatorResponse(coordinators=[Coordinator(key=group_id, node_id=BROKER_ID, host="b", port=1)])
    return frame(correlation_id.to_bytes(4, "big") + b"\x00" + body.encode(4))


def find(correlation_id: int, group_id: str) -> bytes:
    return encoded(correlation_id, FindCoordinatorRequest(coordinator_keys=[group_id]), 4)


async def stall(scene: Scene, writer: Peer, data: bytes) -> int:
    """Write until nobody takes more; how many bytes were taken."""
    writer.writer.transport.set_write_buffer_limits(high=0)
    taken, before = 0, -1
    while taken != before and taken < STALLED_BYTES_MAX:
        before = taken
        for _ in range(1_000):
            if writer.writer.transport.get_write_buffer_size() == 0:
                writer.write(data)
                taken += len(data)
            await asyncio.sleep(0)
    return taken


def small_buffers(peer: Peer) -> None:
    """Little of what a peer does not read is in the system."""
    sock = peer.writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 14)
