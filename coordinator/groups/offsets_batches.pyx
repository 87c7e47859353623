"""What shards store → batches of `__consumer_offsets`. Compiled: each drain that stores anything makes one."""

from libc.stdint cimport int32_t, int64_t

from _wire.batch_builder cimport build_plain_batch, build_written_batch
from coordinator.core.stored_batch cimport StoredBatch
from coordinator.log.segments.segment_file cimport prebuilt


def build_batches(list stored not None, int64_t base_offset, int64_t at_ms, int32_t leader_epoch, build_other):
    cdef list built = []
    cdef StoredBatch plain
    for each in stored:
        if type(each) is StoredBatch and (<StoredBatch>each).producer is None:
            plain = each
            if plain.pieces is None:
                data = build_plain_batch(plain.pairs, base_offset, at_ms, leader_epoch)
            else:
                data = build_written_batch(
                    plain.pieces, <int32_t>plain.count, plain.size_bytes, base_offset, at_ms, leader_epoch
                )
            base_offset += plain.count
        else:
            data = build_other(each, base_offset, at_ms)
            base_offset += 1 if type(each) is not StoredBatch else (<StoredBatch>each).count
        built.append(prebuilt(data, base_offset - 1))
    return built
