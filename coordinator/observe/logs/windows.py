"""A file as windows of whole lines, each with some lines before and after what is to be read in it."""

import zlib
from collections.abc import Iterator
from typing import Final, NamedTuple

from coordinator.observe.logs.files import BinaryReader
from coordinator.observe.logs.lines import LINE_BYTES_MAX

BLOCK_BYTES: Final = 8 << 20
AROUND_BYTES: Final = 256 << 10
"""How far what belongs to a line may be away from it."""


class Window(NamedTuple):
    """To be read are the lines of `data` that begin in `begin:stop`. `first_line` is the number of the first one."""

    data: bytes
    begin: int
    stop: int
    first_line: int


def windows(
    file: BinaryReader, *, block_bytes: int = BLOCK_BYTES, around_bytes: int = AROUND_BYTES
) -> Iterator[Window]:
    """The windows of a file, until its end. A line that does not end is cut when it is longer than is read of one.

    What a defect of the file raises is raised after all that comes before it.
    """
    data, begin, first_line = b"", 0, 1
    while True:
        error: Exception | None = None
        try:
            block = file.read(block_bytes)
        except (OSError, EOFError, zlib.error) as found:
            block, error = b"", found
        if not block:
            if begin < len(data):
                yield Window(data, begin, len(data), first_line)
            if error is not None:
                raise error
            return
        if len(data) > begin and b"\n" not in block and data.rfind(b"\n") < len(data) - LINE_BYTES_MAX:
            continue  # the rest of a line that is too long
        data += block
        stop = data.rfind(b"\n", 0, max(0, len(data) - around_bytes)) + 1
        if stop <= begin:
            continue
        yield Window(data, begin, stop, first_line)
        keep = data.rfind(b"\n", 0, max(0, stop - around_bytes)) + 1
        first_line += data.count(b"\n", 0, keep)
        data, begin = data[keep:], stop - keep
