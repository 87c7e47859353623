"""What the client libraries are known to do, by the name that they give with ApiVersions (KIP-511).

A client without a name, such as aiokafka, may be any: nothing is said that only some clients do.
"""

from collections.abc import Iterable
from typing import Final

from coordinator.audit.schema import MemberRef

POLL_INTERVAL_IN_JOIN: Final = ("java", "kafka-python", "rdkafka", "confluent")
"""Parts of the names of clients whose JoinGroup has max.poll.interval.ms as rebalance timeout."""

COOPERATIVE: Final = (*POLL_INTERVAL_IN_JOIN, "kgo")
"""Parts of the names of clients that have the assignor cooperative-sticky."""

NEVER_SAY_WHY: Final = ("kafka-python", "rdkafka")
"""Parts of the names of clients that leave without a reason."""


def sends_poll_interval(member: MemberRef) -> bool:
    """Whether the rebalance timeout of this member is its max.poll.interval.ms."""
    return _is_one_of(member, POLL_INTERVAL_IN_JOIN)


def can_cooperate(members: Iterable[MemberRef]) -> bool:
    """Whether all these clients are known to have the assignor cooperative-sticky."""
    return all(_is_one_of(each, COOPERATIVE) for each in members)


def never_says_why(member: MemberRef) -> bool:
    """Whether this client is known to leave without a reason."""
    return _is_one_of(member, NEVER_SAY_WHY)


def _is_one_of(member: MemberRef, parts: tuple[str, ...]) -> bool:
    name = f"{member.client_software_name} {member.client_software_version}".lower()
    return bool(member.client_software_name) and any(part in name for part in parts)
