"""Frames out of a stream that is cut anywhere."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _wire.frames import FrameSplitter, FrameTooLarge

LIMIT = 1_000


def framed(frame: bytes) -> bytes:
    return len(frame).to_bytes(4, "big") + frame


@given(st.lists(st.binary(max_size=50), max_size=10), st.data())
def test_frames_come_out_whole_wherever_the_stream_is_cut(frames: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(map(framed, frames))
    splitter = FrameSplitter(LIMIT)
    found = []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        found += splitter.feed(stream[:size])
        stream = stream[size:]
    assert found == frames
    assert splitter.begun_bytes == 0


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_buffer_can_be_fed(kind: type) -> None:
    assert FrameSplitter(LIMIT).feed(kind(framed(b"one") + framed(b"") + b"\0")) == [b"one", b""]


def test_frames_are_copies() -> None:
    received = bytearray(framed(b"one"))
    (frame,) = FrameSplitter(LIMIT).feed(received)
    received[:] = bytes(len(received))
    assert frame == b"one"


def test_what_is_begun_is_counted() -> None:
    splitter = FrameSplitter(LIMIT)
    assert splitter.feed(framed(b"one") + framed(b"two")[:-1]) == [b"one"]
    assert splitter.begun_bytes == 6


def test_the_limit_is_the_largest_frame_allowed() -> None:
    assert FrameSplitter(LIMIT).feed(framed(bytes(LIMIT))) == [bytes(LIMIT)]
    with pytest.raises(FrameTooLarge, match="frame of 1001 bytes, allowed are 1000"):
        FrameSplitter(LIMIT).feed(framed(bytes(LIMIT + 1)))


def test_a_large_frame_is_refused_once_its_length_is_there() -> None:
    splitter = FrameSplitter(LIMIT)
    assert splitter.feed(b"\0\1\0") == []
    with pytest.raises(FrameTooLarge) as refused:
        splitter.feed(b"\0")
    assert (refused.value.frame_bytes, refused.value.frame_bytes_max) == (65_536, LIMIT)


def test_a_negative_length_is_a_huge_one() -> None:
    with pytest.raises(FrameTooLarge):
        FrameSplitter(LIMIT).feed(b"\xff\xff\xff\xff")


def test_frames_before_a_large_one_are_not_lost() -> None:
    with pytest.raises(FrameTooLarge) as refused:
        FrameSplitter(LIMIT).feed(framed(b"one") + framed(b"two") + b"GET / HTTP/1.1")
    assert refused.value.frames == [b"one", b"two"]


def test_after_a_large_frame_nothing_is_taken() -> None:
    splitter = FrameSplitter(LIMIT)
    for data in (b"\x7f\xff\xff\xff", framed(b"one")):
        with pytest.raises(FrameTooLarge) as refused:
            splitter.feed(data)
        assert refused.value.frames == []
        assert splitter.begun_bytes == 4


def test_memory_is_taken_for_bytes_that_came_only() -> None:
    splitter = FrameSplitter(100_000_000)
    tracemalloc.start()
    try:
        splitter.feed((100_000_000).to_bytes(4, "big") + b"the rest never comes")
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
