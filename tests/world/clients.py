"""What kinds of clients do differently: who sends heartbeats, who says why it leaves, what they call themselves."""

from typing import Final, NamedTuple


class ClientKind(NamedTuple):
    """A client library, as far as a coordinator notices it."""

    software: str
    version: str
    join_version: int
    """Of JoinGroup."""
    beats_alone: bool
    """A thread of its own sends the heartbeats; else poll() does, so that a long batch silences the member."""
    says_why: bool
    """It gives reasons (KIP-800)."""
    leaves_late: bool
    """It leaves when the application does not call poll() for max.poll.interval.ms."""
    leaves_static: bool = False
    """A static member leaves when it is closed: no library does, but some applications."""
    is_modern: bool = False
    """It speaks the protocol of KIP-848."""


KINDS: Final = {
    "java": ClientKind("apache-kafka-java", "3.7.0", 9, beats_alone=True, says_why=True, leaves_late=True),
    "librdkafka": ClientKind("librdkafka", "2.3.0", 5, beats_alone=True, says_why=False, leaves_late=True),
    "kafka-python": ClientKind("kafka-python", "2.0.2", 5, beats_alone=False, says_why=False, leaves_late=False),
    "kafkajs": ClientKind("", "", 5, beats_alone=False, says_why=False, leaves_late=False),
    "modern": ClientKind(
        "apache-kafka-java", "4.0.0", 9, beats_alone=True, says_why=False, leaves_late=True, is_modern=True
    ),
}
"""kafka-python's heartbeats come from poll() in this model, as in its old versions."""

COMPANY_ASSIGNOR: Final = "acme-balancer"
"""A cooperative assignor of a company: nobody outside knows what it does."""
COOPERATIVE: Final = frozenset({"cooperative-sticky", COMPANY_ASSIGNOR})
