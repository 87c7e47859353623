"""A disk in memory that dies at a given operation, and what it holds after the process or the power went."""

from pathlib import Path

from coordinator.log import memory_files
from coordinator.log.files import OpenFile
from tests.model.memory_files import ProcessKilled

Names = dict[Path, bytearray]


class CrashingFile(memory_files.MemoryFile):
    def __init__(self, fs: "CrashingFiles", content: bytearray) -> None:
        super().__init__(content)
        self._fs = fs

    def write_at(self, data: bytes | bytearray | memoryview, position: int) -> None:
        self._fs.count()
        super().write_at(data, position)

    def truncate(self, size: int) -> None:
        self._fs.count()
        super().truncate(size)

    def flush(self) -> None:
        self._fs.count()
        self._fs.flushed[id(self._content)] = bytes(self._content)


class CrashingFiles(memory_files.MemoryFileSystem):
    """Operations that change something are counted; the one with the number `dies_at` and all later ones fail.

    After a power loss a file holds what was flushed. The names in a folder are those at its last flush, or at any time
    since: a file system keeps the order of changes of names.
    """

    def __init__(self) -> None:
        super().__init__()
        self.operations = 0
        self.dies_at = 1 << 60
        self.flushed: dict[int, bytes] = {}
        self._named_since_flush: list[Names] = [{}]

    def count(self) -> None:
        self.operations += 1
        if self.operations > self.dies_at:
            raise ProcessKilled

    def _note_names(self) -> None:
        self._named_since_flush.append(dict(self._files))

    def open(self, path: Path) -> OpenFile:
        if path not in self._files:
            self.count()
            self.content(path)
            self._note_names()
        return CrashingFile(self, self.content(path))

    def set_modified_ms(self, path: Path, time_ms: int) -> None:
        self.count()

    def rename(self, path: Path, target: Path) -> None:
        self.count()
        super().rename(path, target)
        self._note_names()

    def remove(self, path: Path) -> None:
        self.count()
        super().remove(path)
        self._note_names()

    def flush_directory(self, path: Path) -> None:
        self.count()
        self._named_since_flush = [dict(self._files)]

    def states_after_power_loss(self) -> int:
        return len(self._named_since_flush)

    def after_kill(self) -> "CrashingFiles":
        """What another process finds."""
        return self._copy(self._files, {})

    def after_power_loss(self, state: int, *, writes_are_kept: bool = False) -> "CrashingFiles":
        """What is found with the names of one of `states_after_power_loss`.

        With `writes_are_kept`, the system has written the content of all files by itself before.
        """
        return self._copy(self._named_since_flush[state], {} if writes_are_kept else self.flushed)

    def _copy(self, names: Names, flushed: dict[int, bytes]) -> "CrashingFiles":
        copy = CrashingFiles()
        copy._directories = set(self._directories)
        is_power_loss = flushed is self.flushed
        for path, content in names.items():
            held = flushed.get(id(content), b"") if is_power_loss else bytes(content)
            copy._files[path] = bytearray(held)
            copy.flushed[id(copy._files[path])] = held
        copy._named_since_flush = [dict(copy._files)]
        return copy
