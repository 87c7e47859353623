"""Commits of steady members, read where they lie and decided at their turn without messages, decisions or events.

A commit is steady if the sessions would answer the heartbeats of its member, and the core would do nothing with it but
store the offsets. It is read when it comes (`SteadyCommits.read`), waits in the queue of its shard like any other
operation, and is decided at its turn (`SteadyCommit.handle`): the same records, the same changes of the group and the
same answer as `core/offsets/commit.py` makes. What turns out to be unusual becomes that operation, in the same place of
the queue, before anything has changed.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

from _wire.commit_frames cimport (
    WITH_TOPIC_ID, CommitFields, CommittedPartition, CommittedTopic, answer_ends_bytes, answered_topic_bytes,
    end_commit_topic, put_answer_begin, put_answered_partition, put_answered_topic, read_commit, read_commit_partition,
    read_commit_topic,
)
from _wire.heartbeat_frames cimport CONSUMER_GROUP_HEARTBEAT, Span
from _wire.texts cimport PyUnicode_AsUTF8AndSize, PyUnicode_DATA, PyUnicode_New, is_ascii
from _wire.written_records cimport WRITTEN_SIZE_BYTES, set_written_size, size_in_batch, written_size
from coordinator.core.partitioning cimport partition_for
from coordinator.core.offsets.records cimport CommittedOffset, id_or_none, put_offset, written_offset_max
from coordinator.core.stored_batch cimport StoredBatch, written_batch
from coordinator.groups.sessions cimport Session, SessionTable
from coordinator.runtime.collected cimport Batch
from coordinator.runtime.steady cimport SteadyDrain

from sys import intern

from coordinator.config.group_keys import OFFSET_METADATA_MAX_BYTES

cdef enum:
    EPOCH_VERSION = 9                   # the first one that members with an epoch may use
    ASCII_MAX = 127


cdef str ascii_text(const Span *span):
    """The text of bytes that are ASCII; an empty one of null."""
    cdef object text
    if span.size <= 0:
        return ""
    text = PyUnicode_New(span.size, ASCII_MAX)
    memcpy(PyUnicode_DATA(text), span.data, span.size)
    return <str>text


@cython.final
cdef class CachedTopic:
    """A topic that exists."""


@cython.final
cdef class SteadyCommits:
    def __init__(
        self, SessionTable sessions not None, environment, coordinator, as_operation, int64_t elements_max,
        scheduler, now_ms,
    ):
        self.sessions = sessions
        self.environment = environment
        self.wall = environment.wall
        self.partition_count = len(coordinator.shards)
        self.as_operation = as_operation
        self.drain = SteadyDrain(coordinator, scheduler, now_ms, environment.wall)
        self.elements_max = elements_max
        self.topics = {}

    cpdef SteadyCommit read(self, bytes frame, object waiting, int64_t now_ms):
        cdef SteadyCommit commit
        cdef CommitFields fields
        cdef Session session
        if self.sessions.leaves_heartbeats or self.sessions.leaves_requests or self.sessions.asks_authorizer:
            return None
        if not read_commit(<const uint8_t *>PyBytes_AS_STRING(frame), PyBytes_GET_SIZE(frame), &fields):
            return None
        session = self.session_of(&fields, now_ms)
        if session is None:
            return None
        commit = SteadyCommit.__new__(SteadyCommit)
        commit.topics = self.topics_of(&fields, commit)
        if commit.topics is None:
            return None
        commit.commits, commit.waiting, commit.frame, commit.fields = self, waiting, frame, fields
        commit.key, commit.member_id, commit.api_version = session.group.name, session.name, fields.api_version
        if session.group.partition < 0:
            session.group.partition = partition_for(session.group.name, <uint32_t>self.partition_count)
        self.drain.submit(session.group.partition, commit)
        return commit

    cdef Session session_of(self, const CommitFields *fields, int64_t now_ms):
        """The session of the member, if it may commit in its generation or epoch as far as sessions know; else None."""
        cdef PyObject *found = self.sessions.probe(
            fields.group_id.data, fields.group_id.size, fields.member_id.data, fields.member_id.size
        )
        if found == NULL:
            return None
        if self.sessions.is_live(<Session>found, &fields.instance_id, fields.generation_id, now_ms) or (
            fields.api_version >= EPOCH_VERSION
            and self.sessions.has_steady_epoch(<Session>found, CONSUMER_GROUP_HEARTBEAT, fields.generation_id, now_ms)
        ):
            return <Session>found
        return None

    cdef list topics_of(self, const CommitFields *fields, SteadyCommit commit):
        """The names of the topics; None if anything is unusual, or a partition does not exist.

        Counts for the commit what is there.
        """
        cdef CommittedTopic topic
        cdef CommittedPartition partition
        cdef CachedTopic existing
        cdef const uint8_t *p = fields.first_topic
        cdef bint is_id = fields.api_version >= WITH_TOPIC_ID
        cdef list names = []
        cdef Py_ssize_t topic_bytes
        commit.answer_bytes, commit.written_max = answer_ends_bytes(fields), WRITTEN_SIZE_BYTES
        commit.written_max += fields.end - fields.first_topic
        if fields.topics > self.elements_max:
            return None
        for _ in range(fields.topics):
            if not read_commit_topic(&p, fields, &topic):
                return None
            commit.partitions += topic.partitions
            if fields.topics + commit.partitions > self.elements_max:
                return None
            if is_id:
                topic_id = PyBytes_FromStringAndSize(<const char *>topic.name.data, topic.name.size)
                existing = self.topic_of(topic_id, True)
            elif is_ascii(topic.name.data, topic.name.size):
                existing = self.topic_of(ascii_text(&topic.name), False)
            else:
                return None
            if existing is None:
                return None
            for _ in range(topic.partitions):
                if not read_commit_partition(&p, fields, &partition):
                    return None
                if partition.index < 0 or partition.index >= existing.partitions:
                    return None
            if not end_commit_topic(&p, fields):
                return None
            names.append(existing.name)
            commit.answer_bytes += answered_topic_bytes(fields, &topic)
            PyUnicode_AsUTF8AndSize(existing.name, &topic_bytes)
            commit.written_max += topic.partitions * written_offset_max(fields.group_id.size, topic_bytes)
        return names if end_commit_topic(&p, fields) else None

    cdef CachedTopic topic_of(self, object key, bint is_id):
        """The topic of that name, or of that id; None if there is none. Known until the metadata change."""
        cdef CachedTopic existing
        if self.topics_cached_at != self.sessions.changes:
            self.topics_cached_at = self.sessions.changes
            self.topics.clear()
        existing = <CachedTopic>self.topics.get(key)
        if existing is None:
            topics = self.environment.topics
            name = topics.topic_name(key) if is_id else key
            count = topics.partition_count(name) if name else 0
            if not count:
                return None
            existing = CachedTopic.__new__(CachedTopic)
            existing.name, existing.partitions = intern(name), count
            existing.topic_id = id_or_none(topics.topic_id(name))
            self.topics[key] = existing
        return existing


@cython.final
cdef class SteadyCommit:
    def handle(self, machine, Batch batch not None, int64_t now_ms):
        cdef Session session = self.commits.session_of(&self.fields, now_ms)
        cdef dict accepted = {}, existing
        cdef StoredBatch stored
        cdef int64_t at_ms
        group = None if session is None else (<dict>machine.groups).get(self.key)
        if group is None:
            return False
        offsets = group.offsets
        if offsets.pending is not None:
            return False                # what transactions have pending may be superseded
        at_ms = now_ms + self.commits.wall.step_ms
        stored = self.read_offsets(offsets.by_topic, at_ms, accepted)
        if stored is None or stored.size_bytes > batch.bytes_max:
            return False
        by_topic = <dict>offsets.by_topic
        for topic, committed in accepted.items():
            existing = <dict>by_topic.get(topic)
            if existing is None:
                by_topic[topic] = committed
            else:
                existing.update(committed)
        membership = group.membership
        member = membership.members.get(self.member_id)
        if member is not None:
            member.committed_ms = at_ms
        if self.commits.sessions.is_live(session, &self.fields.instance_id, self.fields.generation_id, now_ms):
            session.deadline_ms = now_ms + session.timeout_ms       # a member with an epoch renews by heartbeats alone
        machine.committed(self, accepted, stored, at_ms)
        batch.queued.append(self)
        batch.store_one(stored)
        batch.replies.append(self)
        return True

    cdef StoredBatch read_offsets(self, dict by_topic, int64_t at_ms, dict accepted):
        """Fill in topic → partition → offset and the answer; returns the records, None if the core has to decide."""
        cdef const CommitFields *fields = &self.fields
        cdef CommittedTopic topic
        cdef CommittedPartition partition
        cdef CommittedOffset offset
        cdef CachedTopic cached
        cdef dict existing, of_topic
        cdef const uint8_t *p = fields.first_topic
        cdef uint8_t *out
        cdef uint8_t *record
        cdef uint8_t *record_end
        cdef const char *topic_text
        cdef Py_ssize_t topic_bytes, in_topic, position = 0, records_bytes = 0
        cdef object before, index
        cdef bytes written = PyBytes_FromStringAndSize(NULL, self.written_max)
        cdef str name
        record = <uint8_t *>PyBytes_AS_STRING(written)
        self.answer = PyBytes_FromStringAndSize(NULL, self.answer_bytes)
        out = put_answer_begin(<uint8_t *>PyBytes_AS_STRING(self.answer), fields, self.answer_bytes)
        for name in self.topics:
            if not read_commit_topic(&p, fields, &topic):
                return None             # never: the frame was read before
            out = put_answered_topic(out, fields, &topic)
            topic_text = PyUnicode_AsUTF8AndSize(name, &topic_bytes)
            cached = self.commits.topic_of(name, False)
            if cached is None or name in accepted:
                return None
            existing = <dict>by_topic.get(name)
            of_topic = accepted[name] = {}
            for in_topic in range(topic.partitions):
                if not read_commit_partition(&p, fields, &partition):
                    return None
                index = partition.index
                if self.is_too_long(partition.metadata.size):
                    return None
                if existing is not None:
                    before = existing.get(index)
                    if before is not None and partition.offset < (<CommittedOffset>before).offset:
                        return None     # the audit tells of it
                offset = CommittedOffset.__new__(CommittedOffset)
                offset.offset, offset.leader_epoch = partition.offset, partition.leader_epoch
                offset.metadata = ascii_text(&partition.metadata)
                offset.topic_id = cached.topic_id
                offset.commit_timestamp_ms = at_ms if partition.timestamp_ms < 0 else partition.timestamp_ms
                offset.has_expire_timestamp, offset.expire_timestamp = False, -1
                of_topic[index] = offset
                if len(of_topic) <= in_topic:
                    return None         # the partition is there twice
                record_end = put_offset(
                    record, <const char *>fields.group_id.data, fields.group_id.size, topic_text, topic_bytes,
                    partition.index, offset,
                )
                records_bytes += size_in_batch(written_size(record), position)
                record = record_end
                position += 1
                out = put_answered_partition(out, fields, partition.index)
            end_commit_topic(&p, fields)
            if fields.is_flexible:
                out[0] = 0
                out += 1
        if fields.is_flexible:
            out[0] = 0
        set_written_size(record, 0)
        return written_batch(written, position, records_bytes)

    cdef bint is_too_long(self, Py_ssize_t metadata_bytes) except -1:
        return metadata_bytes > 0 and metadata_bytes > self.commits.environment.config[OFFSET_METADATA_MAX_BYTES]

    def as_operation(self):
        return self.commits.as_operation(self.waiting, self.frame, self.topics)

    def send(self):
        self.waiting.send_frame(self.answer)
