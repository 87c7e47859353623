"""A physical line of a file → what a broker wrote."""

from typing import Final, NamedTuple

LINE_BYTES_MAX: Final = 1 << 20
"""Longer lines are cut. The longest that a coordinator writes are assignments of 3.9, which are not needed."""


class Line(NamedTuple):
    """`text` is the broker's, without what other programs put before it.

    `stream` tells apart what several brokers wrote into one file, where something before the line names them.
    `received_ms` is when another program got the line, in ms since the epoch. A line with `is_whole` is a whole entry
    in a structure (JSON): its text is the message alone, and `time_ms` and `logger` are fields.
    """

    text: str
    stream: str = ""
    received_ms: int | None = None
    is_whole: bool = False
    time_ms: int | None = None
    logger: str | None = None


def decoded(data: bytes) -> str:
    """The text of a line, without its end, without zeros (a log that was truncated while it was open has them)."""
    if len(data) > LINE_BYTES_MAX:
        data = data[:LINE_BYTES_MAX]
    text = data.decode(errors="replace")
    if "\0" in text:
        text = text.replace("\0", "")
    return text[:-1] if text.endswith("\r") else text
