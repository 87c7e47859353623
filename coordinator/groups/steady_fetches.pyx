"""OffsetFetch of one group, answered when it comes: read where it lies, from the committed offsets, without messages.

That is what the core would answer at its turn, as long as nothing else waits in the shard of the group and no
transaction has offsets of the group pending. `core/offsets/fetch.py` answers everything else.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from libc.stdint cimport INT16_MAX, int32_t, uint8_t, uint32_t

from _wire.offset_fetch_frames cimport (
    FETCH_ANSWER_ENDS_BYTES, FETCH_WITH_TOPIC_ID, WITH_GROUPS, FetchedTopic, FetchFields, end_offset_fetch,
    fetched_topic_bytes, put_fetch_begin, put_fetch_end, put_fetched_partition, put_fetched_topic, read_fetched_topic,
    read_offset_fetch,
)
from _wire.big_endian cimport load_uint32, store_uint32
from _wire.texts cimport PyUnicode_AsUTF8AndSize, is_ascii
from coordinator.core.offsets.records cimport CommittedOffset
from coordinator.groups.sessions cimport SessionTable
from coordinator.groups.steady_commits cimport CachedTopic, SteadyCommits, ascii_text

from coordinator.core.partitioning import partition_for

cdef enum:
    PARTITIONS_MAX = 1000               # of an answer that is made in one piece; their offsets are noted on the stack

cdef dict NOTHING = {}


@cython.final
cdef class SteadyFetches:
    def __init__(self, SessionTable sessions not None, SteadyCommits commits not None, coordinator):
        self.sessions = sessions
        self.commits = commits
        self.shards = coordinator.shards

    cpdef bytes answer(self, bytes frame):
        cdef FetchFields fields
        cdef FetchedTopic topic
        cdef PyObject *found[PARTITIONS_MAX]
        cdef const uint8_t *p
        cdef Py_ssize_t size, metadata_bytes
        cdef int32_t place, count = 0
        cdef dict by_topic, existing
        if self.sessions.leaves_heartbeats or self.sessions.leaves_requests or self.sessions.asks_authorizer:
            return None
        if not read_offset_fetch(<const uint8_t *>PyBytes_AS_STRING(frame), PyBytes_GET_SIZE(frame), &fields):
            return None
        group = self.group_of(&fields)
        if group is None:
            return None
        by_topic = <dict>group.offsets.by_topic
        p = fields.first_topic
        size = FETCH_ANSWER_ENDS_BYTES + fields.group_id.size
        for _ in range(fields.topics):
            if not read_fetched_topic(&p, &fields, &topic) or topic.partitions > PARTITIONS_MAX - count:
                return None
            if fields.topics + topic.partitions + count >= self.commits.elements_max:
                return None
            name = self.name_of(&fields, &topic)
            if name is None:
                return None
            existing = <dict>by_topic.get(name)
            if existing is None:
                existing = NOTHING
            size += fetched_topic_bytes(&fields, &topic)
            for place in range(topic.partitions):
                committed = existing.get(<int32_t>load_uint32(topic.indexes + 4 * place))
                found[count] = NULL
                if committed is not None:
                    found[count] = <PyObject *>committed        # `by_topic` holds it
                    PyUnicode_AsUTF8AndSize((<CommittedOffset>committed).metadata, &metadata_bytes)
                    if metadata_bytes > INT16_MAX:
                        return None
                    size += metadata_bytes
                count += 1
        if not end_offset_fetch(p, &fields):
            return None
        self.api_version = fields.api_version
        self.error_codes = count + (1 if fields.api_version >= WITH_GROUPS else 0)
        return written(&fields, found, size)

    cdef object group_of(self, const FetchFields *fields):
        """The group, if its offsets may be read now and nothing may change the answer before its turn; else None."""
        cdef str group_id = ascii_text(&fields.group_id)
        shard = self.shards[partition_for(group_id, len(self.shards))]
        if not shard.is_quiet:
            return None
        group = (<dict>shard.machine.groups).get(group_id)
        if group is None or group.offsets.pending is not None:
            return None
        if fields.member_id.size >= 0 or fields.member_epoch >= 0:
            member_id = None if fields.member_id.size < 0 else ascii_text(&fields.member_id)
            if group.kind.offsets.validate_fetch(group.membership, member_id, fields.member_epoch):
                return None
        return group

    cdef object name_of(self, const FetchFields *fields, const FetchedTopic *topic):
        """The name of a topic; None if it is not ASCII, or if no topic has that id."""
        cdef CachedTopic existing
        if fields.api_version < FETCH_WITH_TOPIC_ID:
            return ascii_text(&topic.name) if is_ascii(topic.name.data, topic.name.size) else None
        topic_id = PyBytes_FromStringAndSize(<const char *>topic.name.data, topic.name.size)
        existing = self.commits.topic_of(topic_id, True)
        return None if existing is None else existing.name


cdef bytes written(const FetchFields *fields, PyObject **found, Py_ssize_t size):
    """The response frame, of `size` bytes at most; `found` are the committed offsets in their order, NULL: none."""
    cdef bytes answer = PyBytes_FromStringAndSize(NULL, size)
    cdef uint8_t *start = <uint8_t *>PyBytes_AS_STRING(answer)
    cdef uint8_t *out = put_fetch_begin(start, fields)
    cdef const uint8_t *p = fields.first_topic
    cdef FetchedTopic topic
    cdef CommittedOffset committed
    cdef Py_ssize_t metadata_bytes
    cdef const char *metadata
    cdef int32_t place, count = 0
    for _ in range(fields.topics):
        if not read_fetched_topic(&p, fields, &topic):
            raise AssertionError("a frame that was read before cannot be read")
        out = put_fetched_topic(out, fields, &topic)
        for place in range(topic.partitions):
            if found[count] == NULL:
                out = put_fetched_partition(out, fields, topic.indexes + 4 * place, -1, -1, NULL, 0)
            else:
                committed = <CommittedOffset>found[count]
                metadata = PyUnicode_AsUTF8AndSize(committed.metadata, &metadata_bytes)
                out = put_fetched_partition(
                    out, fields, topic.indexes + 4 * place, committed.offset, committed.leader_epoch,
                    <const uint8_t *>metadata, metadata_bytes,
                )
            count += 1
        if fields.is_flexible:
            out[0] = 0
            out += 1
    out = put_fetch_end(out, fields)
    store_uint32(start, <uint32_t>(out - start - 4))
    return answer[: out - start]
