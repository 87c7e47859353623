"""What keeps records, or the present, of a Kafka from being read: in one line what is missing, and what to give."""

from typing import Final

from _wire.errors import ErrorCode
from coordinator.client.wire import ClientError
from coordinator.internal_topics import OFFSETS_TOPIC
from coordinator.printable import printable

READ_OFFSETS: Final = f"READ on topic {OFFSETS_TOPIC}"
DESCRIBE_CLUSTER: Final = "DESCRIBE on the cluster"


class CannotObserve(ClientError):
    """Something cannot be seen, while other sources may tell. `give` is what makes it visible, None if nothing does."""

    give: str | None = None


class NoOffsetsTopic(CannotObserve):
    """The cluster has no `__consumer_offsets`, or hides it as a service may."""

    def __init__(self, server: object) -> None:
        super().__init__(
            f"{server} has no topic {OFFSETS_TOPIC}: it has had no group yet, or is a service that hides the topic"
        )


class NoRight(CannotObserve):
    """A right is missing; `give` names it."""

    def __init__(self, server: object, give: str, what: str) -> None:
        super().__init__(f"{what}: {server} has to grant this client {give}")
        self.give = give


class MayNotReadOffsets(NoRight):
    def __init__(self, server: object) -> None:
        super().__init__(server, READ_OFFSETS, "cannot read the records of groups")


class MayNotDescribeGroup(NoRight):
    def __init__(self, server: object, group_id: str) -> None:
        super().__init__(
            server, f"DESCRIBE on group {printable(group_id)}", f"cannot describe group {printable(group_id)}"
        )


class MayNotDescribeCluster(NoRight):
    def __init__(self, server: object) -> None:
        super().__init__(server, DESCRIBE_CLUSTER, "cannot ask the cluster")


class OffsetsUnavailable(CannotObserve):
    """`__consumer_offsets`, or a partition of it, has had no leader that answers for some time."""

    def __init__(self, partition: int | None, why: str) -> None:
        name = OFFSETS_TOPIC if partition is None else f"{OFFSETS_TOPIC}-{partition}"
        super().__init__(f"cannot read {name}: {why}; retry later")


TRANSIENT: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)
"""Errors of a partition that was there: its leader changes, or its broker is in trouble. Asked again, it may answer."""
