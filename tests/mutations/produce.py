"""Mutants of what a Produce request may append, and of what is remembered of its producers."""

from typing import Final

from tests.mutations.mutant import Mutant

VALIDATOR_MUTANTS: Final = (
    Mutant(
        "the checksum of a produced batch is not verified",
        "check_header",
        "check_checksum(data, size)",
        "",
    ),
    Mutant(
        "a produced batch may take more offsets than it has records",
        "check_offsets",
        "if records <= 0 or offsets != records:",
        "if records <= 0:",
    ),
    Mutant(
        "a second produced batch is left out without an error",
        "check_header",
        "if size_of_batch(data, size, end) != 0:",
        "if False:",
    ),
    Mutant(
        "a produced batch may begin at any offset",
        "check_header",
        "if load_uint64(data + BASE_OFFSET) != 0:",
        "if False:",
    ),
    Mutant(
        "a client may write control batches",
        "check_header",
        "if attributes & CONTROL_FLAG:",
        "if False:",
    ),
    Mutant(
        "the producer with the id 0 needs no sequence",
        "check_header",
        "if header.producer_id > -1 and header.base_sequence < 0:",
        "if header.producer_id > 0 and header.base_sequence < 0:",
    ),
    Mutant(
        "zstd is taken in every version of Produce",
        "check_header",
        "if api_version < FIRST_VERSION_WITH_ZSTD and",
        "if api_version < 0 and",
    ),
    Mutant(
        "the offsets of records are not looked at",
        "check_record",
        "if offset != scan.index:",
        "if False:",
    ),
    Mutant(
        "records may go on behind the last one",
        "check_plain_records",
        "if scan.position != scan.end:",
        "if False:",
    ),
    Mutant(
        "a record without a timestamp is too old",
        "check_plain_records",
        "if timestamp_ms != NO_TIMESTAMP and len(outside) < RECORD_ERRORS_MAX:",
        "if len(outside) < RECORD_ERRORS_MAX:",
    ),
    Mutant(
        "the max timestamp of a produced batch is believed",
        "batch_to_store",
        "if max_timestamp_ms != header.max_timestamp_ms or header.attributes & LOG_APPEND_TIME_FLAG:",
        "if header.attributes & LOG_APPEND_TIME_FLAG:",
    ),
    Mutant(
        "a batch with the largest size is too large",
        "check_header",
        "if size > batch_bytes_max:",
        "if size >= batch_bytes_max:",
    ),
    Mutant(
        "LZ4 blocks that Kafka's clients cannot read are taken",
        "end_of_lz4_frame",
        "if not flags & LZ4_INDEPENDENT_BLOCKS:",
        "if False:",
    ),
    Mutant(
        "the checksum of the header of an LZ4 frame is not looked at",
        "lz4_single_block",
        "or frame[start - 5] != (",
        "or 0 * (",
    ),
    Mutant(
        "a zstd frame that lacks its checksum is whole",
        "end_of_zstd_frame",
        "if data[ZSTD_DESCRIPTOR] & ZSTD_CONTENT_CHECKSUM:",
        "if False:",
    ),
    Mutant(
        "what fills the memory for it is all of a zstd content",
        "_decompress_zstd",
        "if size == len(out) and reader.read(1):",
        "if False:",
    ),
    Mutant(
        "a single batch of a transaction is appended at once",
        "ProduceService.produce_at_once",
        "if request.transactional_id is not None or _is_transactional(data):",
        "if False:",
    ),
    Mutant(
        "a batch is appended before the producers of its log are known",
        "ProduceService._append",
        "if states is None:\n    return None",
        "if states is None:\n    states = ProducerStates(self._producers._limits)",
    ),
    Mutant(
        "a batch goes to another topic of the same name",
        "ProduceService._changed",
        "if self._partitions.locate(topic, partition) is log:",
        "if True:",
    ),
)

PRODUCER_MUTANTS: Final = (
    Mutant(
        "a transactional batch needs no transactional id",
        "ProduceService.produce",
        "request.transactional_id is None and (yield from has_transactional_batch(request))",
        "False",
    ),
    Mutant(
        "which records are to blame is not answered",
        "ProduceService._produce_one",
        "str(problem), problem.record_errors)",
        "str(problem))",
    ),
    Mutant(
        "a producer's first epoch begins at sequence 0",
        "ProducerStates.check",
        "and epoch != NO_PRODUCER_EPOCH:",
        ":",
    ),
    Mutant(
        "the producer that was first seen the longest time ago is forgotten",
        "ProducerShares.wrote",
        "share.others.move_to_end(producer_id)",
        "pass",
    ),
    Mutant(
        "the newest of too many producers is forgotten",
        "ProducerShares.first_to_forget",
        "producer_id = next(iter(producers))",
        "producer_id = next(reversed(producers))",
    ),
    Mutant(
        "invented producers push out those of other clients",
        "ProducerShares.first_to_forget",
        "share = max(self._shares.values(), key=len)",
        "share = min(self._shares.values(), key=len)",
    ),
    Mutant(
        "producers that wrote one batch go last",
        "ProducerShares.first_to_forget",
        "for producers in (share.single, share.others):",
        "for producers in (share.others, share.single):",
    ),
    Mutant(
        "a producer expires a millisecond late",
        "ProducerStates.remove_expired",
        "if state.last_timestamp_ms <= latest_ms and",
        "if state.last_timestamp_ms < latest_ms and",
    ),
    Mutant(
        "a producer expires by its first batch",
        "ProducerStates.update",
        "batch.max_timestamp_ms, batches,",
        "producer.last_timestamp_ms if producer else batch.max_timestamp_ms, batches,",
    ),
    Mutant(
        "producers are looked at for expiration once only",
        "ProducerDirectory.due",
        "if any(_states_of(log) for log in self._logs):",
        "if self._to_check:",
    ),
    Mutant(
        "all producers are looked at in one turn",
        "ProducerDirectory.due",
        "while self._to_check and checked < PRODUCERS_PER_TURN:",
        "while self._to_check:",
    ),
    Mutant(
        "what was read together with a damaged batch is left out",
        "readable_batches",
        "for header, data in _batches_before_damage(log, offset):",
        "for header, data in ():",
    ),
    Mutant(
        "after a damaged batch the next segment is read",
        "ReadableLog.offset_after_damage",
        "if damage.first_offset <= offset < damage.next_offset:",
        "if damage.first_offset > offset:",
    ),
)

RECOMPRESSION_MUTANTS: Final = (
    Mutant(
        "a batch that has the compression of its topic is compressed again",
        "ProduceService._produce_one",
        "if target is not None and target.compression != header.compression:",
        "if target is not None:",
    ),
    Mutant(
        "a recompressed batch may be larger than max.message.bytes",
        "Recompression._finish",
        "if size_bytes > self._batch_bytes_max:",
        "if False:",
    ),
    Mutant(
        "a recompressed batch is not transactional any more",
        "Recompression._finish",
        "| self._header.is_transactional * TRANSACTIONAL_FLAG",
        "",
    ),
    Mutant(
        "a recompressed batch is appended to a topic that was created meanwhile",
        "ProduceService.produce",
        "recompressed, answer = answer, self._changed(name, data.index, answer.log)",
        "recompressed, answer = answer, None",
    ),
    Mutant(
        "an address with many batches is compressed for until it has none",
        "RecompressionThreads._next",
        "self._waiting[source] = queue",
        "self._waiting[source] = queue\nself._waiting.move_to_end(source, last=False)",
    ),
    Mutant(
        "large batches are compressed again in the event loop",
        "Recompression.run_if_small",
        "if len(self._batch) - BATCH_HEADER_BYTES > bytes_max:",
        "if False:",
    ),
)

MUTANTS: Final = (*VALIDATOR_MUTANTS, *PRODUCER_MUTANTS, *RECOMPRESSION_MUTANTS)
