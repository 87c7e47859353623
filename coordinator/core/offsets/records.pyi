from collections.abc import Callable, Iterable, Mapping

from _wire.messages.offset_commit import (
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from _wire.messages.offset_delete import OffsetDeleteRequestPartition, OffsetDeleteResponsePartition
from _wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponseTopics,
)
from _wire.messages.txn_offset_commit import TxnOffsetCommitRequestTopic, TxnOffsetCommitResponseTopic

class CommittedOffset:
    """A group's position in a partition. `expire_timestamp_ms` only for commits with a retention time (v2 to v4)."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    topic_id: bytes | None
    """The id (16 bytes) that the topic had; None: it is not known, as of commits of transactions. It is no part of
    comparisons."""
    def __init__(
        self,
        offset: int,
        leader_epoch: int,
        metadata: str,
        commit_timestamp_ms: int,
        expire_timestamp_ms: int | None = None,
        topic_id: bytes | None = None,
    ) -> None: ...
    @property
    def expire_timestamp_ms(self) -> int | None: ...

def is_metadata_too_long(metadata: str, length_max: int) -> bool:
    """Whether the text has more than `length_max` UTF-16 code units: Java counts `offset.metadata.max.bytes` so."""

def accept_offsets(
    topics: list[OffsetCommitRequestTopic],
    now_ms: int,
    expire_timestamp_ms: int | None,
    metadata_length_max: int,
    committed_before: dict[str, dict[int, CommittedOffset]],
    topic_id_of: Callable[[str], bytes] | None = None,
) -> tuple[dict[str, dict[int, CommittedOffset]], list[OffsetCommitResponseTopic], bool]:
    """What an OffsetCommit asks for (topic → partition → position), and the answers, partition by partition.

    `topic_id_of` gives the id of a topic, all zero if it is not known, by its name; None: no id is known.
    The last value: whether one of the offsets is smaller than the committed one; `committed_before` has all of the
    group.
    OFFSET_METADATA_TOO_LARGE for a partition whose metadata has more than `metadata_length_max` UTF-16 code units.
    """

def accept_transactional_offsets(
    topics: list[TxnOffsetCommitRequestTopic], now_ms: int, metadata_length_max: int
) -> tuple[dict[str, dict[int, CommittedOffset]], list[TxnOffsetCommitResponseTopic]]:
    """As `accept_offsets`, of a TxnOffsetCommit."""

def offset_records(
    group_id: str, positions: Mapping[str, Mapping[int, CommittedOffset]]
) -> list[tuple[bytes, bytes | None]]:
    """Key and value of the record of `__consumer_offsets` for each position."""

def offset_tombstones(group_id: str, partitions: Iterable[tuple[str, int]]) -> list[tuple[bytes, bytes | None]]:
    """The records that delete the offsets of these partitions (topic, index)."""

def is_offset_key(key: bytes) -> bool:
    """Whether it is the key of a committed offset.

    Raises:
        MalformedMessage: it has no record type.
    """

def read_offset_record(key: bytes, value: bytes | None) -> tuple[str, str, int, CommittedOffset | None]:
    """Group id, topic, partition and committed offset of a record of any version; None: the offset was deleted.

    Raises:
        MalformedMessage: it is no record of a committed offset.
    """

def only_group(request: OffsetFetchRequest) -> OffsetFetchRequestGroup:
    """What an OffsetFetch before v8, which is about one group, asks for, as newer ones name it."""

def asks_for_few(request: OffsetFetchRequest, topics_max: int, partitions_max: int) -> bool:
    """Whether an OffsetFetch of one group asks for no more topics and partitions, each by name."""

def find_offsets(
    by_topic: dict[str, dict[int, CommittedOffset]], topics: list[OffsetFetchRequestTopics], of_nameless: int = 0
) -> list[OffsetFetchResponseTopics]:
    """What OffsetFetch answers for these partitions: offset -1 where nothing is committed.

    `of_nameless` is the error of topics without a name, whose id no topic has.
    """

def are_partitions(asked: list[OffsetCommitRequestPartition], count: int) -> bool:
    """Whether all of them are partitions of a topic that has `count`."""

def split_partitions(
    asked: list[OffsetCommitRequestPartition], count: int, error_code: int
) -> tuple[list[OffsetCommitRequestPartition], list[OffsetCommitResponsePartition]]:
    """Those that are partitions of a topic that has `count`, and the answers to the others."""

def deletion_indexes(asked: list[OffsetDeleteRequestPartition], count: int) -> tuple[list[int], list[int]]:
    """The indexes of partitions of a topic that has `count`, and the others."""

def deletion_answers(indexes: list[int], error_code: int) -> list[OffsetDeleteResponsePartition]:
    """The answers to an OffsetDelete of these partitions."""
