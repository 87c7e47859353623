"""The fetches of steady requests: whether they can be carried out at once, and what they acquire."""

from libc.stdint cimport int32_t, int64_t

from _wire.share_frames cimport ShareFields
from coordinator.broker.share.acquisition cimport acquire_read, limits_of
from coordinator.broker.share.fetched_batches cimport FetchedBatches
from coordinator.broker.share.in_flight cimport InFlightWindow
from coordinator.broker.share.partition_core cimport SharePartitionCore
from coordinator.broker.share.steady_answers cimport AnsweredPartition, answered_partition
from coordinator.log.partition.log_end cimport LogEnd
from coordinator.log.partition.sequential_reads cimport view_on

from _wire.errors import ErrorCode
from _wire.messages.fetch import FetchPartition
from coordinator.broker.share.share_partition_parts import Phase
from coordinator.runtime.slices import at_once

cdef enum:
    PARTITIONS_MAX = 100                # of a session: the handler looks at more in several steps
    READ_AT_ONCE_BYTES = 1 << 18        # of all partitions together, as far as they know how large their records are
    READ_AGAIN_BYTES = 1 << 20          # of one whose records are larger than it knew
    MORE_AT_A_TIME = 8                  # how many times as much is read then
    GROUPS_REMEMBERED_MAX = 1000
    UNCOMMITTED = 0

cdef object ACTIVE = Phase.ACTIVE
cdef int NO_ERROR = ErrorCode.NONE
cdef int OUT_OF_RANGE = ErrorCode.OFFSET_OUT_OF_RANGE


cdef class SteadyFetch:
    """What a request fetches."""


cdef class SteadyFetches:
    def __init__(self, share_partitions, waiting, image, settings, fetch_service, int64_t max_bytes):
        self.share_partitions_by_key, self.waits = share_partitions.by_key, waiting.by_share_partition
        self.image, self.settings, self.fetch_service = image, settings, fetch_service
        self.max_bytes = max_bytes
        self.settings_by_group = {}
        self.enabled_at = -1

    cdef bint is_enabled(self) except -1:
        """Whether share groups are served: known until the metadata change."""
        cdef int64_t version = self.image.version
        if version != self.enabled_at:
            self.settings_by_group.clear()
            if not self.settings.is_enabled():
                return False
            self.enabled_at = version
        return True

    cdef object settings_of(self, str group_id):
        found = self.settings_by_group.get(group_id)
        if found is None:
            if len(self.settings_by_group) >= GROUPS_REMEMBERED_MAX:
                self.settings_by_group.clear()
            found = self.settings_by_group[group_id] = self.settings.of(group_id)
        return found

    cdef SharePartitionCore find(self, str group_id, bytes topic_id, int32_t partition):
        """A share partition that is loaded, of a partition that exists; else None."""
        topic = self.image.topics_by_id.get(topic_id)
        if topic is None or not 0 <= partition < <int32_t>topic.partitions:
            return None
        found = self.share_partitions_by_key.get((group_id, topic_id, partition))
        if found is None or (<SharePartitionCore>found).phase is not ACTIVE:
            return None
        return <SharePartitionCore>found

    cdef bint can_fetch(self, SteadyFetch request, session) except -1:
        """Whether all partitions of the session can be read at once, and there is enough; finds what is to be read.

        What the request acknowledges changes nothing of it before it is stored.
        """
        cdef const ShareFields *fields = &request.fields
        cdef int64_t max_bytes = min(<int64_t>fields.max_bytes, self.max_bytes), share_bytes, found_bytes = 0
        cdef int64_t read_bytes = 0, fetch_offset, target
        cdef list partitions
        cdef Py_ssize_t count = len(session.partitions), number
        cdef int locks_max = request.settings.record_locks_max
        cdef SharePartitionCore share_partition
        cdef bytes topic_id
        if not 0 < count <= PARTITIONS_MAX or max_bytes <= 0 or fields.max_records <= 0:
            return False
        if request.settings.is_committed:
            return False
        partitions = list(session.partitions)
        for number in range(count):
            # Each fetch of a session begins with another partition.
            topic_id, partition = <tuple>partitions[(number + fields.session_epoch) % count]
            share_partition = self.find(request.group_id, topic_id, partition)
            if share_partition is None or share_partition in self.waits:
                return False            # who waits for it comes first
            if share_partition.can_fetch(locks_max):
                available = share_partition.bytes_available(False)
                if available < 0:
                    return False
                request.fetched.append(share_partition)
                request.available_bytes.append(available)
        share_bytes = max(max_bytes // max(len(request.fetched), 1), 1)
        for share_partition, available in zip(request.fetched, request.available_bytes):
            found_bytes += min(<int64_t>available, share_bytes)
            fetch_offset = share_partition.window.next_fetch_offset()
            target = max(share_partition.window.end_offset, fetch_offset - 1) + fields.max_records
            read_bytes += min(
                <int64_t>available, share_bytes, share_partition.reading.first_bytes(target - fetch_offset + 1)
            )
        if fields.max_wait_ms > 0 and (not request.fetched or found_bytes < min(<int64_t>fields.min_bytes, max_bytes)):
            return False
        return read_bytes <= READ_AT_ONCE_BYTES

    cdef int fetch(self, SteadyFetch request, session) except -1:
        """Acquire records of the partitions that can be read, and answer those that have to be mentioned."""
        cdef int64_t max_bytes = min(<int64_t>request.fields.max_bytes, self.max_bytes), part_bytes, size_bytes = 0
        cdef int64_t left_records = request.fields.max_records
        cdef Py_ssize_t count = len(request.fetched), number
        cdef SharePartitionCore share_partition
        cdef AnsweredPartition answered
        cdef dict in_session = session.partitions
        cdef bint has_records
        for number in range(count):
            share_partition = request.fetched[number]
            _, topic_id, index = share_partition.key
            answered = answered_partition(topic_id, index)
            part_bytes = part_of(max_bytes, count, number)
            if left_records > 0 and part_bytes > 0 and request.available_bytes[number] != 0:
                left_records -= self.acquire(
                    request, share_partition, part_bytes, left_records, size_bytes == 0, answered
                )
                size_bytes += len(answered.records)
            has_records = len(answered.records) > 0
            # As `ShareSession.must_respond`: those with records come last in the next response.
            partition = (topic_id, index)
            is_new = in_session.get(partition)
            if is_new is not None and has_records:
                del in_session[partition]
            if is_new is not None:
                in_session[partition] = answered.error != NO_ERROR
            if is_new or has_records or answered.error != NO_ERROR:
                request.answers.append(answered)
        return 0

    cdef int64_t acquire(
        self, SteadyFetch request, SharePartitionCore share_partition, int64_t part_bytes, int64_t left_records,
        bint is_first, AnsweredPartition answered,
    ) except -1:
        """Acquire records of one share partition; return how many."""
        cdef InFlightWindow window = share_partition.window
        cdef int64_t fetch_offset = window.next_fetch_offset(), target, end_offset, count, size_bytes
        cdef FetchedBatches read
        cdef list acquired = []
        target = max(window.end_offset, fetch_offset - 1) + left_records
        size_bytes = min(part_bytes, share_partition.reading.first_bytes(target - fetch_offset + 1))
        while True:
            read = self.read_log(share_partition, fetch_offset, size_bytes, is_first, answered)
            if read is None:
                return 0
            end_offset = share_partition.log.log_end_offset
            if share_partition.log._flush_trigger.durable_only:
                end_offset = share_partition.log.high_watermark
            if size_bytes == part_bytes or size_bytes >= READ_AGAIN_BYTES or (
                read.last() >= min(target, end_offset - 1)
            ):
                break
            size_bytes = min(size_bytes * MORE_AT_A_TIME, part_bytes, <int64_t>READ_AGAIN_BYTES)
        if len(read.data) == 0:
            share_partition.reading.forget()
            return 0
        count = acquire_read(
            window, request.member_id, limits_of(
                <int>left_records, request.fields.batch_size, request.fields.is_record_limit,
                request.settings.delivery_count_limit, request.settings.record_locks_max,
            ), fetch_offset, read, request.now_ms + <int64_t>request.settings.lock_duration_ms, acquired,
        )
        share_partition.arm()
        share_partition.reading.was_read(fetch_offset, read, target, window.next_fetch_offset())
        if acquired:
            share_partition.current_tally().of(request.member_id).deliver(acquired)
            answered.records, answered.acquired = read.around(acquired[0][0], acquired[len(acquired) - 1][1]), acquired
        return count

    cdef FetchedBatches read_log(
        self, SharePartitionCore share_partition, int64_t offset, int64_t size_bytes, bint is_first,
        AnsweredPartition answered,
    ):
        """Read batches; None if there is an error, which is in the answer, or the log begins after the offset."""
        cdef LogEnd log = share_partition.log
        data = None
        if not log._flush_trigger.durable_only and offset >= <int64_t>log.log_start_offset:
            data = view_on(log, offset, size_bytes, log.log_end_offset)
        if data is None:
            requested = FetchPartition(
                partition=answered.partition, fetch_offset=offset, partition_max_bytes=size_bytes
            )
            found = at_once(self.fetch_service.read_log(log, requested, size_bytes, is_first, UNCOMMITTED))
            if found.error_code == OUT_OF_RANGE:
                share_partition.out_of_range()
                return None
            if found.error_code:
                answered.error = found.error_code
                return None
            data = found.records or b""
        return FetchedBatches(data)


cdef int64_t part_of(int64_t max_bytes, Py_ssize_t count, Py_ssize_t number) noexcept:
    """The bytes that a share partition may have, evenly; 1 for some of them if there are fewer."""
    if max_bytes < count:
        return 1 if number < max_bytes else 0
    return max_bytes // count + (max_bytes % count if number == 0 else 0)
