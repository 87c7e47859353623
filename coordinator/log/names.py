"""Names of topics and of the folders of their partitions."""

import re

from coordinator.log.errors import InvalidTopicName

TOPIC_NAME_LENGTH_MAX = 249  # so that `<topic>-<partition>.<32 hex digits>-delete` is still a file name
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")
_FOLDER = re.compile(r"(?P<topic>[a-zA-Z0-9._-]+)-(?P<partition>0|[1-9][0-9]{0,9})")
DELETED_SUFFIX = "-delete"


def check_topic_name(topic: str) -> None:
    """Raises InvalidTopicName, saying what Kafka says."""
    if topic in ("", ".", ".."):
        raise InvalidTopicName(f"topic name {topic!r} is not allowed")
    if len(topic) > TOPIC_NAME_LENGTH_MAX:
        raise InvalidTopicName(f"topic name of {len(topic)} characters, {TOPIC_NAME_LENGTH_MAX} are allowed")
    if not _LEGAL.fullmatch(topic):
        raise InvalidTopicName(f"topic name {topic!r} holds other characters than a-z, A-Z, 0-9, '.', '_' and '-'")


def folder_name(topic: str, partition: int) -> str:
    """The folder of a partition within its data directory. Raises InvalidTopicName."""
    check_topic_name(topic)
    return f"{topic}-{partition}"


def parse_folder_name(name: str) -> tuple[str, int] | None:
    """Topic and partition of a folder; None when it is none of a partition."""
    match = _FOLDER.fullmatch(name)
    return (match["topic"], int(match["partition"])) if match else None
