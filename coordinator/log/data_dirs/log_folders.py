"""The folders of logs in a directory: of those that are served, copied, given up or deleted, by their names."""

import errno
import uuid
from collections.abc import Generator, Sequence
from pathlib import Path

from coordinator.log.data_dirs.checkpoints import TopicPartition
from coordinator.log.data_dirs.meta_properties import META_PROPERTIES
from coordinator.log.data_dirs.partition_metadata import belongs_to, write_topic_id
from coordinator.log.data_dirs.source_metadata import write_source
from coordinator.log.errors import OfflineDirectory
from coordinator.log.files import FileSystem
from coordinator.log.names import (
    DELETED_SUFFIX,
    FUTURE_SUFFIX,
    folder_name,
    future_folder_name,
    parse_folder_name,
    parse_future_folder_name,
    renamed_folder,
)
from coordinator.log.segments.stored_segments import StoredSegments, stored_segments


class LogFolders:
    """A directory in which each log has a folder, whether the log is open or not."""

    def __init__(self, fs: FileSystem, root: Path) -> None:
        self.root = root
        self._fs = fs

    @property
    def files(self) -> FileSystem:
        """Where the directory lies."""
        return self._fs

    def folder_of(self, topic: str, partition: int) -> Path:
        """The folder of a log that is served."""
        return self.root / folder_name(topic, partition)

    def check_is_there(self) -> None:
        """Raise OfflineDirectory if the directory is gone, as when its disk was unmounted."""
        if not self._fs.exists(self.root / META_PROPERTIES):
            raise OfflineDirectory(errno.ENOENT, "the log directory is gone", str(self.root))

    def stored_partitions(self) -> list[TopicPartition]:
        """Return topic and partition of each log on disk, open or not.

        Raises:
            OSError: the directory cannot be read.
        """
        parsed = map(parse_folder_name, self._fs.names(self.root))
        return sorted(key for key in parsed if key and self._fs.is_directory(self.folder_of(*key)))

    def stored_segments(self, topic: str, partition: int) -> StoredSegments:
        """Return what can be said of the segments of a log without opening it.

        Raises:
            OSError: the directory or a file cannot be read.
        """
        return stored_segments(self._fs, self.folder_of(topic, partition))

    def belongs_to(self, topic: str, partition: int, topic_id: bytes) -> bool:
        """Whether the folder of a log belongs to the topic with this id; without an id it gets this one.

        Raises:
            OSError: the file cannot be read or written.
        """
        return belongs_to(self._fs, self.folder_of(topic, partition), topic_id)

    def volume_bytes(self) -> tuple[int, int]:
        """The size of the volume in bytes, and what may still be written to it.

        Raises:
            OSError: it cannot be asked.
        """
        return self._fs.volume_bytes(self.root)

    # ------------------------------------------------------------------------------------------- copies of other logs

    def future_folders(self) -> list[tuple[TopicPartition, Path]]:
        """Return the folders of copies that were to replace a log in another directory, with topic and partition.

        Raises:
            OSError: the directory cannot be read.
        """
        found = [(parse_future_folder_name(name), self.root / name) for name in self._fs.names(self.root)]
        return [(key, folder) for key, folder in found if key is not None and self._fs.is_directory(folder)]

    def make_future_folder(self, topic: str, partition: int, topic_id: bytes, source_id: str) -> Path:
        """Create the folder for the copy of a log that is in the directory with the id `source_id`.

        Raises:
            OSError: it cannot be created.
        """
        folder = self.root / future_folder_name(topic, partition, uuid.uuid4().hex)
        self.check_is_there()
        self._fs.make_directory(folder)
        write_topic_id(self._fs, folder, topic_id)
        write_source(self._fs, folder, source_id)
        return folder

    # ------------------------------------------------------------------------------------------------ what is given up

    def discard(self, folder: Path) -> Path:
        """Rename a folder of a log that nobody needs any more; return the new name for `remove_renamed`.

        Raises:
            OSError: the folder cannot be renamed.
        """
        name = folder.name.rpartition(".")[0] if folder.name.endswith(FUTURE_SUFFIX) else folder.name
        return self._rename(folder, name, DELETED_SUFFIX)

    def _rename(self, folder: Path, name: str, suffix: str) -> Path:
        renamed = self.root / renamed_folder(name, uuid.uuid4().hex, suffix)
        self._fs.rename(folder, renamed)
        return renamed

    def remove_renamed(self, folders: Sequence[Path]) -> Generator[None, None, None]:
        """Remove folders that were renamed to be deleted, one in each step.

        Raises:
            OSError: a folder cannot be removed.
        """
        if folders:
            self._fs.flush_directory(self.root)
        for folder in folders:
            yield
            self._fs.remove_tree(folder)

    def _remove_deleted(self) -> None:
        for name in self._fs.names(self.root):
            if name.endswith(DELETED_SUFFIX) and self._fs.is_directory(self.root / name):
                self._fs.remove_tree(self.root / name)
