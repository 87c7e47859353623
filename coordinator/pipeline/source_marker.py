"""Which source the tables of a folder were made of. Imports no Spark, because the readers ask too."""

from pathlib import Path
from typing import Final

AUDIT: Final = "audit"
CONSUMER_OFFSETS: Final = "consumer-offsets"
SOURCES: Final = (AUDIT, CONSUMER_OFFSETS)
MARKER_FILE: Final = "_source"


class OtherSource(RuntimeError):
    """The folder holds the tables of another source. The message is one line."""


def source_of(tables: Path) -> str:
    """The source of the tables. Folders from before there were several have no marker."""
    try:
        return (tables / MARKER_FILE).read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return AUDIT


def claim(tables: Path, source: str) -> None:
    """Mark the folder, which exists and is locked, as that of a source.

    Raises:
        OtherSource: it is that of another one.
    """
    is_used = (tables / "bronze").exists()
    found = source_of(tables) if is_used else source
    if found != source:
        raise OtherSource(f"{tables} holds tables made of the source {found}: give {source} a directory of its own")
    (tables / MARKER_FILE).write_text(f"{source}\n", encoding="utf-8")
