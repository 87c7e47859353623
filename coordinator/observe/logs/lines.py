"""A physical line of a file → what a broker or a client wrote."""

import re
from typing import Final, NamedTuple

LINE_BYTES_MAX: Final = 1 << 20
"""Longer lines are cut. The longest that a coordinator writes are assignments of 3.9, which are not needed."""
COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")


class Line(NamedTuple):
    """`text` is that of the program, without what others put before it.

    `stream` tells apart what several programs wrote into one file, where something before the line names them.
    `received_ms` is when another program got the line, in ms since the epoch. A line with `is_whole` is a whole entry
    in a structure (JSON): its text is the message alone, and `time_ms` and `logger` are fields.
    """

    text: str
    stream: str = ""
    received_ms: int | None = None
    is_whole: bool = False
    time_ms: int | None = None
    logger: str | None = None
    is_foreign: bool = False
    """Not in the format of its file."""
    is_part: bool = False
    """The line goes on in the next one."""


def decoded(data: bytes) -> str:
    """The text of a line, without its end, colours and zeros (a log that was truncated while open has those)."""
    if len(data) > LINE_BYTES_MAX:
        data = data[:LINE_BYTES_MAX]
    text = data.decode(errors="replace")
    if "\0" in text:
        text = text.replace("\0", "")
    if "\x1b" in text:
        text = COLOUR.sub("", text)
    return text[:-1] if text.endswith("\r") else text
