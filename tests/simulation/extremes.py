"""Requests with one number at a limit: what a client may send, whatever it means by it."""

from typing import Any, Final, NamedTuple

from tests.simulation.clients import Client

INT32: Final = (0, -1, -(2**31), 2**31 - 1)
INT64: Final = (*INT32, -(2**63), 2**63 - 1)


class Field(NamedTuple):
    """A number in the message of an API, or in its partitions, and the limits of its type."""

    api: str
    version: int
    name: str
    limits: tuple[int, ...]
    of_partitions: bool = False


FIELDS: Final = (
    Field("JoinGroup", 9, "session_timeout_ms", INT32),
    Field("JoinGroup", 9, "rebalance_timeout_ms", INT32),
    Field("SyncGroup", 5, "generation_id", INT32),
    Field("Heartbeat", 4, "generation_id", INT32),
    Field("ConsumerGroupHeartbeat", 1, "member_epoch", INT32[1:]),
    Field("ConsumerGroupHeartbeat", 1, "rebalance_timeout_ms", INT32),
    Field("OffsetCommit", 8, "generation_id_or_member_epoch", INT32),
    Field("OffsetCommit", 4, "retention_time_ms", INT64),
    Field("OffsetCommit", 8, "partition_index", INT32, of_partitions=True),
    Field("OffsetCommit", 8, "committed_offset", INT64, of_partitions=True),
    Field("OffsetCommit", 8, "committed_leader_epoch", INT32, of_partitions=True),
    Field("OffsetCommit", 8, "commit_timestamp", INT64, of_partitions=True),
)
EXTREMES: Final = tuple((field, limit) for field in FIELDS for limit in field.limits)


def message_of(client: Client, api: str, commit: Any) -> Any:
    """What a good client would send; `commit` is its OffsetCommit."""
    match api:
        case "JoinGroup":
            return client.join_message()
        case "SyncGroup":
            return client.sync_message()
        case "Heartbeat":
            return client.heartbeat_message()
        case "ConsumerGroupHeartbeat":
            assert client.modern is not None
            return client.modern.steady_message()
    return commit


def set_number(message: Any, field: Field, number: int) -> None:
    if not field.of_partitions:
        setattr(message, field.name, number)
        return
    for topic in message.topics:
        for partition in topic.partitions:
            setattr(partition, field.name, number)
