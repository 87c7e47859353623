"""A file of a log, opened: its format, its windows, and where its lines stand."""

import re
from collections.abc import Iterator
from typing import Final

from coordinator.observe.logs.documents import Document, is_document
from coordinator.observe.logs.files import BinaryReader, Peeked, as_text, begin_of
from coordinator.observe.logs.layouts import HEAD
from coordinator.observe.logs.unwrapping import Unwrapping, unwrapping
from coordinator.observe.logs.windows import Window, windows

SAMPLE_BYTES: Final = 512 << 10
NO_FORMAT: Final = Unwrapping([()], has_loggers=False, has_heads=False)
"""Of a file in which no line begins in a known way."""


class LogText:
    """The text of a file. Raises OSError, EOFError or zlib.error where it is broken; what comes before is read."""

    def __init__(self, file: BinaryReader, log_format: str, begins: re.Pattern[str] = HEAD) -> None:
        text = as_text(file)
        sample = begin_of(text, SAMPLE_BYTES)
        self._lines: BinaryReader = Peeked(sample, text)
        self._document: Document | None = None
        if is_document(sample):
            self._document = Document(self._lines)
            sample = begin_of(self._document, SAMPLE_BYTES)
            self._lines = Peeked(sample, self._document)
        found = unwrapping(sample.splitlines(), log_format, begins)
        self.unwrap = found or NO_FORMAT
        self.is_unknown = found is None and bool(sample.strip())
        """No line at the beginning has a format that is known."""

    def windows(self) -> Iterator[Window]:
        return windows(self._lines)

    @property
    def is_plain(self) -> bool:
        """Its lines are those of the file."""
        return self._document is None

    def line(self, number: int) -> int:
        """The line of the file at which line `number` of its windows begins."""
        return number if self._document is None else self._document.numbers[number - 1]

    @property
    def defect(self) -> str:
        """What of a document could not be read."""
        return "" if self._document is None else self._document.error
