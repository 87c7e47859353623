"""ShareFetch: acquires records of share partitions, at once or when there are enough.

Counterpart in Kafka: `DelayedShareFetch` and `ShareFetchUtils`.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

import msgspec

from _wire.errors import ErrorCode
from _wire.messages.fetch import FetchPartition
from _wire.messages.fetch import PartitionData as ReadData
from _wire.messages.share_fetch import AcquiredRecords, PartitionData
from coordinator.broker.data.fetch import FetchService
from coordinator.broker.data.list_offsets import READ_COMMITTED
from coordinator.broker.share.fetched_batches import FetchedBatches
from coordinator.broker.share.sessions import TopicIdPartition
from coordinator.broker.share.settings import RecordSettings
from coordinator.broker.share.share_partition import SharePartition
from coordinator.broker.share.share_partition_parts import ShareKey
from coordinator.broker.share.share_partitions import SharePartitions
from coordinator.broker.share.waiting import WaitingFetch, WaitingFetches
from coordinator.metadata.image import MetadataImage
from coordinator.runtime.slices import Steps, awaited

OPENED_AT_ONCE: Final = 100
"""Share partitions that are found in one step."""
MORE_AT_A_TIME: Final = 8
"""How many times as much is read if a first read had too few records."""
RECORD_LIMIT: Final = 1
"""`share_acquire_mode`: as many records as asked for, rather than whole batches."""


class ShareFetchTerms(msgspec.Struct, frozen=True, kw_only=True):
    """What one request asks for."""

    group_id: str
    member_id: str
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    max_records: int
    batch_size: int
    is_record_limit: bool


class ShareFetchService:
    """Fetches for members of share groups."""

    def __init__(
        self,
        image: MetadataImage,
        share_partitions: SharePartitions,
        waiting: WaitingFetches,
        fetch_service: FetchService,
        *,
        max_bytes: int,
    ) -> None:
        """A response has at most `max_bytes` of records, also if the client requests more (`fetch.max.bytes`)."""
        self._image = image
        self._share_partitions = share_partitions
        self._waiting = waiting
        self._fetch_service = fetch_service
        self._max_bytes = max_bytes

    def fetch(
        self, terms: ShareFetchTerms, partitions: Sequence[TopicIdPartition], now_ms: int
    ) -> Steps[dict[TopicIdPartition, PartitionData]]:
        """Acquire records of these partitions, in this order; wait for `min_bytes`, `max_wait_ms` at most.

        A partition that is still being loaded, or that another fetch reads, is not in the result.
        """
        found: dict[TopicIdPartition, PartitionData] = {}
        share_partitions = yield from self._open(terms.group_id, partitions, found)
        max_bytes = min(terms.max_bytes, self._max_bytes)
        if share_partitions and max_bytes > 0 and terms.max_records > 0:
            fetch = WaitingFetch(
                share_partitions, min(terms.min_bytes, max_bytes), max_bytes, now_ms + max(terms.max_wait_ms, 0)
            )
            if terms.max_wait_ms > 0 and not (yield from fetch.is_ready()):
                yield from self._wait(fetch)
            yield from self._read(terms, share_partitions, max_bytes, found)
        return found

    def _open(
        self, group_id: str, partitions: Sequence[TopicIdPartition], found: dict[TopicIdPartition, PartitionData]
    ) -> Steps[list[SharePartition]]:
        opened = []
        is_committed = self._share_partitions.settings_of(group_id).is_committed
        for number, (topic_id, index) in enumerate(partitions, 1):
            topic = self._image.topics_by_id.get(topic_id)
            if topic is None:
                found[topic_id, index] = failed_partition(index, ErrorCode.UNKNOWN_TOPIC_ID)
                continue
            share_partition = self._share_partitions.open(ShareKey(group_id, topic_id, index), topic.name)
            if isinstance(share_partition, SharePartition):
                opened.append(share_partition)
                if is_committed and share_partition.log.open_transactions is None:
                    # Otherwise nobody could say how much of it is committed.
                    yield from self._fetch_service.read_transactions(share_partition.log)
            elif share_partition is not None:
                found[topic_id, index] = failed_partition(index, share_partition)
            if number % OPENED_AT_ONCE == 0:
                yield
        return opened

    def _wait(self, fetch: WaitingFetch) -> Steps[None]:
        """Wait until there is enough for the fetch, or its time is over."""
        waiting = self._waiting
        try:
            yield from waiting.add(fetch)
            is_over = False
            while not is_over:
                fetch.must_look_again = False
                if (yield from fetch.is_ready()):
                    break
                if not fetch.must_look_again:
                    is_over = yield from awaited(partial(waiting.start, fetch), is_urgent=True)
        finally:
            waiting.remove(fetch)

    def _read(
        self,
        terms: ShareFetchTerms,
        share_partitions: Sequence[SharePartition],
        max_bytes: int,
        found: dict[TopicIdPartition, PartitionData],
    ) -> Steps[None]:
        """Read what may be acquired of each share partition, and acquire it."""
        reading: list[SharePartition] = []
        size_bytes, left_records = 0, terms.max_records
        settings = share_partitions[0].settings
        try:
            for number, share_partition in enumerate(share_partitions, 1):
                if share_partition.can_be_fetched(settings):
                    share_partition.is_fetching = True
                    reading.append(share_partition)
                elif share_partition.load_error:
                    _, topic_id, index = share_partition.key
                    found[topic_id, index] = failed_partition(index, share_partition.load_error)
                if number % OPENED_AT_ONCE == 0:
                    yield
            shares = zip(reading, shared_out(max_bytes, len(reading)), strict=True)
            for number, (share_partition, part_bytes) in enumerate(shares, 1):
                if number % OPENED_AT_ONCE == 0:
                    yield
                _, topic_id, index = share_partition.key
                answer = found[topic_id, index] = PartitionData(partition_index=index, records=b"")
                if left_records > 0 and part_bytes > 0 and share_partition.available_bytes(settings) != 0:
                    left_records -= yield from self._acquire(
                        terms, settings, share_partition, (part_bytes, left_records), size_bytes, answer
                    )
                    size_bytes += len(answer.records or b"")
        finally:
            for share_partition in reading:
                share_partition.is_fetching = False
            self._waiting.wake_all(reading)

    def _acquire(
        self,
        terms: ShareFetchTerms,
        settings: RecordSettings,
        share_partition: SharePartition,
        most: tuple[int, int],
        held_bytes: int,
        answer: PartitionData,
    ) -> Steps[int]:
        """Acquire records of one share partition; return how many. `most` are bytes and records."""
        fetch_offset, is_committed = share_partition.window.next_fetch_offset(), settings.is_committed
        left_records = most[1]
        target = max(share_partition.window.end_offset, fetch_offset - 1) + left_records
        offsets = fetch_offset, target
        data, read = yield from self._read_enough(share_partition, offsets, most[0], held_bytes, is_committed)
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            share_partition.out_of_range()
        elif data.error_code != ErrorCode.NONE:
            answer.error_code = data.error_code
        elif data.records:
            limits = left_records, terms.batch_size, terms.is_record_limit
            acquired, count = share_partition.acquire(
                terms.member_id,
                settings,
                limits,
                fetch_offset,
                read,
                read.aborted(_aborted_of(data)) if is_committed else (),
            )
            share_partition.was_read(fetch_offset, read, target)
            if acquired:
                answer.records = read.around(acquired[0][0], acquired[-1][1])
                answer.acquired_records = [
                    AcquiredRecords(first_offset=first, last_offset=last, delivery_count=deliveries)
                    for first, last, deliveries in acquired
                ]
            return count
        else:
            share_partition.reading.forget()
        return 0

    def _read_enough(
        self,
        share_partition: SharePartition,
        offsets: tuple[int, int],
        most_bytes: int,
        held_bytes: int,
        is_committed: bool,
    ) -> Steps[tuple[ReadData, FetchedBatches]]:
        """Read up to so many bytes, but no more than has the records from the first of `offsets` to the second."""
        fetch_offset, target = offsets
        log = share_partition.log
        size_bytes = min(most_bytes, share_partition.reading.first_bytes(target - fetch_offset + 1))
        while True:
            yield held_bytes + size_bytes
            requested = FetchPartition(
                partition=share_partition.key.partition, fetch_offset=fetch_offset, partition_max_bytes=size_bytes
            )
            data = yield from self._fetch_service.read_log(
                log, requested, size_bytes, held_bytes == 0, READ_COMMITTED if is_committed else 0
            )
            read = FetchedBatches(data.records or b"")
            end_offset = data.last_stable_offset if is_committed else data.high_watermark
            if data.error_code or size_bytes == most_bytes or read.last_offset >= min(target, end_offset - 1):
                return data, read
            size_bytes = min(size_bytes * MORE_AT_A_TIME, most_bytes)


def _aborted_of(data: ReadData) -> list[tuple[int, int]]:
    return [(transaction.producer_id, transaction.first_offset) for transaction in data.aborted_transactions or ()]


def shared_out(max_bytes: int, count: int) -> list[int]:
    """The bytes that each of the share partitions may have, evenly; 1 for some of them if there are fewer."""
    if not count:
        return []
    if max_bytes < count:
        return [1] * max_bytes + [0] * (count - max_bytes)
    share_bytes, left_bytes = divmod(max_bytes, count)
    return [share_bytes + left_bytes] + [share_bytes] * (count - 1)


def failed_partition(index: int, error: int) -> PartitionData:
    """A partition of which nothing is fetched."""
    return PartitionData(partition_index=index, error_code=error, records=b"")
