"""Writes of the states of share partitions, decided at their turn without decisions or events.

Each acknowledgement is such a write. Nearly all of them are updates by the leader that has read the state: these are
checked, stored and applied here, as `core/share_state/decisions.py` does it. Any other becomes the operation that
decides it, in the same place of the queue, before anything has changed.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from _wire.big_endian cimport store_uint16, store_uint32, store_uint64
from _wire.unsigned_varints cimport put_varint, varint_bytes
from _wire.written_records cimport (
    WRITTEN_SIZE_BYTES, length_bytes, put_length, set_written_size, size_in_batch, written_size,
)
from coordinator.core.partitioning cimport partition_for
from coordinator.core.share_state.batches cimport Batch as PackedBatch, count_of, merged, packed
from coordinator.core.stored_batch cimport StoredBatch, written_batch
from coordinator.runtime.collected cimport Batch
from coordinator.runtime.steady cimport SteadyDrain

from _wire.embedded import encode_versioned
from _wire.errors import NONE
from _wire.messages.share_update_record import ShareUpdateKey
from coordinator.core.share_state import decisions, stored as records
from coordinator.core.share_state.requests import Write
from coordinator.core.share_state.state import NO_EPOCH
from coordinator.core.share_states import UNKNOWN_COUNT, StateBatch

cdef int32_t NOT_CHECKED = NO_EPOCH
cdef int64_t NOT_KNOWN = UNKNOWN_COUNT
cdef uint16_t VALUE_VERSION = records.VALUE_VERSION
cdef Py_ssize_t BATCHES_MAX = decisions.BATCHES_MAX
cdef Py_ssize_t BATCHES_WRITTEN_MAX = decisions.BATCHES_PER_OPERATION - 1
cdef object updated = records.updated

cdef enum:
    VALUE_FIXED_BYTES = 18              # version, snapshot epoch, leader epoch, start offset
    BATCH_BYTES = 20                    # first and last offset, state, count, no tags
    COUNT_TAG_BYTES = 7                 # one tagged field: its tag, its size, an int32


@cython.final
cdef class StateWriter:
    def __init__(self, of, coordinator, SteadyDrain drain not None, as_operation, ask):
        self.of, self.key = of, of.key
        key = ShareUpdateKey(group_id=of.group_id, topic_id=of.topic_id, partition=of.partition)
        self.record_key = encode_versioned(key, records.UPDATE)
        self.coordinator, self.drain, self.as_operation, self.ask = coordinator, drain, as_operation, ask
        self.topics = coordinator.environment.topics
        self.partition = self.existed_at = -1

    def __call__(
        self, int32_t state_epoch, int32_t leader_epoch, int64_t start_offset, int64_t delivery_complete_count,
        list batches not None, stored,
    ):
        self.write(state_epoch, leader_epoch, start_offset, delivery_complete_count, batches, stored)

    cdef int write(
        self, int32_t state_epoch, int32_t leader_epoch, int64_t start_offset, int64_t delivery_complete_count,
        list batches, stored
    ) except -1:
        cdef StateWrite write = StateWrite.__new__(StateWrite)
        cdef tuple shards
        write.writer, write.key, write.stored, write.batches = self, self.key, stored, batches
        write.state_epoch, write.leader_epoch, write.start_offset = state_epoch, leader_epoch, start_offset
        write.delivery_complete_count = delivery_complete_count
        if self.partition < 0:
            shards = self.coordinator.shards
            if not shards:
                self.ask(write.request(), stored)
                return 0
            self.partition = partition_for(self.key, <uint32_t>len(shards))
        self.drain.submit(self.partition, write)
        return 0

    cdef bint exists(self) except -1:
        """Whether the partition exists: known until topics change."""
        cdef int64_t version = self.topics.topics_version
        if version != self.existed_at:
            name = self.topics.topic_name(self.of.topic_id)
            if name is None or not 0 <= self.of.partition < self.topics.partition_count(name):
                return False
            self.existed_at = version
        return True


@cython.final
@cython.freelist(8)
cdef class StateWrite:
    def handle(self, machine, Batch batch not None, int64_t now_ms):
        cdef dict states = machine.states
        cdef StoredBatch stored
        cdef bytes batches
        before = states.get(self.key)
        if before is None or not self.is_update_of(before):
            return False
        if before.updates >= machine.updates_per_snapshot():
            return False                # a snapshot is due
        batches = merged(b"", packed(self.batches), self.start_offset)
        after = updated(before, before.leader_epoch, self.start_offset, self.delivery_complete_count, batches)
        if count_of(after.batches) > BATCHES_MAX:
            return False
        stored = self.update(after, batches)
        if stored.size_bytes > batch.bytes_max:
            return False
        states[self.key] = after
        machine.held_bytes += len(<bytes>after.batches) - len(<bytes>before.batches)
        machine.writes += 1
        batch.queued.append(self)
        batch.store_one(stored)
        batch.replies.append(self)
        return True

    cdef bint is_update_of(self, state) except -1:
        """Whether it may be written, and changes nothing but records and the start."""
        cdef int64_t first, last
        if len(self.batches) > BATCHES_WRITTEN_MAX:
            return False
        if self.leader_epoch != NOT_CHECKED and self.leader_epoch < <int32_t>state.highest_leader_epoch:
            return False
        if self.state_epoch != NOT_CHECKED and self.state_epoch < <int32_t>state.highest_state_epoch:
            return False
        for first, last, _, _ in self.batches:
            if last < first:
                return False
        return self.writer.exists()

    cdef StoredBatch update(self, after, bytes batches):
        """The record of an update, written."""
        cdef bytes key = self.writer.record_key
        cdef Py_ssize_t key_bytes = PyBytes_GET_SIZE(key), value_bytes, count = count_of(batches)
        cdef bint has_count = self.delivery_complete_count != NOT_KNOWN
        cdef bytes written
        cdef uint8_t *begin
        cdef uint8_t *out
        value_bytes = VALUE_FIXED_BYTES + varint_bytes(count + 1) + count * BATCH_BYTES
        value_bytes += COUNT_TAG_BYTES if has_count else 1
        written = PyBytes_FromStringAndSize(
            NULL, 2 * WRITTEN_SIZE_BYTES + length_bytes(key_bytes) + key_bytes + length_bytes(value_bytes)
            + value_bytes + 1,
        )
        begin = <uint8_t *>PyBytes_AS_STRING(written)
        out = put_length(begin + WRITTEN_SIZE_BYTES, key_bytes)
        memcpy(out, PyBytes_AS_STRING(key), key_bytes)
        out = put_length(out + key_bytes, value_bytes)
        out = put_value(out, after, self.start_offset, batches)
        if has_count:
            out[0], out[1], out[2] = 1, 0, 4    # one field: tag 0, 4 bytes
            store_uint32(out + 3, <uint32_t>self.delivery_complete_count)
        else:
            out[0] = 0
        out += COUNT_TAG_BYTES if has_count else 1
        out[0] = 0                      # headers
        set_written_size(begin, out + 1 - begin - WRITTEN_SIZE_BYTES)
        set_written_size(out + 1, 0)
        return written_batch(written, 1, size_in_batch(written_size(begin), 0))

    cdef object request(self):
        return Write(
            self.writer.of, self.state_epoch, self.leader_epoch, self.start_offset, self.delivery_complete_count,
            [StateBatch(*batch) for batch in self.batches],
        )

    def as_operation(self):
        return self.writer.as_operation(self.request(), self.stored)

    def send(self):
        self.stored(NONE)


cdef uint8_t *put_value(uint8_t *out, after, int64_t start_offset, bytes batches) except NULL:
    """The value of an update before its tags (`schemas/share_update_record.schema`)."""
    cdef const PackedBatch *batch = <const PackedBatch *>PyBytes_AS_STRING(batches)
    cdef Py_ssize_t count = count_of(batches), number
    store_uint16(out, VALUE_VERSION)
    store_uint32(out + 2, <uint32_t><int32_t>after.snapshot_epoch)
    store_uint32(out + 6, <uint32_t><int32_t>after.leader_epoch)
    store_uint64(out + 10, <uint64_t>start_offset)
    out = put_varint(out + VALUE_FIXED_BYTES, count + 1)
    for number in range(count):
        store_uint64(out, <uint64_t>batch[number].first)
        store_uint64(out + 8, <uint64_t>batch[number].last)
        out[16] = <uint8_t>batch[number].delivery_state
        store_uint16(out + 17, <uint16_t>batch[number].delivery_count)
        out[19] = 0
        out += BATCH_BYTES
    return out
