"""Counts the partitions that a request creates or deletes against the quota of its client (KIP-599)."""

from collections.abc import Callable

from _wire.errors import ErrorCode
from coordinator.broker.topics import TopicError
from coordinator.front.request_context import RequestContext


def mutation_counter(call: RequestContext, strict_since: int) -> Callable[[int], None]:
    """Return what is called with the number of partitions before they are created or deleted.

    From the version `strict_since` on, clients know THROTTLING_QUOTA_EXCEEDED: then it raises TopicError while the
    quota is exceeded. Older clients get what they ask for, and are throttled.
    """
    charge = call.connection.charge
    if charge is None:
        return _uncounted

    def count(partitions: int) -> None:
        if not charge.count_mutations(call.api_version >= strict_since, partitions):
            raise TopicError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, "")

    return count


def _uncounted(partitions: int) -> None:
    """There are no quotas."""
