"""Mutants of what a Produce request may append, and of what is remembered of its producers."""

from typing import Final

from tests.mutations.mutant import Mutant

VALIDATOR: Final = "_wire/batch_validator.pyx"
FRAMES: Final = "_wire/compressed_frames.pyx"
PRODUCE: Final = "coordinator/broker/produce.py"
RECOMPRESSION: Final = "coordinator/broker/recompression.py"
PRODUCERS: Final = "coordinator/broker/producers.py"
PRODUCER_SHARES: Final = "coordinator/broker/producer_shares.py"
DIRECTORY: Final = "coordinator/broker/producer_directory.py"

VALIDATOR_MUTANTS: Final = (
    Mutant(
        "the checksum of a produced batch is not verified",
        VALIDATOR,
        "    check_checksum(data, size)\n",
        "",
    ),
    Mutant(
        "a produced batch may take more offsets than it has records",
        VALIDATOR,
        "    if records <= 0 or offsets != records:\n",
        "    if records <= 0:\n",
    ),
    Mutant(
        "a second produced batch is left out without an error",
        VALIDATOR,
        "    if size_of_batch(data, size, end) != 0:\n",
        "    if False:\n",
    ),
    Mutant(
        "a produced batch may begin at any offset",
        VALIDATOR,
        "    if load_uint64(data + BASE_OFFSET) != 0:\n",
        "    if False:\n",
    ),
    Mutant(
        "a client may write control batches",
        VALIDATOR,
        "    if attributes & CONTROL_FLAG:\n",
        "    if False:\n",
    ),
    Mutant(
        "the producer with the id 0 needs no sequence",
        VALIDATOR,
        "    if header.producer_id > -1 and header.base_sequence < 0:\n",
        "    if header.producer_id > 0 and header.base_sequence < 0:\n",
    ),
    Mutant(
        "zstd is taken in every version of Produce",
        VALIDATOR,
        "    if api_version < FIRST_VERSION_WITH_ZSTD and",
        "    if api_version < 0 and",
    ),
    Mutant(
        "the offsets of records are not looked at",
        VALIDATOR,
        "    if offset != scan.index:\n",
        "    if False:\n",
    ),
    Mutant(
        "records may go on behind the last one",
        VALIDATOR,
        "    if scan.position != scan.end:\n",
        "    if False:\n",
    ),
    Mutant(
        "a record without a timestamp is too old",
        VALIDATOR,
        "            if timestamp_ms != NO_TIMESTAMP and len(outside) < RECORD_ERRORS_MAX:\n",
        "            if len(outside) < RECORD_ERRORS_MAX:\n",
    ),
    Mutant(
        "the max timestamp of a produced batch is believed",
        VALIDATOR,
        "    if max_timestamp_ms != header.max_timestamp_ms or header.attributes & LOG_APPEND_TIME_FLAG:\n",
        "    if header.attributes & LOG_APPEND_TIME_FLAG:\n",
    ),
    Mutant(
        "a batch with the largest size is too large",
        VALIDATOR,
        "    if size > batch_bytes_max:\n",
        "    if size >= batch_bytes_max:\n",
    ),
    Mutant(
        "LZ4 blocks that Kafka's clients cannot read are taken",
        FRAMES,
        "    if not flags & LZ4_INDEPENDENT_BLOCKS:\n",
        "    if False:\n",
    ),
    Mutant(
        "the checksum of the header of an LZ4 frame is not looked at",
        FRAMES,
        "            or frame[start - 5] != (",
        "            or 0 * (",
    ),
    Mutant(
        "a zstd frame that lacks its checksum is whole",
        FRAMES,
        "    if data[ZSTD_DESCRIPTOR] & ZSTD_CONTENT_CHECKSUM:\n",
        "    if False:\n",
    ),
    Mutant(
        "what fills the memory for it is all of a zstd content",
        "_wire/compression.py",
        "        if size == len(out) and reader.read(1):\n",
        "        if False:\n",
    ),
    Mutant(
        "a single batch of a transaction is appended at once",
        PRODUCE,
        "        if request.transactional_id is not None or _is_transactional(data):\n",
        "        if False:\n",
    ),
    Mutant(
        "a batch is appended before the producers of its log are known",
        PRODUCE,
        "            if states is None:\n                return None\n",
        "            if states is None:\n                states = ProducerStates(self._producers._limits)\n",
    ),
    Mutant(
        "a batch goes to another topic of the same name",
        PRODUCE,
        "        if self._partitions.locate(topic, partition) is log:\n",
        "        if True:\n",
    ),
)

PRODUCER_MUTANTS: Final = (
    Mutant(
        "a transactional batch needs no transactional id",
        PRODUCE,
        "request.transactional_id is None and (yield from has_transactional_batch(request))\n",
        "False\n",
    ),
    Mutant(
        "which records are to blame is not answered",
        PRODUCE,
        "str(problem), problem.record_errors)",
        "str(problem))",
    ),
    Mutant(
        "a producer's first epoch begins at sequence 0",
        PRODUCERS,
        " and epoch != NO_PRODUCER_EPOCH:\n",
        ":\n",
    ),
    Mutant(
        "the producer that was first seen the longest time ago is forgotten",
        PRODUCER_SHARES,
        "            share.others.move_to_end(producer_id)\n",
        "            pass\n",
    ),
    Mutant(
        "the newest of too many producers is forgotten",
        PRODUCER_SHARES,
        "                producer_id = next(iter(producers))\n",
        "                producer_id = next(reversed(producers))\n",
    ),
    Mutant(
        "invented producers push out those of other clients",
        PRODUCER_SHARES,
        "            share = max(self._shares.values(), key=len)\n",
        "            share = min(self._shares.values(), key=len)\n",
    ),
    Mutant(
        "producers that wrote one batch go last",
        PRODUCER_SHARES,
        "for producers in (share.single, share.others):",
        "for producers in (share.others, share.single):",
    ),
    Mutant(
        "a producer expires a millisecond late",
        PRODUCERS,
        "            if state.last_timestamp_ms <= latest_ms and",
        "            if state.last_timestamp_ms < latest_ms and",
    ),
    Mutant(
        "a producer expires by its first batch",
        PRODUCERS,
        "ProducerState(batch.producer_epoch, batch.max_timestamp_ms, batches,",
        "ProducerState(batch.producer_epoch, "
        "producer.last_timestamp_ms if producer else batch.max_timestamp_ms, batches,",
    ),
    Mutant(
        "producers are looked at for expiration once only",
        DIRECTORY,
        "        if any(_states_of(log) for log in self._logs):\n",
        "        if self._to_check:\n",
    ),
    Mutant(
        "all producers are looked at in one turn",
        DIRECTORY,
        "while self._to_check and checked < PRODUCERS_PER_TURN:",
        "while self._to_check:",
    ),
    Mutant(
        "what was read together with a damaged batch is left out",
        DIRECTORY,
        "            for header, data in _batches_before_damage(log, offset):\n",
        "            for header, data in ():\n",
    ),
    Mutant(
        "after a damaged batch the next segment is read",
        "coordinator/log/partition_log.py",
        "if damage.first_offset <= offset < damage.next_offset:",
        "if damage.first_offset > offset:",
    ),
)

RECOMPRESSION_MUTANTS: Final = (
    Mutant(
        "a batch that has the compression of its topic is compressed again",
        PRODUCE,
        "                if target is not None and target.compression != header.compression:\n",
        "                if target is not None:\n",
    ),
    Mutant(
        "a recompressed batch may be larger than max.message.bytes",
        RECOMPRESSION,
        "        if size_bytes > self._batch_bytes_max:\n",
        "        if False:\n",
    ),
    Mutant(
        "a recompressed batch is not transactional any more",
        RECOMPRESSION,
        " | self._header.is_transactional * TRANSACTIONAL_FLAG\n",
        "\n",
    ),
    Mutant(
        "a recompressed batch is appended to a topic that was created meanwhile",
        PRODUCE,
        "recompressed, answer = answer, self._changed(name, data.index, answer.log)",
        "recompressed, answer = answer, None",
    ),
    Mutant(
        "an address with many batches is compressed for until it has none",
        "coordinator/broker/recompression_threads.py",
        "            self._waiting[source] = queue\n",
        "            self._waiting[source] = queue\n            self._waiting.move_to_end(source, last=False)\n",
    ),
    Mutant(
        "large batches are compressed again in the event loop",
        RECOMPRESSION,
        "        if len(self._batch) - BATCH_HEADER_BYTES > bytes_max:\n",
        "        if False:\n",
    ),
)

MUTANTS: Final = (*VALIDATOR_MUTANTS, *PRODUCER_MUTANTS, *RECOMPRESSION_MUTANTS)
