from _wire.primitives import Buffer

class FrameTooLarge(Exception):
    """A peer announced a frame of more bytes than allowed; a negative length counts as huge.

    `frames` are the whole frames that came before it in the same bytes.
    """

    frame_bytes: int
    frame_bytes_max: int
    frames: list[bytes]

class FrameSplitter:
    """Frames out of a stream of bytes, which may be cut anywhere."""

    @property
    def frame_bytes_max(self) -> int: ...
    @property
    def begun_bytes(self) -> int:
        """Bytes held of a frame that is not whole yet, its length counted in."""

    def __init__(self, frame_bytes_max: int) -> None: ...
    def feed(self, data: Buffer) -> list[bytes]:
        """The frames that are whole now, without their lengths, in order.

        Raises FrameTooLarge once one is too large, and from then on always.
        """
