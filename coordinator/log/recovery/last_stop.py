"""How the last process that used a log directory ended: clean, killed or with the power (LogManager.java)."""

from pathlib import Path
from typing import Final

import msgspec

from coordinator.log.data_dirs.checkpoints import UNRECOVERED, TopicPartition, write_checkpoint
from coordinator.log.files import FileSystem, read_file, write_file, write_file_atomically

BOOT_ID = ".boot-id"
"""The file with the id of the system's boot in which the last process ran."""
KERNEL_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
POWER_LOST: Final = 0
KILLED: Final = 1
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
CLEAN_SHUTDOWN_CONTENT = b'{"version":0,"brokerEpoch":-1}'


def read_boot_id() -> str:
    """Return the id of the system's current boot; empty if the system has none."""
    try:
        return KERNEL_BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""


class LastStop(msgspec.Struct, frozen=True):
    """What a start has to know of the stop before it."""

    was_clean: bool
    unrecovered: dict[TopicPartition, int]
    """The logs that were not opened since a stop that was not clean, and whether they were KILLED or POWER_LOST."""


def consume_note(
    fs: FileSystem,
    root: Path,
    boot_id: str,
    unrecovered: dict[TopicPartition, int] | None,
    stored: list[TopicPartition],
) -> LastStop:
    """Find out how the last stop was, and note what a kill of this process would mean.

    `unrecovered` is what the checkpoint file UNRECOVERED says, None if it is damaged; `stored` are the logs on disk.

    Raises:
        OSError: a file cannot be read, written or removed.
    """
    was_clean = _remove_marker(fs, root) and unrecovered is not None
    found = unrecovered or {}
    if not was_clean:
        path = root / BOOT_ID
        last_boot = read_file(fs, path) if fs.exists(path) else b""
        was_killed = unrecovered is not None and boot_id != "" and last_boot == boot_id.encode("ascii")
        found = {key: KILLED if was_killed and found.get(key, KILLED) == KILLED else POWER_LOST for key in stored}
        write_checkpoint(fs, root / UNRECOVERED, found, flush=False)
    write_file(fs, root / BOOT_ID, boot_id.encode("ascii"))
    return LastStop(was_clean, found)


def mark_clean(fs: FileSystem, root: Path) -> None:
    """Note that all is flushed: the next start needs no recovery.

    Raises:
        OSError: the marker cannot be written.
    """
    write_file_atomically(fs, root / CLEAN_SHUTDOWN, CLEAN_SHUTDOWN_CONTENT)


def _remove_marker(fs: FileSystem, root: Path) -> bool:
    """Return whether the marker existed. It is removed because it becomes wrong with the next append."""
    marker = root / CLEAN_SHUTDOWN
    if not fs.exists(marker):
        return False
    fs.remove(marker)
    fs.flush_directory(root)
    return True
