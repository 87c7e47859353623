"""ShareFetch and ShareAcknowledge of steady members, read where they lie and carried out without messages or steps.

A request is steady if it is one of a share session that goes on, all its partitions exist and are loaded, and a fetch
need not wait and has little to read. It does what its handler does (`node/handlers/share.py`), in the same order:
acknowledgements are begun, records are acquired, and the answer comes when what is acknowledged is stored. Anything else
is left to the handler, before anything has changed.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint8_t

from _wire.commit_frames cimport UUID_BYTES
from _wire.heartbeat_frames cimport Span, no_tags
from _wire.share_frames cimport (
    SHARE_ACKNOWLEDGE, SHARE_FETCH, ShareBatch, ShareBatches, ShareFields, ShareTopic, end_share, read_share,
    read_share_batch, read_share_partition, read_share_topic,
)
from coordinator.broker.share.acquisition cimport acquire_read, limits_of
from coordinator.broker.share.fetched_batches cimport FetchedBatches
from coordinator.broker.share.in_flight cimport InFlightWindow
from coordinator.broker.share.partition_core cimport SharePartitionCore
from coordinator.broker.share.record_counts cimport RecordCounts
from coordinator.broker.share.release cimport NOT_ACQUIRED_CODE, acknowledge_batch, complete
from coordinator.broker.share.steady_answers cimport AnsweredPartition, answer_of
from coordinator.log.partition.log_end cimport LogEnd
from coordinator.log.partition.sequential_reads cimport view_on

from _wire.errors import ErrorCode
from _wire.messages.fetch import FetchPartition
from _wire.records import CorruptBatch
from coordinator.broker.share import share_partition as share_partitions
from coordinator.broker.share.share_partition_parts import Phase
from coordinator.log.errors import OffsetOutOfRange
from coordinator.logger import logger
from coordinator.runtime.slices import at_once

cdef enum:
    MEMBER_ID_MAX = 36                  # characters
    PARTITIONS_MAX = 100                # of a session: the handler looks at more in several steps
    READ_AT_ONCE_BYTES = 1 << 18        # of all partitions together, as far as they know how large their records are
    READ_AGAIN_BYTES = 1 << 20          # of one whose records are larger than it knew
    MORE_AT_A_TIME = 8                  # how many times as much is read then
    RENEW = 4
    UNCOMMITTED = 0

cdef Py_ssize_t BATCHES_AT_ONCE = share_partitions.BATCHES_AT_ONCE
cdef Py_ssize_t RECORDS_AT_ONCE = share_partitions.RECORDS_AT_ONCE
cdef object ACTIVE = Phase.ACTIVE
cdef object NONE = ErrorCode.NONE
cdef int NO_ERROR = ErrorCode.NONE
cdef int OUT_OF_RANGE = ErrorCode.OFFSET_OUT_OF_RANGE
cdef int NOT_ACQUIRED = ErrorCode.INVALID_RECORD_STATE
cdef int NOT_ALLOWED = ErrorCode.INVALID_REQUEST
cdef int UNKNOWN = ErrorCode.UNKNOWN_SERVER_ERROR
cdef tuple CANNOT_READ = (OffsetOutOfRange, OSError, CorruptBatch)


@cython.final
cdef class SteadyShares:
    def __init__(
        self, sessions, share_partitions, waiting, image, settings, fetch_service, now_ms,
        RecordCounts total not None, int64_t max_bytes,
    ):
        self.sessions_by_member, self.share_partitions_by_key = sessions.by_member, share_partitions.by_key
        self.waits = waiting.by_share_partition
        self.image, self.settings, self.fetch_service, self.now_ms = image, settings, fetch_service, now_ms
        self.total, self.max_bytes = total, max_bytes
        self.enabled_at = -1

    cpdef SteadyShareRequest read(self, bytes frame, waiting):
        cdef SteadyShareRequest request
        cdef ShareFields fields
        cdef str group_id, member_id
        if not read_share(<const uint8_t *>PyBytes_AS_STRING(frame), PyBytes_GET_SIZE(frame), &fields):
            return None
        if not 0 < fields.member_id.size <= MEMBER_ID_MAX or not self.is_enabled():
            return None
        group_id, member_id = text_of(&fields.group_id), text_of(&fields.member_id)
        session = self.sessions_by_member.get((group_id, member_id))
        if session is None or session.epoch != fields.session_epoch:
            return None
        request = SteadyShareRequest.__new__(SteadyShareRequest)
        request.shares, request.waiting, request.frame, request.fields = self, waiting, frame, fields
        request.group_id, request.member_id, request.settings = group_id, member_id, self.settings.of(group_id)
        request.api_key, request.api_version = fields.api_key, fields.api_version
        request.acknowledged, request.fetched, request.available_bytes, request.answers = [], [], [], []
        if not self.read_acknowledgements(request, session):
            return None
        if fields.api_key == SHARE_FETCH and not self.can_fetch(request, session):
            return None
        # From here on it is carried out.
        request.now_ms, request.missing = self.now_ms(), 1
        session.count_up()
        for acknowledged in request.acknowledged:
            self.acknowledge(request, <Acknowledged>acknowledged)
        if fields.api_key == SHARE_FETCH:
            self.fetch(request, session)
        request.ended()
        request.is_queued = True
        return request

    cdef bint is_enabled(self) except -1:
        """Whether share groups are served: known until the metadata change."""
        cdef int64_t version = self.image.version
        if version != self.enabled_at:
            if not self.settings.is_enabled():
                return False
            self.enabled_at = version
        return True

    cdef SharePartitionCore find(self, str group_id, bytes topic_id, int32_t partition):
        """A share partition that is loaded, of a partition that exists; else None."""
        topic = self.image.topics_by_id.get(topic_id)
        if topic is None or not 0 <= partition < <int32_t>topic.partitions:
            return None
        found = self.share_partitions_by_key.get((group_id, topic_id, partition))
        if found is None or (<SharePartitionCore>found).phase is not ACTIVE:
            return None
        return <SharePartitionCore>found

    # ----------------------------------------------------------------------------------------------------- acknowledge

    cdef bint read_acknowledgements(self, SteadyShareRequest request, session) except -1:
        """Find what the request acknowledges; false if it names anything else, or anything is unusual."""
        cdef const ShareFields *fields = &request.fields
        cdef const uint8_t *p = fields.first_topic
        cdef const uint8_t *frame = <const uint8_t *>PyBytes_AS_STRING(request.frame)
        cdef ShareTopic topic
        cdef ShareBatches batches
        cdef Py_ssize_t batch_count = 0, type_count = 0
        cdef Acknowledged acknowledged
        cdef dict in_session = session.partitions, named = {}
        for _ in range(fields.topics):
            if not read_share_topic(&p, fields, &topic):
                return False
            topic_id = PyBytes_FromStringAndSize(<const char *>topic.topic_id, UUID_BYTES)
            for _ in range(topic.partitions):
                if not read_share_partition(&p, fields, &batches) or batches.count == 0:
                    return False
                batch_count += batches.count
                if batch_count > BATCHES_AT_ONCE or not are_valid(&batches, fields, &type_count):
                    return False
                if type_count > RECORDS_AT_ONCE:
                    return False
                partition = (topic_id, batches.partition)
                if partition in named or (fields.api_key == SHARE_FETCH and partition not in in_session):
                    return False
                acknowledged = Acknowledged.__new__(Acknowledged)
                acknowledged.share_partition = self.find(request.group_id, topic_id, batches.partition)
                if acknowledged.share_partition is None:
                    return False
                acknowledged.request, acknowledged.topic_id = request, topic_id
                acknowledged.partition, acknowledged.batch_count = batches.partition, batches.count
                acknowledged.first_batch = batches.first - frame
                named[partition] = None
                request.acknowledged.append(acknowledged)
            if not no_tags(&p, fields.end):
                return False
        if fields.api_key == SHARE_ACKNOWLEDGE and not request.acknowledged:
            return False
        return end_share(p, fields)

    cdef int acknowledge(self, SteadyShareRequest request, Acknowledged acknowledged) except -1:
        """Change the states of the records of a partition, and begin to store them."""
        cdef SharePartitionCore share_partition = acknowledged.share_partition
        cdef const uint8_t *p = <const uint8_t *>PyBytes_AS_STRING(request.frame) + acknowledged.first_batch
        cdef int limit = request.settings.delivery_count_limit, problem
        cdef ShareBatch batch
        acknowledged.changes, acknowledged.counts = [], RecordCounts()
        for _ in range(acknowledged.batch_count):
            if not read_share_batch(&p, &request.fields, &batch):
                break                   # never: it was read before
            problem = acknowledge_batch(
                share_partition.window, request.member_id, batch.first_offset, batch.last_offset, batch.types,
                batch.type_count, acknowledged.changes, limit, None, acknowledged.counts,
            )
            if problem:
                if problem == NOT_ACQUIRED_CODE:
                    share_partition.current_tally().of(request.member_id).late += 1
                complete(share_partition.window, acknowledged.changes, False, request.now_ms, limit)
                share_partition.arm()
                acknowledged.error = NOT_ACQUIRED if problem == NOT_ACQUIRED_CODE else NOT_ALLOWED
                return 0
        share_partition.arm()
        request.missing += 1
        if 0 < len(acknowledged.changes) <= RECORDS_AT_ONCE:
            share_partition.write_or_wait(acknowledged.changes, acknowledged)
        else:
            share_partition.store(
                acknowledged.changes, acknowledged.completed, (request.member_id, acknowledged.counts)
            )
        # Before it is stored, as on Kafka: a release alone wakes nobody.
        self.wake(share_partition)
        return 0

    cdef int wake(self, SharePartitionCore share_partition) except -1:
        if share_partition in self.waits:
            share_partition.waiting.wake(share_partition)
        return 0

    # ----------------------------------------------------------------------------------------------------------- fetch

    cdef bint can_fetch(self, SteadyShareRequest request, session) except -1:
        """Whether all partitions of the session can be read at once, and there is enough; finds what is to be read.

        What the request acknowledges changes nothing of it before it is stored.
        """
        cdef const ShareFields *fields = &request.fields
        cdef int64_t max_bytes = min(<int64_t>fields.max_bytes, self.max_bytes), share_bytes, found_bytes = 0
        cdef int64_t read_bytes = 0, fetch_offset, target
        cdef list partitions = list(session.partitions)
        cdef Py_ssize_t count = len(partitions), number
        cdef int locks_max = request.settings.record_locks_max
        cdef SharePartitionCore share_partition
        cdef bytes topic_id
        if not 0 < count <= PARTITIONS_MAX or max_bytes <= 0 or fields.max_records <= 0:
            return False
        if request.settings.is_committed:
            return False
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

    cdef int fetch(self, SteadyShareRequest request, session) except -1:
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
        self, SteadyShareRequest request, SharePartitionCore share_partition, int64_t part_bytes, int64_t left_records,
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
            requested = FetchPartition(partition=answered.partition, fetch_offset=offset, partition_max_bytes=size_bytes)
            found = at_once(self.fetch_service.read_log(log, requested, size_bytes, is_first, UNCOMMITTED))
            if found.error_code == OUT_OF_RANGE:
                share_partition.out_of_range()
                return None
            if found.error_code:
                answered.error = found.error_code
                return None
            data = found.records or b""
        return FetchedBatches(data)


@cython.final
cdef class SteadyShareRequest:
    """A request whose acknowledgements are being stored, or that is answered already."""

    cdef int ended(self) except -1:
        """Something is done that the answer waits for."""
        self.missing -= 1
        if not self.missing:
            self.make_answer()
            if self.is_queued:
                self.waiting.send_frame(self.answer)
        return 0

    cdef int make_answer(self) except -1:
        cdef AnsweredPartition answered
        cdef Acknowledged acknowledged
        cdef dict by_partition
        if self.api_key == SHARE_FETCH:
            by_partition = {(answered.topic_id, answered.partition): answered for answered in self.answers}
        else:
            by_partition = {}
        for acknowledged in self.acknowledged:
            answered = <AnsweredPartition>by_partition.get((acknowledged.topic_id, acknowledged.partition))
            if answered is None:
                answered = answered_partition(acknowledged.topic_id, acknowledged.partition)
                self.answers.append(answered)
            if self.api_key == SHARE_FETCH:
                answered.acknowledge_error = acknowledged.error
            else:
                answered.error = acknowledged.error
        self.error_codes = [answered.error for answered in self.answers] or [NO_ERROR]
        self.answer = answer_of(&self.fields, self.answers, self.settings.lock_duration_ms)
        return 0


@cython.final
cdef class Acknowledged:
    def __call__(self, answer):
        """What the share coordinator answers. `SharePartition.answered` does the same in general."""
        cdef SharePartitionCore share_partition = self.share_partition
        cdef SteadyShareRequest request = self.request
        if answer is not NONE:
            share_partition.answered(self.changes, self.completed, (request.member_id, self.counts), answer)
            return
        try:
            complete(
                share_partition.window, self.changes, True, request.shares.now_ms(),
                request.settings.delivery_count_limit,
            )
            if share_partition.phase is ACTIVE:
                share_partition.arm()
                if share_partition.window.advance():
                    request.shares.wake(share_partition)
            (<RecordCounts>share_partition.current_tally().of(request.member_id)).add(self.counts)
            request.shares.total.add(self.counts)
        except Exception as problem:
            logger.error("unhandled exception while a share partition is stored", problem=repr(problem))
            self.error = UNKNOWN
        request.ended()

    def completed(self, error):
        self.error = error
        self.request.ended()


cdef str text_of(const Span *span):
    return (<const char *>span.data)[:span.size].decode("ascii")


cdef AnsweredPartition answered_partition(bytes topic_id, int32_t partition):
    cdef AnsweredPartition answered = AnsweredPartition.__new__(AnsweredPartition)
    answered.topic_id, answered.partition, answered.records, answered.acquired = topic_id, partition, b"", []
    return answered


cdef bint are_valid(const ShareBatches *batches, const ShareFields *fields, Py_ssize_t *type_count) noexcept:
    """Whether the batches can be right, whatever is acquired. Counts their types, where each record has its own."""
    cdef const uint8_t *p = batches.first
    cdef ShareBatch batch
    cdef int64_t previous_last = -1
    cdef int32_t number, position
    for number in range(batches.count):
        if not read_share_batch(&p, fields, &batch) or batch.type_count == 0:
            return False
        if batch.first_offset > batch.last_offset or batch.first_offset < max(previous_last, 0):
            return False
        if batch.type_count > 1 and batch.type_count != batch.last_offset - batch.first_offset + 1:
            return False
        for position in range(batch.type_count):
            if not 0 <= batch.types[position] < RENEW:
                return False
        previous_last = batch.last_offset
        type_count[0] += batch.type_count
    return True


cdef int64_t part_of(int64_t max_bytes, Py_ssize_t count, Py_ssize_t number) noexcept:
    """The bytes that a share partition may have, evenly; 1 for some of them if there are fewer."""
    if max_bytes < count:
        return 1 if number < max_bytes else 0
    return max_bytes // count + (max_bytes % count if number == 0 else 0)
