"""Frames are passed on byte for byte, wherever the stream is cut, and collected ones are read whole."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.cluster.relay import frame_stream
from coordinator.cluster.relay.frame_stream import FrameStream, Route
from coordinator.cluster.relay.request_heads import InvalidRequest
from tests.cluster.relay.scripted import frame

HEAD_BYTES = 4
FRAME_BYTES_MAX = 1_000
PASSED, COLLECTED, INSERTED_AFTER, LONG_HEAD, OLDER = b"p", b"c", b"i", b"h", b"o"
SENT_VERSION = b"\0\x0f"
LONG_HEAD_BYTES = 20
BODIES = st.tuples(
    st.sampled_from([PASSED, COLLECTED, INSERTED_AFTER, LONG_HEAD, OLDER]),
    st.binary(min_size=LONG_HEAD_BYTES, max_size=60),
).map(b"".join)


class Recorder:
    """A handler that routes frames by their first byte, and writes `<body>` for a frame that it has read."""

    sent_version = SENT_VERSION

    def __init__(self) -> None:
        self.written = bytearray()
        self.begun = b""
        self.stops_after_collected = False
        self.stream = FrameStream(self, self.write, HEAD_BYTES, FRAME_BYTES_MAX)

    def write(self, data: bytes | memoryview) -> None:
        assert data, "nothing is written"
        self.written += data

    def begin(self, data: bytes, start: int, end: int, frame_bytes: int) -> Route | None:
        assert HEAD_BYTES <= end - start - 4 <= frame_bytes
        self.begun = data[start + 4 : start + 5]
        if self.begun == LONG_HEAD and end - start - 4 < LONG_HEAD_BYTES:
            return None
        if self.begun == OLDER:
            return Route.PASS_AS_OLDER
        return Route.COLLECT if self.begun == COLLECTED else Route.PASS

    def collected(self, frame: bytes) -> None:
        self.written += b"<" + frame + b">"
        self.stream.is_stopped = self.stops_after_collected

    def passed(self) -> bool:
        return self.begun == INSERTED_AFTER

    def insert(self) -> None:
        self.written += b"!"


def expected_of(bodies: list[bytes]) -> bytes:
    written = b""
    for body in bodies:
        if body[:1] == COLLECTED:
            written += b"<" + body + b">"
        elif body[:1] == OLDER:
            written += frame(body[:2] + SENT_VERSION + body[4:])
        else:
            written += frame(body) + (b"!" if body[:1] == INSERTED_AFTER else b"")
    return written


def pieces_of(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[start:end] for start, end in pairwise(places)]


@given(st.lists(BODIES, max_size=8), st.lists(st.integers(0, 10_000), max_size=12), st.booleans())
def test_a_stream_that_is_cut_anywhere_is_handled_as_a_whole_one(bodies, cuts, stops):
    recorder = Recorder()
    recorder.stops_after_collected = stops
    for piece in pieces_of(b"".join(map(frame, bodies)), cuts):
        recorder.stream.feed(piece)
    while recorder.stream.is_stopped:
        recorder.stream.is_stopped = False
        recorder.stream.feed(b"")
    assert recorder.written == expected_of(bodies)
    assert recorder.stream.held_bytes == 0


@given(st.lists(BODIES, min_size=1, max_size=4))
def test_single_bytes_are_enough(bodies):
    recorder = Recorder()
    for byte in b"".join(map(frame, bodies)):
        recorder.stream.feed(bytes((byte,)))
    assert recorder.written == expected_of(bodies)


@given(
    st.lists(BODIES, max_size=4),
    st.sampled_from([-1, -(2**31), 0, HEAD_BYTES - 1, FRAME_BYTES_MAX + 1, 2**31 - 1]),
    st.lists(st.integers(0, 1_000), max_size=5),
)
def test_frames_before_an_invalid_length_are_handled(bodies, length, cuts):
    recorder = Recorder()
    data = b"".join(map(frame, bodies)) + length.to_bytes(4, "big", signed=True) + b"rest"
    with pytest.raises(InvalidRequest, match="out of bounds"):
        for piece in pieces_of(data, cuts):
            recorder.stream.feed(piece)
    assert recorder.written == expected_of(bodies)


def test_nothing_of_a_frame_that_is_passed_on_is_kept():
    recorder = Recorder()
    data = frame(PASSED * FRAME_BYTES_MAX)
    recorder.stream.feed(data[:100])
    assert recorder.written == data[:100]
    assert recorder.stream.held_bytes == 0


def test_what_comes_after_a_stop_waits():
    recorder = Recorder()
    recorder.stream.is_stopped = True
    recorder.stream.feed(frame(b"pppp"))
    assert not recorder.written
    assert recorder.stream.held_bytes == 8


def test_a_head_has_to_be_complete_within_its_frame():
    recorder = Recorder()
    with pytest.raises(InvalidRequest, match="header is invalid"):
        recorder.stream.feed(frame(LONG_HEAD * (LONG_HEAD_BYTES - 1)))


def test_a_head_is_bounded(monkeypatch):
    monkeypatch.setattr(frame_stream, "HEAD_BYTES_MAX", 10)
    recorder = Recorder()
    with pytest.raises(InvalidRequest, match="header is invalid"):
        recorder.stream.feed(frame(LONG_HEAD * 100)[:15])


def test_a_small_part_of_what_came_is_copied():
    """A view would keep all of it in the memory of a slow reader."""
    written: list[bytes | memoryview] = []
    recorder = Recorder()
    recorder.stream = FrameStream(recorder, written.append, HEAD_BYTES, FRAME_BYTES_MAX)
    recorder.stream.feed(frame(b"pppp") + frame(COLLECTED * 500) + frame(PASSED * 900))
    assert [type(each) for each in written] == [bytes, memoryview]
