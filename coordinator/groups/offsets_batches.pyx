"""What shards store → batches of `__consumer_offsets`. Compiled: each drain that stores anything makes one."""

from libc.stdint cimport int32_t, int64_t

from _wire.batch_builder cimport build_plain_batch, build_written_batch
from coordinator.core.stored_batch cimport StoredBatch
from coordinator.log.partition.log_end cimport LogEnd
from coordinator.log.segments.segment_file cimport prebuilt

from _wire.control_records import EndTxnMarker
from _wire.records import build_batch

cdef enum:
    NO_PRODUCER = -1                    # neither an id nor an epoch


cdef class OffsetsStream:
    cdef readonly LogEnd log
    cdef int32_t leader_epoch
    cdef str compression
    cdef bint is_compressed

    def __init__(self, LogEnd log not None, int32_t leader_epoch, str compression="none"):
        self.log, self.leader_epoch = log, leader_epoch
        self.compression, self.is_compressed = compression, compression != "none"

    def build(self, list records not None, int64_t at_ms):
        cdef int64_t base_offset = self.log.log_end_offset
        cdef list built = []
        cdef StoredBatch stored
        for batch in records:
            if type(batch) is not StoredBatch:
                marker = EndTxnMarker(batch.committed, batch.coordinator_epoch).as_record()[:2]
                data = self.build_any([marker], batch.producer, base_offset, at_ms, "none", True)
                base_offset += 1
            else:
                stored = batch
                data = self.build_stored(stored, base_offset, at_ms)
                base_offset += stored.count
            built.append(prebuilt(data, base_offset - 1))
        return built

    cdef bytes build_stored(self, StoredBatch stored, int64_t base_offset, int64_t at_ms):
        if stored.producer is not None or self.is_compressed:
            return self.build_any(stored.as_pairs(), stored.producer, base_offset, at_ms, self.compression, False)
        if stored.pieces is None:
            return build_plain_batch(stored.pairs, base_offset, at_ms, self.leader_epoch)
        return build_written_batch(
            stored.pieces, <int32_t>stored.count, stored.size_bytes, base_offset, at_ms, self.leader_epoch
        )

    cdef bytes build_any(
        self, list records, producer, int64_t base_offset, int64_t at_ms, str compression, bint is_control
    ):
        producer_id, producer_epoch = (NO_PRODUCER, NO_PRODUCER) if producer is None else producer
        return build_batch(
            records, base_offset=base_offset, timestamp_ms=at_ms, compression=compression, producer_id=producer_id,
            producer_epoch=producer_epoch, is_transactional=producer is not None, is_control=is_control,
            partition_leader_epoch=self.leader_epoch,
        )
