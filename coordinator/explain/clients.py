"""What the client libraries are known to do, by the name that they give with ApiVersions (KIP-511).

A client without a name, such as aiokafka, may be any: nothing is said that only some clients do.
"""

import re
from collections.abc import Iterable
from enum import Enum, auto
from typing import Final

from coordinator.audit.schema import MemberRef


class Library(Enum):
    JAVA = auto()
    LIBRDKAFKA = auto()
    """And the clients built on it, such as confluent-kafka-python and confluent-kafka-javascript."""
    KAFKA_PYTHON = auto()
    OTHER = auto()


POLL_INTERVAL_IN_JOIN: Final = frozenset({Library.JAVA, Library.KAFKA_PYTHON, Library.LIBRDKAFKA})
"""Those whose JoinGroup has max.poll.interval.ms as rebalance timeout."""

JOIN_IN_POLL: Final = frozenset({Library.JAVA, Library.KAFKA_PYTHON})
"""Those that join in poll(), which returns at most max.poll.records; others join on a thread of their own."""

STICKY: Final = frozenset({Library.JAVA, Library.KAFKA_PYTHON})
"""Those that have the assignor sticky."""

MIX_PROTOCOLS: Final = frozenset({Library.JAVA})
"""Those that take a cooperative assignor beside an eager one, so that a group can change over while it runs."""

COOPERATIVE_ALONE: Final = frozenset({Library.KAFKA_PYTHON, Library.LIBRDKAFKA})
"""Those that have cooperative-sticky and refuse to start with an eager assignor beside it."""

NEVER_SAY_WHY: Final = frozenset({Library.KAFKA_PYTHON, Library.LIBRDKAFKA})
"""Those that leave without a reason."""

_NAMES: Final = (
    (Library.LIBRDKAFKA, re.compile(r"rdkafka|confluent")),  # first: confluent-kafka-python is not kafka-python
    (Library.KAFKA_PYTHON, re.compile(r"\bkafka-python\b")),
    (Library.JAVA, re.compile(r"\bjava\b")),
)


def library_of(member: MemberRef) -> Library:
    name = f"{member.client_software_name} {member.client_software_version}".lower()
    return next((library for library, pattern in _NAMES if pattern.search(name)), Library.OTHER)


def sends_poll_interval(member: MemberRef) -> bool:
    """Whether the rebalance timeout of this member is its max.poll.interval.ms."""
    return library_of(member) in POLL_INTERVAL_IN_JOIN


def all_are(members: Iterable[MemberRef], libraries: frozenset[Library]) -> bool:
    """Whether all these members say that they are one of these clients; True of no member."""
    return all(library_of(member) in libraries for member in members)


def never_says_why(member: MemberRef) -> bool:
    """Whether this client is known to leave without a reason."""
    return library_of(member) in NEVER_SAY_WHY
