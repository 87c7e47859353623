"""A stream as a server reads it: frames however it is cut, their headers, and the request in each.

    FUZZ_SECONDS=60 python -m tests.fuzz.fuzz_frames

The first byte of an input is the size of the pieces in which the rest arrives.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise

from _wire.apis import APIS
from _wire.errors import MalformedMessage
from _wire.frames import FrameSplitter, FrameTooLarge
from _wire.headers import decode_request_header, decode_response_header, encode_request, request_header_version
from tests.fuzz.harness import fuzz
from tests.golden_vectors import GOLDEN_DIR, golden_vectors

FRAME_BYTES_MAX = 1_000
LENGTH_BYTES = 4


def one_input(data: bytes, saw: Callable[[str], None]) -> None:
    piece_bytes = data[0] + 1 if data else 1
    frames, refused = fed(data[1:], piece_bytes)
    assert (frames, refused) == fed(data[1:], len(data) + 1), "the frames depend on how the stream was cut"
    saw(f"{len(frames)} frames, refused: {refused}")
    for frame in frames:
        saw(request_in(frame))
        response_header_in(frame)


def fed(stream: bytes, piece_bytes: int) -> tuple[list[bytes], bool]:
    """(the frames, whether one was too large)."""
    splitter = FrameSplitter(FRAME_BYTES_MAX)
    frames: list[bytes] = []
    for start in range(0, len(stream), piece_bytes):
        try:
            frames += splitter.feed(stream[start : start + piece_bytes])
        except FrameTooLarge as too_large:
            return frames + too_large.frames, True
    assert splitter.begun_bytes == len(stream) - sum(LENGTH_BYTES + len(frame) for frame in frames)
    return frames, False


def request_in(frame: bytes) -> str:
    """What became of it."""
    try:
        header, body_start = decode_request_header(frame)
        header_version = request_header_version(header.api_key, header.api_version)
        api = APIS.get(header.api_key)
        if api is None or not api.min_version <= header.api_version <= api.max_version:
            return f"{header_version} unknown"
        request = api.request.decode(frame, header.api_version, body_start)
    except MalformedMessage as malformed:
        return f"{malformed.message} v{malformed.version} {malformed.field} {malformed.why}"
    again = encode_request(header.correlation_id, header.client_id, request, header.api_version)[LENGTH_BYTES:]
    read_again, body_start = decode_request_header(again)
    assert read_again == header, (header, read_again)
    assert api.request.decode(again, header.api_version, body_start) == request
    return f"{api.name} v{header.api_version} read"


def response_header_in(frame: bytes) -> None:
    key, version = frame[:1], frame[1:2]
    try:
        _, body_start = decode_response_header(frame, key[0] if key else 0, version[0] if version else 0)
        assert body_start <= len(frame)
    except MalformedMessage:
        pass


def seeds() -> Iterator[bytes]:
    for path in sorted((GOLDEN_DIR / "wire").glob("[A-Z]*.jsonl.gz")):
        frames = [
            len(whole).to_bytes(LENGTH_BYTES, "big") + whole
            for vector in golden_vectors(f"wire/{path.name}")
            if vector["kind"] == "request"
            for whole in [bytes.fromhex(vector["header_hex"] + vector["body_hex"])]
            if len(whole) <= FRAME_BYTES_MAX
        ]
        for first, second in pairwise(frames):
            yield b"\x10" + first + second
            yield b"\xff" + first


if __name__ == "__main__":
    fuzz("frames", one_input, seeds())
