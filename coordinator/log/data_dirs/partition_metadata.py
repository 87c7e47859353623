"""`partition.metadata`: the id of the topic to which the directory of a partition belongs (PartitionMetadataFile.java).

version: 0
topic_id: <the id in URL-safe base64, without padding>
"""

import base64
import binascii
from pathlib import Path
from typing import Final

from coordinator.log.files import FileSystem, read_file, write_file_atomically
from coordinator.logger import logger

PARTITION_METADATA: Final = "partition.metadata"
TOPIC_ID_BYTES: Final = 16
DAMAGED_BITS_MAX: Final = 8
"""Ids are random: two that differ in so few bits are one id, of which a character was damaged."""


class PartitionMetadataDamaged(ValueError):
    """The file is not in this format."""


def write_topic_id(fs: FileSystem, folder: Path, topic_id: bytes, *, flush: bool = False) -> None:
    """Write the file into the directory of a partition.

    Raises:
        OSError: it cannot be written.
    """
    text = base64.urlsafe_b64encode(topic_id).rstrip(b"=").decode("ascii")
    content = f"version: 0\ntopic_id: {text}\n".encode("ascii")
    write_file_atomically(fs, folder / PARTITION_METADATA, content, flush=flush)


def read_topic_id(fs: FileSystem, folder: Path) -> bytes | None:
    """Return the id; None if there is no file.

    Raises:
        PartitionMetadataDamaged: the file is not in this format.
        OSError: it cannot be read.
    """
    path = folder / PARTITION_METADATA
    if not fs.exists(path):
        return None
    try:
        version, topic_id = read_file(fs, path).decode("ascii").splitlines()
        if version != "version: 0" or not topic_id.startswith("topic_id: "):
            raise PartitionMetadataDamaged("there is no topic id")
        decoded = base64.b64decode(topic_id.removeprefix("topic_id: ") + "==", b"-_", validate=True)
    except (ValueError, binascii.Error) as problem:
        raise PartitionMetadataDamaged(str(problem)) from None
    if len(decoded) != TOPIC_ID_BYTES:
        raise PartitionMetadataDamaged(f"a topic id of {len(decoded)} bytes")
    return decoded


def is_same_damaged(topic_id: bytes, other: bytes) -> bool:
    """Whether two different ids are so similar that one of them was damaged."""
    return (int.from_bytes(topic_id, "big") ^ int.from_bytes(other, "big")).bit_count() <= DAMAGED_BITS_MAX


def belongs_to(fs: FileSystem, folder: Path, topic_id: bytes) -> bool:
    """Whether the directory of a log belongs to the topic with this id; without an id it gets this one.

    Raises:
        OSError: the file cannot be read or written.
    """
    try:
        found = read_topic_id(fs, folder)
        if found == topic_id:
            return True
        if found is not None and not is_same_damaged(found, topic_id):
            return False
        problem = None if found is None else "a wrong topic id"
    except PartitionMetadataDamaged as damaged:
        problem = str(damaged)
    if problem is not None:
        path = str(folder / PARTITION_METADATA)
        logger.error("the file with the id of a topic is damaged; it is written again", file=path, problem=problem)
    write_topic_id(fs, folder, topic_id)
    return True
