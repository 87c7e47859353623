"""`source.metadata`: the log directory from which the log in this folder is moved, until the move has ended.

version: 0
directory.id: <the id in the meta.properties of that directory>

With it a start can tell a move that a crash has interrupted from a folder that somebody has copied.
"""

from pathlib import Path
from typing import Final

from coordinator.log.files import FileSystem, read_file, write_file_atomically

SOURCE_METADATA: Final = "source.metadata"
_HEAD: Final = "version: 0\ndirectory.id: "


def write_source(fs: FileSystem, folder: Path, directory_id: str) -> None:
    """Write the file into the folder of a log.

    Raises:
        OSError: it cannot be written.
    """
    content = f"{_HEAD}{directory_id}\n".encode("ascii")
    write_file_atomically(fs, folder / SOURCE_METADATA, content, flush=False)


def read_source(fs: FileSystem, folder: Path) -> str | None:
    """Return the id of the directory; None if there is no such file, or it is damaged.

    Raises:
        OSError: it cannot be read.
    """
    path = folder / SOURCE_METADATA
    if not fs.exists(path):
        return None
    content = read_file(fs, path).decode("ascii", "replace")
    return content.removeprefix(_HEAD).strip() or None if content.startswith(_HEAD) else None


def remove_source(fs: FileSystem, folder: Path) -> None:
    """Remove the file, if it exists; not even a power loss brings it back.

    Raises:
        OSError: it cannot be removed.
    """
    if fs.exists(folder / SOURCE_METADATA):
        fs.remove(folder / SOURCE_METADATA)
        fs.flush_directory(folder)
