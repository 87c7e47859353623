"""Why the offsets of a group cannot be looked at: which right is missing, as Kafka names it."""

from collections.abc import Iterable, Sequence
from typing import Final

from _wire.errors import ErrorCode
from coordinator.client.groups import ErrorAnswer
from coordinator.client.wire import ClientError
from coordinator.printable import printable

TOPICS_NAMED: Final = 3
NOT_LOOKED_AT: Final = "what its offsets say is not looked at"


def why_hidden(problem: ClientError, group_id: str) -> str:
    """A clause about a group that could not be described."""
    if isinstance(problem, ErrorAnswer) and problem.error == ErrorCode.GROUP_AUTHORIZATION_FAILED:
        return f"{NOT_LOOKED_AT}: the right to DESCRIBE the group {printable(group_id)} is missing"
    if isinstance(problem, ErrorAnswer) and problem.error == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        return f"{NOT_LOOKED_AT}: the right to DESCRIBE the cluster is missing"
    return f"{NOT_LOOKED_AT}: {problem}"


def hidden_topics(topics: Sequence[str]) -> Iterable[str]:
    """A clause about topics of a group that may not be looked at; none if there are none."""
    if topics:
        named = ", ".join(printable(topic) for topic in topics[:TOPICS_NAMED])
        more = f" and {len(topics) - TOPICS_NAMED:,} more" if len(topics) > TOPICS_NAMED else ""
        what = "topic" if len(topics) == 1 else "topics"
        yield f"the offsets in {named}{more} are not looked at: the right to DESCRIBE the {what} is missing"
