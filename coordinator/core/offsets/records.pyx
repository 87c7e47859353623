"""Committed offsets: read from requests and records, written to responses and records.

This module and `batch_replay.pyx` alone know the record of a committed offset in `__consumer_offsets`: its type and the
versions of its value. Compiled: a commit has ten offsets or more.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport INT16_MAX, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from _wire.messages.offset_commit cimport (
    OffsetCommitRequestPartition, OffsetCommitRequestTopic, OffsetCommitResponsePartition, OffsetCommitResponseTopic,
)
from _wire.messages.offset_commit_record cimport OffsetCommitKey, OffsetCommitValue
from _wire.messages.offset_delete cimport OffsetDeleteRequestPartition, OffsetDeleteResponsePartition
from _wire.messages.offset_fetch cimport (
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
    OffsetFetchResponsePartitions, OffsetFetchResponseTopics,
)
from _wire.messages.txn_offset_commit cimport (
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic, TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from _wire.big_endian cimport store_uint16, store_uint32, store_uint64
from _wire.texts cimport PyUnicode_AsUTF8AndSize
from _wire.unsigned_varints cimport put_varint, varint_bytes
from _wire.written_records cimport WRITTEN_SIZE_BYTES, put_length, set_written_size

from _wire.embedded import decode_versioned, encode_versioned, prefix_of
from _wire.errors import ErrorCode

cdef dict NOTHING = {}
cdef bytes NO_ID = bytes(16)
cdef dict IDS = {}                      # topic ids of committed offsets, each once
cdef Py_ssize_t IDS_MAX = 10_000
cdef int16_t METADATA_TOO_LARGE = ErrorCode.OFFSET_METADATA_TOO_LARGE

cdef enum:
    KEY_TYPE = 1
    KEY_TYPE_OLDEST = 0                 # the same key, as it was called before
    VALUE_VERSION = 4
    TOPIC_ID_BYTES = 16
    KEY_BYTES = 10                      # without the group and the topic
    VALUE_BYTES_MAX = 23 + 5 + 2 + TOPIC_ID_BYTES       # without the metadata, whose length may take 5
    LENGTH_BYTES_MAX = 5
    VALUE_VERSION_WITH_EXPIRY = 1       # the only one with an expire timestamp
    BMP_MAX = 0xFFFF                    # a character above is two UTF-16 code units


@cython.final
@cython.no_gc
@cython.freelist(64)
cdef class CommittedOffset:
    def __init__(
        self, int64_t offset, int32_t leader_epoch, str metadata not None, int64_t commit_timestamp_ms,
        expire_timestamp_ms=None, bytes topic_id=None,
    ):
        self.topic_id = topic_id
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.metadata = metadata
        self.commit_timestamp_ms = commit_timestamp_ms
        self.has_expire_timestamp = expire_timestamp_ms is not None
        self.expire_timestamp = expire_timestamp_ms if self.has_expire_timestamp else -1

    @property
    def expire_timestamp_ms(self):
        return self.expire_timestamp if self.has_expire_timestamp else None

    def __eq__(self, other):
        if type(other) is not CommittedOffset:
            return NotImplemented
        return self.fields() == (<CommittedOffset>other).fields()

    def __hash__(self):
        return hash(self.fields())

    def __repr__(self):
        return "CommittedOffset(offset={}, leader_epoch={}, metadata={!r}, commit_timestamp_ms={}, " \
            "expire_timestamp_ms={}, topic_id={})".format(*self.fields())

    cdef tuple fields(self):
        return (
            self.offset, self.leader_epoch, self.metadata, self.commit_timestamp_ms, self.expire_timestamp_ms,
            self.topic_id,
        )


cpdef bint is_metadata_too_long(str metadata, Py_ssize_t length_max) except -1:
    cdef Py_ssize_t length = len(metadata)
    cdef Py_UCS4 character
    if length > length_max:
        return True
    if length * 2 > length_max and not metadata.isascii():
        for character in metadata:
            if character > BMP_MAX:
                length += 1
    return length > length_max


def accept_offsets(
    list topics, int64_t now_ms, expire_timestamp_ms, Py_ssize_t metadata_length_max, dict committed_before not None,
    topic_id_of=None,
):
    cdef dict accepted_by_topic = {}, of_topic, before
    cdef list answered = [], answers
    cdef bint goes_back = False, has_id
    cdef object index, committed
    cdef OffsetCommitRequestTopic topic
    cdef OffsetCommitRequestPartition partition
    cdef OffsetCommitResponsePartition answer
    cdef OffsetCommitResponseTopic answered_topic
    cdef CommittedOffset position
    cdef str metadata
    cdef bytes topic_id
    for topic in topics:
        of_topic = accepted_by_topic.get(topic.name) or {}
        before = committed_before.get(topic.name)
        # The version of the value with an expire timestamp has no room for an id.
        has_id = topic_id_of is not None and expire_timestamp_ms is None
        topic_id = id_or_none(topic_id_of(topic.name)) if has_id else None
        answers = []
        for partition in topic.partitions:
            answer = OffsetCommitResponsePartition.__new__(OffsetCommitResponsePartition)
            answer.partition_index = partition.partition_index
            answers.append(answer)
            metadata = partition.committed_metadata or ""
            if is_metadata_too_long(metadata, metadata_length_max):
                answer.error_code = METADATA_TOO_LARGE
                continue
            position = CommittedOffset.__new__(CommittedOffset)
            position.offset = partition.committed_offset
            position.leader_epoch = partition.committed_leader_epoch
            position.metadata = metadata
            position.topic_id = topic_id
            position.commit_timestamp_ms = now_ms if partition.commit_timestamp < 0 else partition.commit_timestamp
            position.has_expire_timestamp = expire_timestamp_ms is not None
            position.expire_timestamp = expire_timestamp_ms if position.has_expire_timestamp else -1
            index = partition.partition_index
            of_topic[index] = position
            if before is not None and not goes_back:
                committed = before.get(index)
                goes_back = committed is not None and position.offset < (<CommittedOffset>committed).offset
        if of_topic:
            accepted_by_topic[topic.name] = of_topic
        answered_topic = OffsetCommitResponseTopic.__new__(OffsetCommitResponseTopic)
        answered_topic.name, answered_topic.topic_id, answered_topic.partitions = topic.name, topic.topic_id, answers
        answered.append(answered_topic)
    return accepted_by_topic, answered, goes_back


def accept_transactional_offsets(list topics, int64_t now_ms, Py_ssize_t metadata_length_max):
    cdef dict accepted = {}, of_topic
    cdef list answered = [], answers
    cdef TxnOffsetCommitRequestTopic topic
    cdef TxnOffsetCommitRequestPartition partition
    cdef TxnOffsetCommitResponsePartition answer
    cdef TxnOffsetCommitResponseTopic answered_topic
    cdef CommittedOffset offset
    cdef str metadata
    for topic in topics:
        of_topic = accepted.get(topic.name) or {}
        answers = []
        for partition in topic.partitions:
            answer = TxnOffsetCommitResponsePartition.__new__(TxnOffsetCommitResponsePartition)
            answer.partition_index = partition.partition_index
            answers.append(answer)
            metadata = partition.committed_metadata or ""
            if is_metadata_too_long(metadata, metadata_length_max):
                answer.error_code = METADATA_TOO_LARGE
                continue
            offset = CommittedOffset.__new__(CommittedOffset)
            offset.offset = partition.committed_offset
            offset.leader_epoch = partition.committed_leader_epoch
            offset.metadata = metadata
            offset.commit_timestamp_ms = now_ms
            offset.has_expire_timestamp = False
            offset.expire_timestamp = -1
            of_topic[partition.partition_index] = offset
        if of_topic:
            accepted[topic.name] = of_topic
        answered_topic = TxnOffsetCommitResponseTopic.__new__(TxnOffsetCommitResponseTopic)
        answered_topic.name, answered_topic.partitions = topic.name, answers
        answered.append(answered_topic)
    return accepted, answered


cdef bytes offset_key(
    const char *group, Py_ssize_t group_bytes, const char *topic, Py_ssize_t topic_bytes, int32_t partition
):
    """The key of a record: its type, the group, the topic and the partition."""
    cdef bytes key
    check_names(group_bytes, topic_bytes)
    key = PyBytes_FromStringAndSize(NULL, KEY_BYTES + group_bytes + topic_bytes)
    put_key(<uint8_t *>PyBytes_AS_STRING(key), group, group_bytes, topic, topic_bytes, partition)
    return key


cdef inline int check_names(Py_ssize_t group_bytes, Py_ssize_t topic_bytes) except -1:
    if group_bytes > INT16_MAX or topic_bytes > INT16_MAX:
        raise ValueError(f"a group id of {group_bytes} bytes, or a topic of {topic_bytes}; {INT16_MAX} is the most")
    return 0


cdef inline uint8_t *put_key(
    uint8_t *p, const char *group, Py_ssize_t group_bytes, const char *topic, Py_ssize_t topic_bytes, int32_t partition
) noexcept:
    store_uint16(p, KEY_TYPE)
    store_uint16(p + 2, <uint16_t>group_bytes)
    memcpy(p + 4, group, group_bytes)
    p += 4 + group_bytes
    store_uint16(p, <uint16_t>topic_bytes)
    memcpy(p + 2, topic, topic_bytes)
    store_uint32(p + 2 + topic_bytes, <uint32_t>partition)
    return p + 6 + topic_bytes


cdef bytes offset_value(CommittedOffset committed):
    """The value of a record, with its version."""
    cdef bytes value
    cdef Py_ssize_t metadata_bytes
    cdef const char *metadata
    if committed.has_expire_timestamp:
        return expiring_value(committed)
    metadata = PyUnicode_AsUTF8AndSize(committed.metadata, &metadata_bytes)
    value = PyBytes_FromStringAndSize(NULL, value_bytes(committed, metadata_bytes))
    put_value(<uint8_t *>PyBytes_AS_STRING(value), committed, metadata, metadata_bytes)
    return value


cdef inline Py_ssize_t value_bytes(CommittedOffset committed, Py_ssize_t metadata_bytes) except -1:
    """Of a value without an expire timestamp."""
    if metadata_bytes > INT16_MAX:
        raise ValueError(f"metadata of {metadata_bytes} bytes; {INT16_MAX} is the most")
    return (
        23 + varint_bytes(<uint32_t>metadata_bytes + 1) + metadata_bytes
        + (0 if committed.topic_id is None else 2 + TOPIC_ID_BYTES)
    )


cdef inline uint8_t *put_value(
    uint8_t *p, CommittedOffset committed, const char *metadata, Py_ssize_t metadata_bytes
) noexcept:
    store_uint16(p, VALUE_VERSION)
    store_uint64(p + 2, <uint64_t>committed.offset)
    store_uint32(p + 10, <uint32_t>committed.leader_epoch)
    p = put_varint(p + 14, <uint32_t>metadata_bytes + 1)
    memcpy(p, metadata, metadata_bytes)
    p += metadata_bytes
    store_uint64(p, <uint64_t>committed.commit_timestamp_ms)
    p[8] = committed.topic_id is not None   # how many tagged fields follow
    if p[8] == 0:
        return p + 9
    p[9], p[10] = 0, TOPIC_ID_BYTES
    memcpy(p + 11, PyBytes_AS_STRING(committed.topic_id), TOPIC_ID_BYTES)
    return p + 11 + TOPIC_ID_BYTES


cdef Py_ssize_t written_offset_max(Py_ssize_t group_bytes, Py_ssize_t topic_bytes):
    """The most that `put_offset` writes, without the metadata."""
    return WRITTEN_SIZE_BYTES + 3 * LENGTH_BYTES_MAX + KEY_BYTES + group_bytes + topic_bytes + VALUE_BYTES_MAX + 1


cdef uint8_t *put_offset(
    uint8_t *out, const char *group, Py_ssize_t group_bytes, const char *topic, Py_ssize_t topic_bytes,
    int32_t partition, CommittedOffset committed
) except NULL:
    """Write the record of an offset without an expire timestamp; returns where it ends."""
    cdef Py_ssize_t metadata_bytes, of_value
    cdef const char *metadata = PyUnicode_AsUTF8AndSize(committed.metadata, &metadata_bytes)
    cdef uint8_t *p
    check_names(group_bytes, topic_bytes)
    of_value = value_bytes(committed, metadata_bytes)
    p = put_length(out + WRITTEN_SIZE_BYTES, KEY_BYTES + group_bytes + topic_bytes)
    p = put_key(p, group, group_bytes, topic, topic_bytes, partition)
    p = put_value(put_length(p, of_value), committed, metadata, metadata_bytes)
    p[0] = 0                            # headers
    set_written_size(out, p + 1 - out - WRITTEN_SIZE_BYTES)
    return p + 1


cdef bytes id_or_none(bytes topic_id):
    """The id, one object for all offsets of the topic; None if all bytes are zero."""
    if topic_id is None or topic_id == NO_ID:
        return None
    kept = IDS.get(topic_id)
    if kept is None:
        if len(IDS) >= IDS_MAX:
            IDS.clear()
        kept = IDS[topic_id] = topic_id
    return kept


cdef bytes expiring_value(CommittedOffset committed):
    """The only version with an expire timestamp has no leader epoch."""
    return encode_versioned(
        OffsetCommitValue(
            offset=committed.offset, metadata=committed.metadata, commit_timestamp=committed.commit_timestamp_ms,
            expire_timestamp=committed.expire_timestamp,
        ),
        VALUE_VERSION_WITH_EXPIRY,
    )


def offset_records(str group_id not None, positions):
    cdef list records = []
    cdef Py_ssize_t group_bytes, topic_bytes
    cdef const char *group = PyUnicode_AsUTF8AndSize(group_id, &group_bytes)
    cdef const char *topic_text
    for topic, of_topic in positions.items():
        topic_text = PyUnicode_AsUTF8AndSize(topic, &topic_bytes)
        for partition, committed in of_topic.items():
            records.append(
                (offset_key(group, group_bytes, topic_text, topic_bytes, partition), offset_value(committed))
            )
    return records


def offset_tombstones(str group_id not None, partitions):
    return [
        (encode_versioned(OffsetCommitKey(group=group_id, topic=topic, partition=partition), KEY_TYPE), None)
        for topic, partition in partitions
    ]


def is_offset_key(bytes key not None):
    return KEY_TYPE_OLDEST <= prefix_of(key) <= KEY_TYPE


def read_offset_record(bytes key not None, bytes value):
    cdef OffsetCommitKey named = decode_versioned(OffsetCommitKey, key)
    if value is None:
        return named.group, named.topic, named.partition, None
    return named.group, named.topic, named.partition, committed_offset(
        decode_versioned(OffsetCommitValue, value), prefix_of(value)
    )


cdef CommittedOffset committed_offset(OffsetCommitValue stored, int16_t version):
    cdef CommittedOffset position = CommittedOffset.__new__(CommittedOffset)
    position.offset, position.leader_epoch, position.metadata = stored.offset, stored.leader_epoch, stored.metadata
    position.commit_timestamp_ms = stored.commit_timestamp
    position.topic_id = id_or_none(stored.topic_id)
    position.has_expire_timestamp = version == VALUE_VERSION_WITH_EXPIRY and stored.expire_timestamp >= 0
    position.expire_timestamp = stored.expire_timestamp if position.has_expire_timestamp else -1
    return position


def only_group(OffsetFetchRequest request not None):
    cdef list topics = None
    cdef OffsetFetchRequestTopic asked
    cdef OffsetFetchRequestTopics topic
    if request.topics is not None:
        topics = []
        for asked in request.topics:
            topic = OffsetFetchRequestTopics(name=asked.name, partition_indexes=asked.partition_indexes)
            topics.append(topic)
    return OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)


def asks_for_few(OffsetFetchRequest request not None, Py_ssize_t topics_max, Py_ssize_t partitions_max):
    cdef OffsetFetchRequestGroup group = request.groups[0]
    cdef OffsetFetchRequestTopics topic
    cdef Py_ssize_t partitions = 0
    if group.topics is None or len(group.topics) > topics_max:
        return False
    for topic in group.topics:
        partitions += len(topic.partition_indexes)
    return partitions <= partitions_max


def find_offsets(dict by_topic not None, list topics not None, int16_t of_nameless=0):
    cdef list found = []
    cdef dict committed_before
    cdef OffsetFetchRequestTopics topic
    cdef OffsetFetchResponseTopics answer
    for topic in topics:
        answer = OffsetFetchResponseTopics.__new__(OffsetFetchResponseTopics)
        answer.name, answer.topic_id = topic.name, topic.topic_id
        committed_before = by_topic.get(topic.name)
        answer.partitions = offsets_of(
            NOTHING if committed_before is None else committed_before, topic.partition_indexes,
            0 if topic.name else of_nameless,
        )
        found.append(answer)
    return found


cdef list offsets_of(dict committed_before, list partitions, int16_t error_code):
    cdef list found = []
    cdef OffsetFetchResponsePartitions answer
    cdef CommittedOffset position
    for partition in partitions:
        answer = OffsetFetchResponsePartitions.__new__(OffsetFetchResponsePartitions)
        answer.partition_index = partition
        position = committed_before.get(partition)
        if position is None:
            answer.committed_offset = answer.committed_leader_epoch = -1
            answer.metadata = ""
        else:
            answer.committed_offset = position.offset
            answer.committed_leader_epoch = position.leader_epoch
            answer.metadata = position.metadata
        answer.error_code = error_code
        found.append(answer)
    return found


def are_partitions(list asked not None, int32_t count):
    cdef OffsetCommitRequestPartition partition
    for partition in asked:
        if partition.partition_index < 0 or partition.partition_index >= count:
            return False
    return True


def split_partitions(list asked not None, int32_t count, int16_t error_code):
    cdef OffsetCommitRequestPartition partition
    cdef OffsetCommitResponsePartition answer
    cdef list existing = [], missing = []
    for partition in asked:
        if 0 <= partition.partition_index < count:
            existing.append(partition)
        else:
            answer = OffsetCommitResponsePartition.__new__(OffsetCommitResponsePartition)
            answer.partition_index, answer.error_code = partition.partition_index, error_code
            missing.append(answer)
    return existing, missing


def deletion_indexes(list asked not None, int32_t count):
    cdef OffsetDeleteRequestPartition partition
    cdef list existing = [], missing = []
    for partition in asked:
        (existing if 0 <= partition.partition_index < count else missing).append(partition.partition_index)
    return existing, missing


def deletion_answers(list indexes not None, int16_t error_code):
    cdef OffsetDeleteResponsePartition answer
    cdef list answers = []
    for index in indexes:
        answer = OffsetDeleteResponsePartition.__new__(OffsetDeleteResponsePartition)
        answer.partition_index, answer.error_code = index, error_code
        answers.append(answer)
    return answers
