"""Which names a topic may have (org.apache.kafka.common.internals.Topic)."""

import re
from typing import Final

TOPIC_NAME_LENGTH_MAX: Final = 249
_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+")


def illegal_reason(name: str) -> str:
    """Why no topic may have this name, as Kafka's `Topic.validate` checks it; empty: one may."""
    if name in ("", ".", ".."):
        return f"topic name {name!r} is not allowed"
    if len(name) > TOPIC_NAME_LENGTH_MAX:
        return f"topic name has {len(name)} characters, but at most {TOPIC_NAME_LENGTH_MAX} are allowed"
    if not _LEGAL.fullmatch(name):
        return f"topic name {name!r} contains characters other than a-z, A-Z, 0-9, '.', '_' and '-'"
    return ""
