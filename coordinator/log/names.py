"""Names of topics, of the metadata log, and of the folders of partitions (org.apache.kafka.common.internals.Topic)."""

import re
from typing import Final

from coordinator.log.errors import InvalidTopicName, ReservedTopicName

TOPIC_NAME_LENGTH_MAX = 249  # so that `<topic>-<partition>.<32 hex digits>-delete` is still a file name
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")
_FOLDER = re.compile(r"(?P<topic>[a-zA-Z0-9._-]+)-(?P<partition>0|[1-9][0-9]{0,9})")
DELETED_SUFFIX = "-delete"

METADATA_LOG: Final = "__cluster_metadata"
"""The log of the metadata store. It has the layout and the place of a partition's log, but no topic may have its name:
what clients can do to topics would reach it otherwise."""


def check_topic_name(topic: str) -> None:
    """Check whether a topic may have this name.

    Raises:
        InvalidTopicName: the characters or the length are not allowed.
        ReservedTopicName: it is the name of the metadata log.
    """
    check_legal_name(topic)
    if topic == METADATA_LOG:
        raise ReservedTopicName(f"creation of internal topic {METADATA_LOG} is prohibited")


def check_legal_name(name: str) -> None:
    """Check characters and length, as Kafka's `Topic.validate` does. Raises InvalidTopicName."""
    if name in ("", ".", ".."):
        raise InvalidTopicName(f"topic name {name!r} is not allowed")
    if len(name) > TOPIC_NAME_LENGTH_MAX:
        raise InvalidTopicName(f"topic name of {len(name)} characters, {TOPIC_NAME_LENGTH_MAX} are allowed")
    if not _LEGAL.fullmatch(name):
        raise InvalidTopicName(f"topic name {name!r} holds other characters than a-z, A-Z, 0-9, '.', '_' and '-'")


def collide(one: str, other: str) -> bool:
    """Whether two topics may not exist side by side: Kafka's metric names turn '.' into '_' (Topic.hasCollision)."""
    return one.replace(".", "_") == other.replace(".", "_")


def folder_name(log: str, partition: int) -> str:
    """The folder of a partition, or of the metadata log, within its data directory. Raises InvalidTopicName."""
    check_legal_name(log)
    return f"{log}-{partition}"


def parse_folder_name(name: str) -> tuple[str, int] | None:
    """Topic and partition of a folder; None when it is none of a partition."""
    match = _FOLDER.fullmatch(name)
    return (match["topic"], int(match["partition"])) if match else None
