"""A whole server, and a connection that sends it any bytes: it answers or closes, and serves the next one.

    FUZZ_SECONDS=60 python -m tests.fuzz.fuzz_server

The first byte of an input is the size of the pieces in which the rest arrives.
"""

from collections.abc import Callable, Iterator
from functools import cache

from _wire.messages.api_versions import ApiVersionsRequest
from tests.fuzz import fuzz_frames
from tests.fuzz.harness import fuzz
from tests.hostile.in_process import InProcessServer, Peer

FRAME_BYTES_MAX = 10_000
TURNS = 5
ANSWERS_SEEN_BYTES = 40
SETTINGS = {
    "socket.request.max.bytes": str(FRAME_BYTES_MAX),
    "offsets.topic.num.partitions": "2",
    "max.broker.partitions": "1000",
    "write.txn.markers.enable": "true",
    "max.groups.per.ip": "1000",
    "max.pending.members.per.ip": "1000",
}


@cache
def running() -> InProcessServer:
    """One server for all inputs, which ends with the process."""
    return InProcessServer(SETTINGS).__enter__()


def one_input(data: bytes, saw: Callable[[str], None]) -> None:
    server = running()
    server.log.lines.clear()
    piece_bytes = data[0] + 1 if data else 1
    peer = Peer(server)
    for start in range(1, len(data), piece_bytes):
        peer.send(data[start : start + piece_bytes])
    for _ in range(TURNS):
        server.turn()
    saw(f"{'closed' if peer.is_lost else 'open'} {bytes(peer.received[8:ANSWERS_SEEN_BYTES]).hex()}")
    peer.leave()
    for level, event, fields in server.log.lines:
        assert "unhandled" not in event and "invariant" not in event, (level, event, fields)
        saw(f"{event} {fields.get('reason', '')}")
    another = Peer(server)
    assert another.request(ApiVersionsRequest(), 0).error_code == 0
    another.leave()


def seeds() -> Iterator[bytes]:
    return (seed for seed in fuzz_frames.seeds() if len(seed) <= FRAME_BYTES_MAX)


if __name__ == "__main__":
    fuzz("server", one_input, seeds())
