"""Mutants of the transaction coordinator, and of transactions at the partitions."""

from typing import Final

from tests.mutations.mutant import Mutant

INITIALIZATION: Final = "coordinator/core/transactions/initialization.py"
PARTITIONS: Final = "coordinator/core/transactions/partitions.py"
END: Final = "coordinator/core/transactions/end.py"
EVENTS: Final = "coordinator/core/transactions/events.py"
MACHINE: Final = "coordinator/transactions/state_machine.py"
MARKERS: Final = "coordinator/transactions/markers.py"
ADDER: Final = "coordinator/transactions/partition_adder.py"
FEATURES: Final = "coordinator/metadata/features.py"
FEATURE_HANDLERS: Final = "coordinator/server/handlers/features.py"
PRODUCERS: Final = "coordinator/broker/producers.py"
DIRECTORY: Final = "coordinator/broker/producer_directory.py"
FETCH: Final = "coordinator/broker/fetch.py"
LOG: Final = "coordinator/log/partition_log.py"
PATTERN: Final = "coordinator/patterns.py"

COORDINATOR_MUTANTS: Final = (
    Mutant(
        "a repeated InitProducerId raises the epoch again",
        INITIALIZATION,
        "    elif is_retry:\n        last_epoch = transaction.last_epoch  # a repeated request\n",
        "    elif is_retry:\n        epoch += 1\n",
    ),
    Mutant(
        "any producer may name itself in InitProducerId",
        INITIALIZATION,
        "        elif not _is_expected(transaction, request):\n",
        "        elif False:\n",
    ),
    Mutant(
        "a producer that is a transaction ahead is fenced",
        END,
        "    if bumps_epoch and is_prepared:\n",
        "    if False:\n",
    ),
    Mutant(
        "an expected producer is forgotten when it was not named",
        INITIALIZATION,
        "        last_epoch = NO_EPOCH if expected == NO_EPOCH else epoch\n        epoch += 1\n",
        "        last_epoch = epoch\n        epoch += 1\n",
    ),
    Mutant(
        "a producer of an older epoch may add partitions",
        PARTITIONS,
        "    if transaction.epoch != request.producer_epoch or",
        "    if transaction.epoch < request.producer_epoch or",
    ),
    Mutant(
        "partitions may be added while markers are written",
        PARTITIONS,
        "    if transaction.state in PREPARED:\n",
        "    if False:\n",
    ),
    Mutant(
        "each partition begins the transaction again",
        PARTITIONS,
        "    started_ms = context.now_ms if transaction.state in IDLE else transaction.started_ms\n",
        "    started_ms = context.now_ms\n",
    ),
    Mutant(
        "verification takes every partition for added",
        PARTITIONS,
        "tp in transaction.partitions\n",
        "True\n",
    ),
    Mutant(
        "an abort is answered as the commit that was stored",
        END,
        "    if is_repeated and request.committed == (state is COMPLETE_COMMIT):\n",
        "    if is_repeated:\n",
    ),
    Mutant(
        "the markers of transaction version 2 keep the epoch",
        END,
        "        epoch=transaction.epoch + 1 if bumps_epoch else transaction.epoch,\n",
        "        epoch=transaction.epoch,\n",
    ),
    Mutant(
        "a transaction is aborted a millisecond early",
        END,
        "    if transaction.started_ms + transaction.timeout_ms >= context.now_ms:\n",
        "    if transaction.started_ms + transaction.timeout_ms > context.now_ms:\n",
    ),
    Mutant(
        "the markers of another transaction complete this one",
        END,
        "    if (transaction.producer_id, transaction.epoch) != completed:\n",
        "    if False:\n",
    ),
    Mutant(
        "a producer whose epochs are used up keeps its id",
        END,
        "    if bumps_epoch and transaction.is_epoch_exhausted:\n",
        "    if False:\n",
    ),
    Mutant(
        "any state may follow any other",
        EVENTS,
        "        check_transition(None if before is None else before.state, after.state)\n",
        "",
    ),
    Mutant(
        "the markers of a loaded transaction are not sent again",
        MACHINE,
        "        self.to_complete = [each for each in self.transactions.values() if each.state in PREPARED]\n",
        "",
    ),
    Mutant(
        "a partition that cannot be written counts as written",
        MARKERS,
        "        if error in SETTLED:\n",
        "        if True:\n",
    ),
    Mutant(
        "a partition that fails at once is tried twice as often",
        MARKERS,
        "        sending.is_writing = True\n",
        "        sending.is_writing = bool(data)\n",
    ),
    Mutant(
        "a pattern may match the beginning of an id",
        PATTERN,
        "self._compiled.fullmatch(text)",
        "self._compiled.match(text)",
    ),
)

PARTITION_MUTANTS: Final = (
    Mutant(
        "a transaction begins in a partition without verification",
        PRODUCERS,
        "            if begun is None or begun is not verification:\n",
        "            if begun is None:\n                return ErrorCode.NONE\n            if False:\n",
    ),
    Mutant(
        "a coordinator epoch that a client noted keeps the coordinator's marker away",
        "coordinator/broker/transaction_markers.py",
        "return self._write(topic, partition, marker, ProducerStates.check_own_marker)",
        "return self._write(topic, partition, marker, ProducerStates.check_marker)",
    ),
    Mutant(
        "any client may write markers",
        "coordinator/server/handlers/transactional_writes.py",
        "        if not self._node.config[WRITE_TXN_MARKERS_ENABLE]:\n",
        "        if False:\n",
    ),
    Mutant(
        "a marker that cannot be written counts as written",
        MARKERS,
        "        if error in SETTLED:\n",
        "        if error is not None:\n",
    ),
    Mutant(
        "the epoch of markers opens a transaction that never ends",
        "coordinator/core/transactions/partitions.py",
        " or request.producer_epoch >= EPOCH_MAX:",
        ":",
    ),
    Mutant(
        "an open transaction leaves no room for its end",
        "coordinator/transactions/state_machine.py",
        "BYTES_TO_END: Final = 64",
        "BYTES_TO_END: Final = 0",
    ),
    Mutant(
        "a transaction that began in the future never times out",
        "coordinator/core/transactions/end.py",
        "    if transaction.started_ms > context.now_ms:\n",
        "    if transaction.started_ms < 0:\n",
    ),
    Mutant(
        "a verification outlives the marker",
        PRODUCERS,
        "        if marker.transaction_version < EPOCH_BUMP_VERSION or not is_of_next:\n",
        "        if False:\n",
    ),
    Mutant(
        "the marker before it voids a verification",
        PRODUCERS,
        "        if marker.transaction_version < EPOCH_BUMP_VERSION or not is_of_next:\n",
        "        if True:\n",
    ),
    Mutant(
        "a marker of transaction version 2 may have the epoch of the open transaction",
        PRODUCERS,
        "        if marker.transaction_version >= EPOCH_BUMP_VERSION and is_repeated",
        "        if False and is_repeated",
    ),
    Mutant(
        "a transaction may begin after a batch that was refused",
        PRODUCERS,
        "            if is_unknown or batch.base_sequence > begun.lowest_sequence:\n",
        "            if is_unknown:\n",
    ),
    Mutant(
        "refused producers are remembered without end",
        PRODUCERS,
        "            if len(self._refused) > REFUSED_REMEMBERED:\n",
        "            if False:\n",
    ),
    Mutant(
        "a produce does not wait for the transaction before it",
        ADDER,
        "in errors.values() and now_ms < addition.until_ms:\n",
        "in errors.values() and False:\n",
    ),
    Mutant(
        "an address may have transactional ids without end",
        INITIALIZATION,
        "    elif not context.environment.may_create_transactional_id(context.client_host):\n",
        "    elif False:\n",
    ),
    Mutant(
        "a transactional id that has expired counts still",
        MACHINE,
        "                self._created.remove(key)\n",
        "                pass\n",
    ),
    Mutant(
        "any update of a feature may lower its level",
        FEATURES,
        "    if update.level < current and update.upgrade_type not in DOWNGRADES:\n",
        "    if False:\n",
    ),
    Mutant(
        "a feature is changed by a request that only validates",
        FEATURE_HANDLERS,
        "        if changed and not request.validate_only:\n",
        "        if changed:\n",
    ),
    Mutant(
        "a producer with an open transaction expires",
        PRODUCERS,
        "            if state.last_timestamp_ms <= latest_ms and state.first_offset is None\n",
        "            if state.last_timestamp_ms <= latest_ms\n",
    ),
    Mutant(
        "an aborted transaction is not indexed",
        DIRECTORY,
        "        if aborted is not None:\n            log.segments[-1].transaction_index.append(aborted)\n",
        "",
    ),
    Mutant(
        "what follows a snapshot is indexed twice",
        DIRECTORY,
        "                segment.transaction_index.truncate(offset)\n",
        "                pass\n",
    ),
    Mutant(
        "a snapshot is saved without the indexes that belong to it",
        LOG,
        "                segment.transaction_index.save(self._fs, flush=flush)\n",
        "                pass\n",
    ),
    Mutant(
        "committed readers get what is not committed yet",
        FETCH,
        "            before_offset = stable_offset if is_committed else None\n",
        "            before_offset = None\n",
    ),
    Mutant(
        "a committed reader does not wait for the marker",
        FETCH,
        "            served_bytes = min(served_bytes, states.stable_bytes(log.appended_bytes))\n",
        "            pass\n",
    ),
)

MUTANTS: Final = (*COORDINATOR_MUTANTS, *PARTITION_MUTANTS)
