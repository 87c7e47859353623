"""Files that are one document of JSON, or objects over several lines → one object per line.

`aws logs filter-log-events` writes `{"events": [{…}, …]}`, Grafana an array, Loki's API streams of pairs, log4j2's old
JSONLayout objects over several lines. The document is read piece by piece: it may be larger than memory.
"""

import json
from array import array
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from coordinator.observe.logs.files import BinaryReader

PIECE_BYTES: Final = 1 << 20
ELEMENT_CHARS_MAX: Final = 64 << 20
"""A piece of a document that has no end within that is given up."""
_DECODER: Final = json.JSONDecoder()
_LISTS: Final = ("events", "data", "result", "results", "logs", "hits", "values", "logEvents")
"""Keys of the lists in which exports have their lines."""


class Document:
    """Reads as a file of lines, each an object. `numbers` are the lines of the original where they begin."""

    def __init__(self, file: BinaryReader) -> None:
        self._file = file
        self._elements = self._encoded()
        self._pending = bytearray()
        self.numbers = array("q")
        self.error = ""

    def read(self, most: int) -> bytes:
        while len(self._pending) < most:
            element = next(self._elements, None)
            if element is None:
                break
            self._pending += element
        found = bytes(self._pending[:most])
        del self._pending[:most]
        return found

    def _encoded(self) -> Iterator[bytes]:
        for line, value in self._values():
            for object_ in _objects(value):
                self.numbers.append(line)
                yield msgspec.json.encode(object_) + b"\n"

    def _values(self) -> Iterator[tuple[int, Any]]:
        """The values of the document from the innermost list on that begins it, each with its line."""
        text, at, line = "", 0, 1
        decode = _incremental()
        is_inside = False
        while True:
            data = self._file.read(PIECE_BYTES)
            text, line, at = text[at:] + decode(data, not data), line + text.count("\n", 0, at), 0
            if not is_inside:
                at, is_inside = _begin(text), True
            while True:
                start = _skip(text, at)
                try:
                    value, stop = _DECODER.raw_decode(text, start)
                except ValueError:
                    break
                if stop == len(text) and data:
                    break  # a number may go on
                yield line + text.count("\n", 0, start), value
                at = stop
            if not data or len(text) - at > ELEMENT_CHARS_MAX:
                if text[_skip(text, at) :].strip():
                    self.error = f"the document cannot be read from line {line + text.count(chr(10), 0, at)} on"
                return


def _incremental() -> Any:
    from codecs import getincrementaldecoder

    decoder = getincrementaldecoder("utf-8")(errors="replace")
    return decoder.decode


def _begin(text: str) -> int:
    """Where the first element of the outermost list is: after `[`, or after the key of a list in an object."""
    stripped = len(text) - len(text.lstrip("\ufeff \t\r\n"))
    if text[stripped : stripped + 1] == "[":
        return stripped + 1
    if text[stripped : stripped + 1] != "{":
        return stripped
    at = _skip(text, stripped + 1)
    for key in _LISTS:
        found = text.find(f'"{key}"', at, at + 4096)
        if found >= 0:
            bracket = _skip(text, found + len(key) + 2)
            if text[bracket : bracket + 1] == "[":
                return bracket + 1
    return stripped


def _skip(text: str, at: int) -> int:
    """What is between values: blanks, commas, colons, and the ends of lists and objects around."""
    while at < len(text) and text[at] in " \t\r\n,:]}\ufeff":
        at += 1
    return at


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """The objects that are lines. A stream of Loki's API is labels and pairs of a time in ns and a line."""
    if not isinstance(value, dict):
        return
    source = value.get("_source")
    if isinstance(source, dict):  # Elasticsearch
        yield source
        return
    pairs = value.get("values")
    if not isinstance(pairs, list):
        yield value
        return
    for pair in pairs:
        if isinstance(pair, list) and len(pair) >= 2 and isinstance(pair[1], str):
            yield {"line": pair[1], "timestamp": pair[0], "stream": value.get("stream", {})}


def is_document(sample: bytes) -> bool:
    """Whether the first bytes of a file begin a document rather than lines that are objects."""
    text = sample.decode(errors="replace").lstrip("\ufeff \t\r\n")
    if text[:1] == "[":
        return text[1:].lstrip(" \t\r\n")[:1] in ("{", "]", "")
    if text[:1] != "{":
        return False
    try:
        value, _ = _DECODER.raw_decode(text.split("\n", 1)[0])
    except ValueError:
        return True
    return isinstance(value, dict) and any(
        isinstance(value.get(key), list | dict) for key in ("events", "data", "hits")
    )
