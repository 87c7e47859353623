"""A door for Python to the commits that are read and answered without a message object."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t

from _wire.commit_frames cimport (
    CommitFields, CommittedPartition, CommittedTopic, answer_ends_bytes, answered_topic_bytes, end_commit_topic,
    put_answer_begin, put_answered_partition, put_answered_topic, read_commit, read_commit_partition, read_commit_topic,
)
from _wire.heartbeat_frames cimport Span


cdef object text(Span *span):
    return None if span.size < 0 else (<const char *>span.data)[: span.size]


cdef list topics_of(const CommitFields *fields):
    """(name or id, partitions) of each topic; None if declined."""
    cdef CommittedTopic topic
    cdef CommittedPartition each
    cdef const uint8_t *p = fields.first_topic
    cdef list topics = [], partitions
    for _ in range(fields.topics):
        if not read_commit_topic(&p, fields, &topic):
            return None
        partitions = []
        for _ in range(topic.partitions):
            if not read_commit_partition(&p, fields, &each):
                return None
            partitions.append((each.index, each.offset, each.leader_epoch, each.timestamp_ms, text(&each.metadata)))
        if not end_commit_topic(&p, fields):
            return None
        topics.append((text(&topic.name), partitions))
    return topics if end_commit_topic(&p, fields) else None


def read(bytes frame not None):
    """(version, group id, generation, member id, instance id, topics) of a frame without its length; None: declined."""
    cdef CommitFields fields
    if not read_commit(<const uint8_t *>frame, len(frame), &fields):
        return None
    topics = topics_of(&fields)
    if topics is None:
        return None
    return (
        fields.api_version, text(&fields.group_id), fields.generation_id, text(&fields.member_id),
        text(&fields.instance_id), topics,
    )


def answer(bytes frame not None):
    """The answer frame, without errors, to a frame that `read` takes."""
    cdef CommitFields fields
    cdef CommittedTopic topic
    cdef CommittedPartition each
    cdef const uint8_t *p
    cdef uint8_t *out
    cdef Py_ssize_t size
    if not read_commit(<const uint8_t *>frame, len(frame), &fields):
        raise ValueError("not a commit that is read in place")
    size, p = answer_ends_bytes(&fields), fields.first_topic
    for _ in range(fields.topics):
        if not read_commit_topic(&p, &fields, &topic):
            raise ValueError("the topics are not read in place")
        for _ in range(topic.partitions):
            read_commit_partition(&p, &fields, &each)
        end_commit_topic(&p, &fields)
        size += answered_topic_bytes(&fields, &topic)
    made = PyBytes_FromStringAndSize(NULL, size)
    out, p = put_answer_begin(<uint8_t *>PyBytes_AS_STRING(made), &fields, size), fields.first_topic
    for _ in range(fields.topics):
        if not read_commit_topic(&p, &fields, &topic):
            raise ValueError("the topics are not read in place")
        out = put_answered_topic(out, &fields, &topic)
        for _ in range(topic.partitions):
            read_commit_partition(&p, &fields, &each)
            out = put_answered_partition(out, &fields, each.index)
        end_commit_topic(&p, &fields)
        if fields.is_flexible:
            out[0] = 0
            out += 1
    if fields.is_flexible:
        out[0] = 0
        out += 1
    if out - <uint8_t *>PyBytes_AS_STRING(made) != size:
        raise AssertionError("the answer is longer or shorter than it was said to be")
    return made
