"""Passes a stream of frames on while it comes. Only frames that somebody wants to read are kept until their end."""

from collections.abc import Callable
from enum import Enum, auto
from struct import Struct
from typing import Final, Protocol

from coordinator.cluster.relay.request_heads import INT16, LENGTH_BYTES, InvalidRequest

INT32: Final = Struct(">i")
HEAD_BYTES_MAX: Final = 1 << 17
"""What is looked at of a frame that is passed on: a client id and a transactional id have 32 KiB each at most."""


class Route(Enum):
    """What becomes of a frame."""

    PASS = auto()
    COLLECT = auto()
    PASS_AS_OLDER = auto()
    """Passed on with the API version that the handler has in `sent_version`."""


class FrameHandler(Protocol):
    """Decides about the frames of one direction. It may stop the stream: then the next frame waits."""

    sent_version: bytes
    """Of the frame that was begun last, if it is passed on as one of an older version."""

    def begin(self, data: bytes, start: int, end: int, frame_bytes: int) -> Route | None:
        """A frame begins at data[start], with its length; its bytes up to data[end] are there. None: more are needed.

        Raises:
            InvalidRequest: the connection is of no use.
        """

    def collected(self, frame: bytes) -> None:
        """A frame is complete, which is given without its length. What came before it was written."""

    def passed(self) -> bool:
        """A frame that is passed on has ended; True: `insert` wants to write something behind it."""

    def insert(self) -> None:
        """All up to the end of the frame was written."""


class FrameStream:
    """One direction of a connection."""

    __slots__ = (
        "_collected_bytes",
        "_handler",
        "_head_bytes",
        "_left",
        "_most",
        "_pieces",
        "_rest",
        "_write",
        "is_stopped",
    )

    def __init__(
        self,
        handler: FrameHandler,
        write: Callable[[bytes | memoryview], object],
        head_bytes: int,
        frame_bytes_max: int,
    ) -> None:
        """A frame has `head_bytes` at least, without its length: so many are there when `begin` is called."""
        self._handler = handler
        self._write = write
        self._head_bytes = head_bytes
        self._most = frame_bytes_max
        self._left = 0
        """Bytes of the present frame that have not come."""
        self._pieces: list[bytes] | None = None
        """Of the present frame, if it is collected."""
        self._collected_bytes = 0
        self._rest = b""
        """What has come of frames that have not begun: too little of one, or all since the stream was stopped."""
        self.is_stopped = False

    @property
    def held_bytes(self) -> int:
        return self._collected_bytes + len(self._rest)

    def feed(self, data: bytes) -> None:
        """Handle what has come; without data, go on after a stop.

        Raises:
            InvalidRequest: the length of a frame is out of bounds, or `begin` raised it.
        """
        if self._rest:
            data, self._rest = self._rest + data, b""
        start = position = 0
        end = len(data)
        try:
            while position < end:
                if not self._left:
                    if self.is_stopped:
                        break
                    route = self._begin(data, position, end)
                    if route is None:
                        break
                    if route is Route.PASS_AS_OLDER:
                        data = _with_version(data, position, self._handler.sent_version)
                    elif route is Route.COLLECT:
                        self._pass(data, start, position)
                        position += LENGTH_BYTES
                        start = position
                        self._pieces = []
                        continue
                step = min(self._left, end - position)
                self._left -= step
                position += step
                if self._pieces is not None:
                    begun, start = start, position
                    self._collect(data[begun:position])
                elif not self._left and self._handler.passed():
                    self._pass(data, start, position)
                    start = position
                    self._handler.insert()
        finally:
            # Also the frames before an invalid one, however the stream was cut.
            self._pass(data, start, position)
        if position < end:
            self._rest = data[position:]

    def _begin(self, data: bytes, position: int, end: int) -> Route | None:
        """Begin a frame if enough of it is there. What is passed on includes its length."""
        if end - position < LENGTH_BYTES:
            return None
        frame_bytes: int = INT32.unpack_from(data, position)[0]
        if not self._head_bytes <= frame_bytes <= self._most:
            raise InvalidRequest(f"a frame of {frame_bytes} bytes is out of bounds")
        if end - position < LENGTH_BYTES + self._head_bytes:
            return None
        whole = position + LENGTH_BYTES + frame_bytes
        route = self._handler.begin(data, position, min(whole, end), frame_bytes)
        if route is None:
            if whole <= end or end - position > HEAD_BYTES_MAX:
                raise InvalidRequest("a request header is invalid")
        else:
            self._left = frame_bytes if route is Route.COLLECT else LENGTH_BYTES + frame_bytes
        return route

    def _collect(self, piece: bytes) -> None:
        assert self._pieces is not None
        self._pieces.append(piece)
        self._collected_bytes += len(piece)
        if not self._left:
            frame = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
            self._pieces = None
            self._collected_bytes = 0
            self._handler.collected(frame)

    def _pass(self, data: bytes, start: int, end: int) -> None:
        size = end - start
        if size == len(data):
            if size:
                self._write(data)
        elif size:
            # A view keeps all of the data; the small part of them is copied, so that buffers hold what they count.
            self._write(memoryview(data)[start:end] if 2 * size > len(data) else data[start:end])


def _with_version(data: bytes, start: int, version: bytes) -> bytes:
    """Put another API version into the request that begins, with its length, at data[start]."""
    at = start + LENGTH_BYTES + INT16.size
    return data[:at] + version + data[at + INT16.size :]
