"""Assignments of workers of Kafka Connect, byte by byte as ConnectProtocol and IncrementalCooperative write them."""

import struct

import pytest

from _wire.embedded import decode_versioned, encode_versioned
from _wire.errors import MalformedMessage
from _wire.messages.connect_protocol_assignment import ConnectProtocolAssignment
from coordinator.core.connect_protocol import WorkerAssignment, decode_worker_assignment


def text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


def tasks(**numbers: list[int]) -> bytes:
    entries = [text(name) + struct.pack(f">i{len(own)}i", len(own), *own) for name, own in numbers.items()]
    return struct.pack(">i", len(entries)) + b"".join(entries)


def assignment(version: int, assigned: bytes, *after: bytes) -> bytes:
    return b"".join(
        (
            struct.pack(">hh", version, 0),
            text("leader"),
            text("http://a:8083/"),
            struct.pack(">q", 12),
            assigned,
            *after,
        )
    )


HEAD = "000000086c65616465722d31000e687474703a2f2f613a383038332f0000000000000029"
ASSIGNED = "00000002000473696e6b00000003ffffffff00000000000000010006736f757263650000000100000002"
REVOKED = "0000000100036f6c6400000002ffffffff00000003000493e0"
OF_KAFKA = {
    "0000" + HEAD + ASSIGNED: ({}, 0),
    "0001" + HEAD + ASSIGNED + REVOKED: ({"old": [-1, 3]}, 300_000),
    "0002" + HEAD + ASSIGNED + REVOKED: ({"old": [-1, 3]}, 300_000),
}
"""What `ConnectProtocol` and `IncrementalCooperativeConnectProtocol` of Kafka 4.3.1 write → revoked tasks and delay."""


@pytest.mark.parametrize("data", OF_KAFKA)
def test_what_kafka_writes_is_read_and_written_again(data):
    revoked, delay_ms = OF_KAFKA[data]
    found = decode_worker_assignment(bytes.fromhex(data))
    assert found == WorkerAssignment(("sink",), {"sink": [0, 1], "source": [2]}, revoked, 41, delay_ms, "leader-1")
    message = decode_versioned(ConnectProtocolAssignment, bytes.fromhex(data))
    assert encode_versioned(message, int(data[:4])).hex() == data


def test_what_an_eager_worker_runs():
    assert decode_worker_assignment(assignment(0, tasks(sink=[-1, 1, 0], source=[2]))) == WorkerAssignment(
        ("sink",), {"sink": [0, 1], "source": [2]}, {}, 12, 0, "leader"
    )


def test_a_cooperative_worker_gives_up_and_waits():
    data = assignment(1, tasks(source=[0]), tasks(sink=[-1, 0]), struct.pack(">i", 300_000))
    assert decode_worker_assignment(data) == WorkerAssignment(
        (), {"source": [0]}, {"sink": [-1, 0]}, 12, 300_000, "leader"
    )


def test_no_revocation_is_null():
    data = assignment(2, tasks(), struct.pack(">ii", -1, 0))
    assert decode_worker_assignment(data) == WorkerAssignment((), {}, {}, 12, 0, "leader")


def test_a_later_version_is_read_as_the_newest_that_is_known():
    data = assignment(7, tasks(source=[0]), tasks(), struct.pack(">i", 5), b"what a later version adds")
    assert decode_worker_assignment(data) == WorkerAssignment((), {"source": [0]}, {}, 12, 5, "leader")


def test_a_worker_that_is_given_nothing_may_have_null():
    data = assignment(1, struct.pack(">i", -1), tasks(), struct.pack(">i", 0))
    assert decode_worker_assignment(data).tasks == {}


@pytest.mark.parametrize("version", [-1, -(2**15)])
def test_a_version_below_0_is_unreadable(version):
    with pytest.raises(MalformedMessage):
        decode_worker_assignment(assignment(version, tasks()))


def test_empty_bytes_assign_nothing():
    assert decode_worker_assignment(b"").tasks == {}


@pytest.mark.parametrize("length", range(1, 60))
def test_what_is_cut_off_is_unreadable(length):
    data = assignment(1, tasks(sink=[-1, 0]), tasks(), struct.pack(">i", 0))
    assert length < len(data)
    with pytest.raises(MalformedMessage):
        decode_worker_assignment(data[:length])


@pytest.mark.parametrize("count", [2**31 - 1, 1_000])
def test_a_count_beyond_the_bytes_ends_with_them(count):
    with pytest.raises(MalformedMessage):
        decode_worker_assignment(assignment(0, struct.pack(">i", count)))


def test_a_name_that_is_no_text_is_unreadable():
    bad = struct.pack(">i", 1) + struct.pack(">h", 2) + b"\xff\xff" + struct.pack(">i", 0)
    with pytest.raises(MalformedMessage):
        decode_worker_assignment(assignment(0, bad))
