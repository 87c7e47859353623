"""What a shard of the share coordinator stores → batches of `__share_group_state`."""

from libc.stdint cimport int32_t, int64_t

from _wire.batch_builder cimport build_plain_batch, build_written_batch
from coordinator.core.stored_batch cimport StoredBatch
from coordinator.log.partition.log_end cimport LogEnd
from coordinator.log.segments.segment_file cimport prebuilt

from coordinator.share_state.snapshot_offsets import SnapshotOffsets


cdef class ShareStateStream:
    cdef readonly LogEnd log
    cdef readonly object snapshots
    cdef int32_t leader_epoch

    def __init__(self, LogEnd log not None, int32_t leader_epoch):
        self.log, self.leader_epoch = log, leader_epoch
        self.snapshots = SnapshotOffsets()

    def build(self, list records not None, int64_t at_ms):
        cdef int64_t offset = self.log.log_end_offset
        cdef list built = []
        cdef StoredBatch stored
        cdef Py_ssize_t number
        for stored in records:
            if stored.pieces is None:
                data = build_plain_batch(stored.pairs, offset, at_ms, self.leader_epoch)
                for number, (key, value) in enumerate(stored.pairs):
                    self.snapshots.add(offset + number, key, value)
            else:                       # updates: no snapshot is among them
                data = build_written_batch(
                    stored.pieces, <int32_t>stored.count, stored.size_bytes, offset, at_ms, self.leader_epoch
                )
            offset += stored.count
            built.append(prebuilt(data, offset - 1))
        return built
