"""A line of a broker, without what other programs put around it: its time, its message, its logger.

Kafka's own pattern is `[%d] %p %m (%c)`, Strimzi's has no brackets and a thread after the logger.
"""

import re
from typing import Final

HEAD: Final = re.compile(
    r"\[?(?P<day>\d{4}-\d\d-\d\d)[ T](?P<clock>\d\d:\d\d:\d\d)(?:[.,](?P<fraction>\d{1,9}))?"
    r" ?(?P<zone>Z|[+-]\d\d:?\d\d)?\]?[ \t]+(?:\[(?!\d{4}-)[^\]]*\][ \t]+)?"
    r"\[?(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\]?:?[ \t]+"
)
LOGGER: Final = r"\((?P<logger>(?:[A-Za-z_$][\w$]*\.)+[\w$]+|Group\w+\$?|CoordinatorRuntime|ClassicGroup)\)"
TAIL: Final = re.compile(rf"{LOGGER}(?: \[[^\]\n]*\])?\s*\Z")
INNER_LOGGER: Final = re.compile(r" \((?:kafka|org\.apache\.kafka)\.[\w.$]+\)")
COORDINATORS: Final = (
    "GroupCoordinator",
    "GroupMetadataManager",
    "GroupMetadata",
    "GroupMetadata$",
    "GroupCoordinatorShard",
    "GroupCoordinatorService",
    "OffsetMetadataManager",
    "CoordinatorRuntime",
    "ClassicGroup",
)
"""Last names of the loggers whose lines are read."""


def is_coordinator(logger: str) -> bool:
    return logger.rpartition(".")[2] in COORDINATORS


def split_logger(text: str) -> tuple[str, str | None]:
    """The text before the logger at its end, and the logger."""
    at = text.rfind("(")
    match = None if at < 0 else TAIL.match(text, at)
    if match is None:
        return text, None
    return text[: at - 1 if text[at - 1 : at] == " " else at], match.group("logger")
