"""ShareFetch and ShareAcknowledge of steady members, read where they lie and carried out without messages or steps.

A request is steady if it is one of a share session that goes on, all its partitions exist and are loaded, and a fetch
need not wait and has little to read. It does what its handler does (`node/handlers/share.py`), in the same order:
acknowledgements are begun, records are acquired, and the answer comes when what is acknowledged is stored. Anything
else is left to the handler, before anything has changed.
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
from coordinator.broker.share.partition_core cimport SharePartitionCore
from coordinator.broker.share.record_counts cimport RecordCounts
from coordinator.broker.share.release cimport NOT_ACQUIRED_CODE, acknowledge_batch, complete
from coordinator.broker.share.steady_answers cimport (
    AnsweredPartition, answer_of, answered_partition, is_elsewhere, node_endpoint,
)
from coordinator.broker.share.steady_fetches cimport SteadyFetch, SteadyFetches

from _wire.errors import ErrorCode
from coordinator.broker.share.share_partition import BATCHES_AT_ONCE as BATCHES_LIMIT, RECORDS_AT_ONCE as RECORDS_LIMIT
from coordinator.broker.share.share_partition_parts import Phase
from coordinator.logger import logger

cdef enum:
    MEMBER_ID_MAX = 36                  # characters
    RENEW = 4

cdef Py_ssize_t BATCHES_AT_ONCE = BATCHES_LIMIT
cdef Py_ssize_t RECORDS_AT_ONCE = RECORDS_LIMIT
cdef object ACTIVE = Phase.ACTIVE
cdef object NONE = ErrorCode.NONE
cdef int NO_ERROR = ErrorCode.NONE
cdef int NOT_ACQUIRED = ErrorCode.INVALID_RECORD_STATE
cdef int NOT_ALLOWED = ErrorCode.INVALID_REQUEST
cdef int UNKNOWN = ErrorCode.UNKNOWN_SERVER_ERROR


@cython.final
cdef class SteadyShares(SteadyFetches):
    def __init__(
        self, sessions, share_partitions, waiting, image, settings, fetch_service,
        RecordCounts total not None, *, int32_t node_id, int64_t max_bytes, int64_t elements_max,
    ):
        SteadyFetches.__init__(self, share_partitions, waiting, image, settings, fetch_service, max_bytes)
        self.sessions_by_member, self.total, self.elements_max = sessions.by_member, total, elements_max
        self.node_id = node_id

    cpdef SteadyShareRequest read(self, bytes frame, waiting, int64_t now_ms):
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
        request.group_id, request.member_id, request.settings = group_id, member_id, self.settings_of(group_id)
        request.api_key, request.api_version = fields.api_key, fields.api_version
        request.acknowledged, request.fetched, request.available_bytes, request.answers = [], [], [], []
        if not self.read_acknowledgements(request, session):
            return None
        if fields.api_key == SHARE_FETCH and not self.can_fetch(request, session):
            return None
        # From here on it is carried out.
        request.now_ms, request.missing = now_ms, 1
        session.count_up()
        for acknowledged in request.acknowledged:
            self.acknowledge(request, <Acknowledged>acknowledged)
        if fields.api_key == SHARE_FETCH:
            self.fetch(request, session)
        request.ended()
        request.is_queued = True
        return request

    # ----------------------------------------------------------------------------------------------------- acknowledge

    cdef bint read_acknowledgements(self, SteadyShareRequest request, session) except -1:
        """Find what the request acknowledges; false if it names anything else, or anything is unusual."""
        cdef const ShareFields *fields = &request.fields
        cdef const uint8_t *p = fields.first_topic
        cdef const uint8_t *frame = <const uint8_t *>PyBytes_AS_STRING(request.frame)
        cdef ShareTopic topic
        cdef ShareBatches batches
        cdef Py_ssize_t batch_count = 0, type_count = 0, elements = fields.topics
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
                elements += 1
                if batch_count > BATCHES_AT_ONCE or not are_valid(&batches, fields, &type_count):
                    return False
                if type_count > RECORDS_AT_ONCE or elements + batch_count + type_count > self.elements_max:
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


@cython.final
cdef class SteadyShareRequest(SteadyFetch):
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
        cdef bytes node = b""
        cdef int32_t leader_epoch = 0
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
        if self.api_key == SHARE_ACKNOWLEDGE and is_elsewhere(self.answers):
            endpoint = self.waiting.endpoint
            node = node_endpoint(self.shares.node_id, endpoint.host, endpoint.port)
            leader_epoch = self.shares.image.leader_epoch
        self.answer = answer_of(
            &self.fields, self.answers, self.settings.lock_duration_ms, self.shares.node_id, leader_epoch, node
        )
        # What it acknowledges refers to it: a cycle would keep its records until garbage is collected.
        self.acknowledged = self.answers = self.fetched = None
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
                share_partition.window, self.changes, True, request.now_ms, request.settings.delivery_count_limit
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


cdef bint are_valid(const ShareBatches *batches, const ShareFields *fields, Py_ssize_t *type_count) noexcept:
    """Whether the batches can be right, whatever is acquired. Counts their types, where each record has its own."""
    cdef const uint8_t *p = batches.first
    cdef ShareBatch batch
    cdef int64_t previous_last = -1
    cdef int32_t position
    for _ in range(batches.count):
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
