"""Gives data folders of Kafka to this server, or back, so that after a crash they are of use to one of them or to none.

1. The new metadata log is made in NEW_FOLDER, which both ignore. So far nothing has changed.
2. Each `meta.properties` gets the name of the command as its version, that beside the metadata log as the last one.
   From now on neither Kafka nor this server starts on the folders, until the same command was run again.
3. The new metadata log takes the place of the old one, and what else is to be done to the folders is done.
4. Each `meta.properties` becomes that of the new owner, that beside the metadata log as the last one.
"""

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import msgspec

from coordinator.log.data_dirs.directory import LOCK
from coordinator.log.data_dirs.meta_properties import (
    FORMAT_PROPERTY,
    IMPORT,
    META_PROPERTIES,
    META_VERSION,
    parse_properties,
    write_properties,
)
from coordinator.log.errors import DataDirectoryError
from coordinator.log.files import DiskFileSystem, read_file
from coordinator.log.names import METADATA_LOG, STRAY_SUFFIX, folder_name, renamed_folder

METADATA_FOLDER: Final = folder_name(METADATA_LOG, 0)
NEW_FOLDER: Final = renamed_folder(METADATA_FOLDER, "new", STRAY_SUFFIX)
"""Where the new metadata log is made before it gets its name."""


class FolderChange(msgspec.Struct):
    """All log.dirs of one node, whose owner (Kafka or this server) changes."""

    fs: DiskFileSystem
    command: str
    """IMPORT or EXPORT."""
    properties: dict[Path, dict[str, str]]
    """What is in the `meta.properties` of each folder."""
    node_id: int
    metadata_root: Path
    """The folder with the metadata log."""

    @classmethod
    def of(cls, roots: Sequence[Path], command: str) -> "FolderChange":
        """Look at the folders; nothing is written.

        Raises:
            DataDirectoryError: they are not all folders of one node, or one of them is given twice.
            OSError: a file cannot be read.
        """
        fs = DiskFileSystem()
        for number, root in enumerate(roots):
            if root.resolve() in [other.resolve() for other in roots[:number]]:
                raise DataDirectoryError(f"{root} is named twice")
        properties = {root: _read_properties(fs, root, command) for root in roots}
        owners = {(entries["cluster.id"], entries["node.id"]) for entries in properties.values()}
        if len(owners) > 1:
            raise DataDirectoryError("the folders belong to different nodes or clusters")
        ((_, node_id),) = owners
        return cls(fs, command, properties, int(node_id), _metadata_root(roots))

    @property
    def roots(self) -> list[Path]:
        """The folders, that with the metadata log as the last one."""
        return sorted(self.properties, key=lambda root: root == self.metadata_root)

    def is_marked(self, root: Path) -> bool:
        """Whether the command was interrupted when it had, or may have, changed this folder."""
        return self.properties[root]["version"] == self.command

    def is_changed(self, root: Path) -> bool:
        """Whether the folder has its new owner."""
        is_ours = FORMAT_PROPERTY in self.properties[root]
        return not self.is_marked(root) and is_ours == (self.command == IMPORT)

    @property
    def was_interrupted(self) -> bool:
        """Whether the command was interrupted after the new metadata log was complete: `finish` is all that is left."""
        is_any_marked = any(map(self.is_marked, self.properties))
        return self.is_marked(self.metadata_root) or (is_any_marked and self.is_changed(self.metadata_root))

    def remove_marks(self) -> None:
        """Take back the marks of a command that was interrupted while it set them: it begins again.

        Raises:
            OSError: a file cannot be written.
        """
        for root in filter(self.is_marked, self.roots):
            self._write(root, META_VERSION, is_ours=self.command != IMPORT)

    def mark(self) -> None:
        """Let nobody use the folders until `finish` has ended.

        Raises:
            OSError: a file cannot be written.
        """
        for root in self.roots:
            self._write(root, self.command, is_ours=False)

    def finish(self, prepare: Callable[[Path], None]) -> None:
        """Put the new metadata log in its place, and give each folder to its new owner when `prepare` has returned.

        May be called again after it was interrupted, and so may `prepare`.

        Raises:
            OSError: a file cannot be read or written.
        """
        self._replace_metadata()
        for root in self.roots:
            if self.is_marked(root):
                prepare(root)
                self._write(root, META_VERSION, is_ours=self.command == IMPORT)

    def discard_new_metadata(self) -> None:
        """Remove the new metadata log, or what was made of it."""
        if self._new.exists():
            self.fs.remove_tree(self._new)

    @property
    def _new(self) -> Path:
        return self.metadata_root / NEW_FOLDER

    def _replace_metadata(self) -> None:
        """Set the old metadata log aside, under a name that neither Kafka nor this server reads."""
        root, made = self.metadata_root, self._new / METADATA_FOLDER
        if made.is_dir():
            if (root / METADATA_FOLDER).is_dir():
                aside = renamed_folder(METADATA_FOLDER, uuid.uuid4().hex, STRAY_SUFFIX)
                self.fs.rename(root / METADATA_FOLDER, root / aside)
            self.fs.rename(made, root / METADATA_FOLDER)
            self.fs.flush_directory(root)
        self.discard_new_metadata()

    def _write(self, root: Path, version: str, *, is_ours: bool) -> None:
        changed = self.properties[root] | {"version": version}
        self.properties[root] = write_properties(self.fs, root, changed, is_ours=is_ours)


@contextmanager
def locked(roots: Sequence[Path]) -> Iterator[None]:
    """Lock the folders, as Kafka and this server do while they use them.

    Raises:
        DataDirectoryError: one is in use.
        OSError: one cannot be locked.
    """
    fs = DiskFileSystem()
    with ExitStack() as stack:
        for root in roots:
            try:
                stack.callback(fs.lock(root / LOCK).release)
            except BlockingIOError:
                raise DataDirectoryError(f"data directory {root} is in use by another process") from None
        yield


def _read_properties(fs: DiskFileSystem, root: Path, command: str) -> dict[str, str]:
    path = root / META_PROPERTIES
    if not path.exists():
        raise DataDirectoryError(f"{root} is no data folder: it has no {META_PROPERTIES}")
    return parse_properties(path, read_file(fs, path), unfinished=command)


def _metadata_root(roots: Sequence[Path]) -> Path:
    found = [
        root for root in roots if (root / METADATA_FOLDER).is_dir() or (root / NEW_FOLDER / METADATA_FOLDER).is_dir()
    ]
    if len(found) != 1:
        raise DataDirectoryError(f"{METADATA_FOLDER} must be in one of the folders; it is in {len(found) or 'none'}")
    return found[0]
