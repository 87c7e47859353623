"""Which source the tables of a folder were made of. Imports no Spark, because the readers ask too."""

from collections.abc import Callable
from typing import Final

from coordinator.pipeline.folder import Files
from coordinator.pipeline.names import BRONZE

AUDIT: Final = "audit"
CONSUMER_OFFSETS: Final = "consumer-offsets"
SOURCES: Final = (AUDIT, CONSUMER_OFFSETS)
MARKER_FILE: Final = "_source"


class OtherSource(RuntimeError):
    """The folder holds the tables of another source. The message is one line."""


def source_of(read: Callable[[str], bytes]) -> str:
    """The source of the tables. `read` is that of `Files`. Folders from before there were several have no marker."""
    try:
        return read(MARKER_FILE).decode().strip()
    except FileNotFoundError:
        return AUDIT


def claim(files: Files, source: str) -> None:
    """Mark the folder of the tables, which is locked, as that of a source.

    Raises:
        OtherSource: it is that of another one.
    """
    found = source_of(files.read) if BRONZE in files.names() else source
    if found != source:
        raise OtherSource(f"{files} holds tables made of the source {found}: give {source} a directory of its own")
    files.write(MARKER_FILE, f"{source}\n".encode())
