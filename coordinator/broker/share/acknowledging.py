"""Acknowledgements of a request: checked, applied to each share partition, stored together.

Counterpart in Kafka: `handleAcknowledgements` of `KafkaApis`.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

from _wire.errors import ErrorCode
from coordinator.broker.share.record_counts import RecordCounts
from coordinator.broker.share.sessions import TopicIdPartition
from coordinator.broker.share.share_partition import BATCHES_AT_ONCE
from coordinator.broker.share.share_partition_parts import ShareKey
from coordinator.broker.share.share_partitions import SharePartitions
from coordinator.runtime.slices import Steps

RENEW: Final = 4
ELSEWHERE: Final = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})
"""Errors with which a response says who leads the partition."""


class Acknowledgements:
    """The acknowledgements of one request: errors by partition, which are complete when all is stored."""

    def __init__(self) -> None:
        self.errors: dict[TopicIdPartition, ErrorCode] = {}
        self._missing = 1
        """What is being stored, and one until everything is begun."""
        self._done: Callable[[None], None] | None = None

    def begin(self) -> None:
        self._missing += 1

    def end(self, partition: TopicIdPartition, error: ErrorCode) -> None:
        self.errors[partition] = error
        self.ended()

    def ended(self) -> None:
        self._missing -= 1
        if not self._missing and self._done is not None:
            self._done(None)

    def when_done(self, done: Callable[[None], None]) -> None:
        """Call `done` when all is stored, perhaps at once."""
        if self._missing:
            self._done = done
        else:
            done(None)


def acknowledge_partitions(
    share_partitions: SharePartitions,
    group_id: str,
    member_id: str,
    batches_of: Iterable[tuple[TopicIdPartition, list[Any]]],
    error_of: Callable[[TopicIdPartition], ErrorCode],
    *,
    type_max: int,
    may_renew: bool,
) -> Steps[Acknowledgements]:
    """Acknowledge the batches of each partition; `error_of` says which of them may not be.

    It ends when everything is begun: `when_done` of the result says when it is stored.
    """
    result = Acknowledgements()
    is_asked = False
    without_batches = []
    for partition, batches in batches_of:
        error = error_of(partition)
        if error is not ErrorCode.UNKNOWN_TOPIC_ID:
            problem = yield from _problem_of(batches, type_max, may_renew)
            error = error if problem is ErrorCode.NONE else problem
        if error is not ErrorCode.NONE:
            result.errors[partition] = error
        elif not batches:
            without_batches.append(partition)
        else:
            is_asked = True
            yield from _acknowledge_one(share_partitions, ShareKey(group_id, *partition), member_id, batches, result)
        yield
    if is_asked:
        # As on Kafka: partitions without batches are mentioned beside others that have some.
        for partition in without_batches:
            result.errors.setdefault(partition, ErrorCode.NONE)
    result.ended()
    return result


def _acknowledge_one(
    share_partitions: SharePartitions, key: ShareKey, member_id: str, batches: list[Any], result: Acknowledgements
) -> Steps[None]:
    partition = key.topic_id, key.partition
    share_partition = share_partitions.get(key)
    if share_partition is None:
        result.errors[partition] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return
    counts = RecordCounts()
    changes = yield from share_partition.acknowledge(member_id, batches, counts)
    if isinstance(changes, ErrorCode):
        result.errors[partition] = changes
    else:
        result.begin()
        share_partition.store(changes, partial(result.end, partition), (member_id, counts))
        # Before it is stored, as on Kafka: a release alone wakes nobody.
        share_partition.waiting.wake(share_partition)


def _problem_of(batches: list[Any], type_max: int, may_renew: bool) -> Steps[ErrorCode]:
    """INVALID_REQUEST for batches that cannot be right, whatever is acquired."""
    previous_last = -1
    for number, batch in enumerate(batches, 1):
        first, last, types = batch.first_offset, batch.last_offset, batch.acknowledge_types
        if first > last or first < previous_last or not types:
            return ErrorCode.INVALID_REQUEST
        if len(types) > 1 and len(types) != last - first + 1:
            return ErrorCode.INVALID_REQUEST
        if min(types) < 0 or max(types) > type_max or (RENEW in types and not may_renew):
            return ErrorCode.INVALID_REQUEST
        previous_last = last
        if number % BATCHES_AT_ONCE == 0:
            yield
    return ErrorCode.NONE
