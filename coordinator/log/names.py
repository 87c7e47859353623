"""Names of topics, of the metadata log, and of partition directories (org.apache.kafka.common.internals.Topic)."""

import re
from pathlib import Path
from typing import Final

from coordinator.log.errors import InvalidTopicName, ReservedTopicName
from coordinator.topic_names import illegal_reason

_FOLDER = re.compile(r"(?P<topic>[a-zA-Z0-9._-]+)-(?P<partition>0|[1-9][0-9]{0,9})")
_FUTURE = re.compile(r"(?P<folder>.+)\.[0-9a-f]{32}-future")
DELETED_SUFFIX = "-delete"
STRAY_SUFFIX = "-stray"
FUTURE_SUFFIX = "-future"
FILE_NAME_LENGTH_MAX = 255

METADATA_LOG: Final = "__cluster_metadata"
"""The name of the metadata log. It is stored like the log of a partition, but no topic may have its name: otherwise
clients could read, write and delete it through the topic APIs."""


def check_topic_name(topic: str) -> None:
    """Check that a topic may have this name.

    Raises:
        InvalidTopicName: the characters or the length are not allowed.
        ReservedTopicName: this is the name of the metadata log.
    """
    check_legal_name(topic)
    if topic == METADATA_LOG:
        raise ReservedTopicName(f"creation of internal topic {METADATA_LOG} is prohibited")


def check_legal_name(name: str) -> None:
    """Check characters and length, as Kafka's `Topic.validate` does.

    Raises:
        InvalidTopicName: the characters or the length are not allowed.
    """
    reason = illegal_reason(name)
    if reason:
        raise InvalidTopicName(reason)


def collision_key(name: str) -> str:
    """Topics whose names have the same key may not exist side by side (Topic.hasCollision).

    They differ only in '.' and '_', which Kafka's metric names map to '_'.
    """
    return name.replace(".", "_")


def folder_name(log: str, partition: int) -> str:
    """Return the name of the directory of a partition or of the metadata log, within the data directory.

    Raises:
        InvalidTopicName: the characters or the length are not allowed.
    """
    check_legal_name(log)
    return f"{log}-{partition}"


def renamed_folder(name: str, unique: str, suffix: str) -> str:
    """Return the name of a folder that is set aside; it is cut off where it would be too long for a file system."""
    ending = f".{unique}{suffix}"
    return name[: FILE_NAME_LENGTH_MAX - len(ending)] + ending


def parse_folder_name(name: str) -> tuple[str, int] | None:
    """Return topic and partition of a directory name; None if it is not the name of a partition directory."""
    match = _FOLDER.fullmatch(name)
    return (match["topic"], int(match["partition"])) if match else None


def future_folder_name(topic: str, partition: int, unique: str) -> str:
    """Return the name of the folder of a copy that will replace a log (LocalLog.logFutureDirName).

    `unique` are 32 hex digits. The name may be longer than FILE_NAME_LENGTH_MAX.
    """
    return f"{topic}-{partition}.{unique}{FUTURE_SUFFIX}"


def parse_future_folder_name(name: str) -> tuple[str, int] | None:
    """Return topic and partition of the folder of a copy; None if it is not the name of one."""
    match = _FUTURE.fullmatch(name)
    return parse_folder_name(match["folder"]) if match else None


class PathAttribute:
    """An attribute that is a Path. A string is kept, in a third of the memory: each segment has four of them."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = f"_{name}"

    def __get__(self, instance: object, owner: type) -> Path:
        return Path(getattr(instance, self._name))

    def __set__(self, instance: object, path: Path) -> None:
        setattr(instance, self._name, str(path))
