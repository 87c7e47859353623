"""What the client libraries are known to do, by the name that they give with ApiVersions (KIP-511).

A client without a name, such as aiokafka, may be any: nothing is said that only some clients do.
"""

from collections.abc import Iterable
from typing import Final

from coordinator.audit.schema import MemberRef

JAVA: Final = ("java",)
LIBRDKAFKA: Final = ("rdkafka", "confluent")
KAFKA_PYTHON: Final = ("kafka-python",)

POLL_INTERVAL_IN_JOIN: Final = (*JAVA, *KAFKA_PYTHON, *LIBRDKAFKA)
"""Parts of the names of clients whose JoinGroup has max.poll.interval.ms as rebalance timeout."""

JOIN_IN_POLL: Final = (*JAVA, *KAFKA_PYTHON)
"""Those that join in poll(), which returns at most max.poll.records; others join on a thread of their own."""

STICKY: Final = (*JAVA, *KAFKA_PYTHON)
"""Those that have the assignor sticky."""

MIX_PROTOCOLS: Final = JAVA
"""Those that take a cooperative assignor beside an eager one, so that a group can change over while it runs."""

COOPERATIVE_ALONE: Final = (*KAFKA_PYTHON, *LIBRDKAFKA)
"""Those that have cooperative-sticky and refuse to start with an eager assignor beside it."""

NEVER_SAY_WHY: Final = ("kafka-python", "rdkafka")
"""Parts of the names of clients that leave without a reason."""


def sends_poll_interval(member: MemberRef) -> bool:
    """Whether the rebalance timeout of this member is its max.poll.interval.ms."""
    return _is_one_of(member, POLL_INTERVAL_IN_JOIN)


def all_are(members: Iterable[MemberRef], clients: tuple[str, ...]) -> bool:
    """Whether all these members say that they are one of these clients; True of no member."""
    return all(_is_one_of(each, clients) for each in members)


def never_says_why(member: MemberRef) -> bool:
    """Whether this client is known to leave without a reason."""
    return _is_one_of(member, NEVER_SAY_WHY)


def _is_one_of(member: MemberRef, parts: tuple[str, ...]) -> bool:
    name = f"{member.client_software_name} {member.client_software_version}".lower()
    return bool(member.client_software_name) and any(part in name for part in parts)
