from _wire.structs import Buffer

class FrameTooLarge(Exception):
    """A frame is longer than allowed. A negative length counts as too long.

    `frames` are the complete frames before it in the same bytes.
    """

    frame_bytes: int
    frame_bytes_max: int
    frames: list[bytes]

class FrameSplitter:
    """Splits a stream of bytes, which arrives in arbitrary pieces, into frames."""

    @property
    def frame_bytes_max(self) -> int: ...
    @property
    def begun_bytes(self) -> int:
        """The number of buffered bytes of an incomplete frame, including its length field."""

    def __init__(self, frame_bytes_max: int) -> None: ...
    def feed(self, data: Buffer) -> list[bytes]:
        """Return the frames that are complete now, in order, without their length fields.

        Raises:
            FrameTooLarge: a frame is too large; every later call raises it too.
        """
