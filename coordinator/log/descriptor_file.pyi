from typing import Final

CLOSED: Final = -1
"""In place of a descriptor: there is none."""

class DescriptorFile:
    """A file that may have a descriptor."""

    _descriptor: int
    _is_read_only: bool
    """Whether the descriptor is one for reading, because there was none for writing."""
    was_used: bool
    """Whether it was used since the last time that a file to close was looked for."""

    def read_at(self, position: int, size: int) -> bytes:
        """`size` bytes from `position`, fewer only at the end of the file; `_used()` opens it if it has no descriptor.

        Raises:
            OSError: the read failed.
        """

    def write_at(self, data: bytes | bytearray | memoryview, position: int) -> None:
        """Write all of `data`, by the descriptor of `_used_to_write()` if there is none that can write.

        Raises:
            OSError: the write failed.
        """
