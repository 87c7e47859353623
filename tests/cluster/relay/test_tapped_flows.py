"""What is read of watched groups is passed on as it comes, however long it is and however it is cut."""

from typing import Any, Final

import pytest

from _wire.headers import encode_request
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.heartbeat import HeartbeatRequest
from _wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from _wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from _wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from coordinator.cluster.relay.expected_responses import ExpectedResponses
from coordinator.cluster.relay.request_flow import RequestFlow
from coordinator.cluster.relay.tap import Tap
from coordinator.runtime.slices import Slices
from tests.cluster.relay.scripted import FixedDirectory

LONG_NAME: Final = 32_000
MORE_BYTES: Final = 300_000
"""What follows the fields: brokers ignore it."""
ASSIGNMENTS = [SyncGroupRequestAssignment(member_id=f"m-{number}", assignment=bytes(290)) for number in range(1_000)]
REQUESTS: dict[str, tuple[Any, int]] = {
    "the SyncGroup of a leader of 1,000 members": (
        SyncGroupRequest(group_id="g", generation_id=1, member_id="m", assignments=ASSIGNMENTS),
        5,
    ),
    "a Heartbeat with a long member id": (HeartbeatRequest(group_id="g", member_id="m" * LONG_NAME), 3),
    "a ShareGroupHeartbeat with long names": (
        ShareGroupHeartbeatRequest(group_id="g" * LONG_NAME, member_id="m", member_epoch=1),
        1,
    ),
    "a StreamsGroupHeartbeat with long names": (
        StreamsGroupHeartbeatRequest(group_id="g" * LONG_NAME, member_id="m", member_epoch=1),
        0,
    ),
    "an ApiVersions with a long name": (ApiVersionsRequest(client_software_name="x" * LONG_NAME), 3),
}


class Ends:
    """The sides of the connection."""

    address = client_id = software = ""

    def __init__(self) -> None:
        self.to_broker = bytearray()

    def write_upstream(self, data: bytes | memoryview) -> None:
        self.to_broker += data

    def write_client(self, data: bytes | memoryview) -> None:
        raise AssertionError("nothing is answered")

    def abort(self, reason: str) -> None:
        raise AssertionError(reason)

    def fail(self, problem: Exception) -> None:
        raise problem

    def go_on(self) -> None:
        """Nothing waits."""

    def logged_in(self) -> None:
        raise AssertionError("clients need no login here")


@pytest.mark.parametrize("what", REQUESTS)
@pytest.mark.parametrize("piece_bytes", [1_000, 60_000, 140_000])
def test_a_long_request_of_a_watched_group_passes_as_it_is(what: str, piece_bytes: int) -> None:
    """Also one of which more has come than is looked at, and not all."""
    ends = Ends()
    tap = Tap(1, lambda group_id: True)
    flow = RequestFlow(ends, ExpectedResponses(), FixedDirectory(), Slices(lambda work: None), 1 << 20, tap=tap)
    flow.open()
    flow.update()
    message, version = REQUESTS[what]
    body = encode_request(7, "c", message, version)[4:] + bytes(MORE_BYTES)
    frame = len(body).to_bytes(4, "big") + body
    for start in range(0, len(frame), piece_bytes):
        flow.stream.feed(frame[start : start + piece_bytes])
        assert flow.held_bytes <= 64 * 1024 + piece_bytes
    assert bytes(ends.to_broker) == frame
