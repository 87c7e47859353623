"""The number of the last start of this server, in a file of its data folder. The audit is numbered with it."""

import time
from pathlib import Path
from typing import Final

from _wire.checksums import checksum
from coordinator.log.files import FileSystem, read_file, write_file_atomically
from coordinator.logger import logger

COORDINATOR_EPOCH = "group-coordinator-epoch"
"""The file with the number of the last start; Kafka has none like it."""
COORDINATOR_EPOCH_DIGITS_MAX: Final = 16
"""With so many it still fits an int64."""


def next_coordinator_epoch(fs: FileSystem, root: Path) -> int:
    """Return a number that is larger by 1 than at the last call, in this process or in one before; 1 at the first.

    It is stored before it is returned. If the file is damaged, it is the time in seconds since the epoch.

    Raises:
        OSError: the file cannot be read or written.
    """
    path = root / COORDINATOR_EPOCH
    epoch = 1 + (_parse_epoch(read_file(fs, path)) if fs.exists(path) else 0)
    if epoch == 0:
        # No start was ever counted so far; the audit needs a number that is larger than those before it.
        epoch = int(time.time())
        logger.error("coordinator epoch file is damaged; using the time of this start", file=str(path), epoch=epoch)
    write_file_atomically(fs, path, f"{epoch} {checksum(b'%d' % epoch)}\n".encode())
    return epoch


def _parse_epoch(content: bytes) -> int:
    """The number of the last start, written with its CRC-32C; -1 if it is damaged. Older versions wrote no CRC-32C."""
    number, _, expected = content.strip().partition(b" ")
    if not number.isdigit() or len(number) > COORDINATOR_EPOCH_DIGITS_MAX:
        return -1
    return int(number) if expected in (b"", b"%d" % checksum(number)) else -1
