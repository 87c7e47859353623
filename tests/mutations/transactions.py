"""Mutants of the transaction coordinator, and of transactions at the partitions."""

from typing import Final

from tests.mutations.mutant import Mutant

COORDINATOR_MUTANTS: Final = (
    Mutant(
        "a repeated InitProducerId raises the epoch again",
        "_initialized",
        "elif is_retry:\n    last_epoch = transaction.last_epoch  # a repeated request",
        "elif is_retry:\n    epoch += 1",
    ),
    Mutant(
        "any producer may name itself in InitProducerId",
        "initialize",
        "elif not _is_expected(transaction, request):",
        "elif False:",
    ),
    Mutant(
        "a producer that is a transaction ahead is fenced",
        "_check",
        "if bumps_epoch and is_prepared:",
        "if False:",
    ),
    Mutant(
        "an expected producer is forgotten when it was not named",
        "_initialized",
        "last_epoch = NO_EPOCH if expected == NO_EPOCH else epoch\nepoch += 1",
        "last_epoch = epoch\nepoch += 1",
    ),
    Mutant(
        "a producer of an older epoch may add partitions",
        "_check",
        "if transaction.epoch != request.producer_epoch or",
        "if transaction.epoch < request.producer_epoch or",
    ),
    Mutant(
        "partitions may be added while markers are written",
        "_check",
        "if transaction.state in PREPARED:",
        "if False:",
    ),
    Mutant(
        "each partition begins the transaction again",
        "add",
        "started_ms = context.now_ms if transaction.state in IDLE else transaction.started_ms",
        "started_ms = context.now_ms",
    ),
    Mutant(
        "verification takes every partition for added",
        "_verify",
        "tp in transaction.partitions",
        "True",
    ),
    Mutant(
        "an abort is answered as the commit that was stored",
        "_check",
        "if is_repeated and request.committed == (state is COMPLETE_COMMIT):",
        "if is_repeated:",
    ),
    Mutant(
        "the markers of transaction version 2 keep the epoch",
        "_prepared",
        "epoch=transaction.epoch + 1 if bumps_epoch else transaction.epoch,",
        "epoch=transaction.epoch,",
    ),
    Mutant(
        "a transaction is aborted a millisecond early",
        "abort_timed_out",
        "if transaction.started_ms + transaction.timeout_ms >= context.now_ms:",
        "if transaction.started_ms + transaction.timeout_ms > context.now_ms:",
    ),
    Mutant(
        "the markers of another transaction complete this one",
        "complete",
        "if (transaction.producer_id, transaction.epoch) != completed:",
        "if False:",
    ),
    Mutant(
        "a producer whose epochs are used up keeps its id",
        "end",
        "if bumps_epoch and transaction.is_epoch_exhausted:",
        "if False:",
    ),
    Mutant(
        "any state may follow any other",
        "TransactionChanged.apply",
        "check_transition(None if before is None else before.state, after.state)",
        "",
    ),
    Mutant(
        "the markers of a loaded transaction are not sent again",
        "TransactionStateMachine.activate",
        "self.to_complete = [transaction for transaction in self.transactions.values() if transaction.state"
        " in PREPARED]",
        "",
    ),
    Mutant(
        "a partition that cannot be written counts as written",
        "MarkerSender._write_all",
        "if error not in SETTLED",
        "if False",
    ),
    Mutant(
        "a partition that fails at once is tried twice as often",
        "MarkerSender._send",
        "retry_ms = min(retry_ms * 2, RETRY_MS_AT_MOST)",
        "pass",
    ),
    Mutant(
        "a pattern may match the beginning of an id",
        "Pattern.matches",
        "self._compiled.fullmatch(text)",
        "self._compiled.match(text)",
    ),
)

PARTITION_MUTANTS: Final = (
    Mutant(
        "a transaction begins in a partition without verification",
        "ProducerStates.check",
        "if begun is None or begun is not verification:",
        "if begun is None:\n    return ErrorCode.NONE\nif False:",
    ),
    Mutant(
        "a coordinator epoch that a client noted keeps the coordinator's marker away",
        "MarkerWriter.write_own",
        "return self._write(topic, partition, marker, ProducerStates.check_own_marker)",
        "return self._write(topic, partition, marker, ProducerStates.check_marker)",
    ),
    Mutant(
        "any client may write markers",
        "TransactionalWriteHandlers.write_markers",
        "if not self._node.config[WRITE_TXN_MARKERS_ENABLE]:",
        "if False:",
    ),
    Mutant(
        "a marker that cannot be written counts as written",
        "MarkerSender._write_all",
        "if error not in SETTLED",
        "if error is None",
    ),
    Mutant(
        "the epoch of markers opens a transaction that never ends",
        "partitions._check",
        "or request.producer_epoch >= EPOCH_MAX:",
        ":",
    ),
    Mutant(
        "an open transaction leaves no room for its end",
        "BYTES_TO_END",
        "BYTES_TO_END: Final = 64",
        "BYTES_TO_END: Final = 0",
    ),
    Mutant(
        "a transaction that began in the future never times out",
        "abort_timed_out",
        "if transaction.started_ms > context.now_ms:",
        "if transaction.started_ms < 0:",
    ),
    Mutant(
        "a verification outlives the marker",
        "ProducerStates.void_verification",
        "if marker.transaction_version < EPOCH_BUMP_VERSION or not is_of_next:",
        "if False:",
    ),
    Mutant(
        "the marker before it voids a verification",
        "ProducerStates.void_verification",
        "if marker.transaction_version < EPOCH_BUMP_VERSION or not is_of_next:",
        "if True:",
    ),
    Mutant(
        "a marker of transaction version 2 may have the epoch of the open transaction",
        "ProducerStates.check_marker",
        "if marker.transaction_version >= EPOCH_BUMP_VERSION and is_repeated",
        "if False and is_repeated",
    ),
    Mutant(
        "a transaction may begin after a batch that was refused",
        "ProducerStates.check",
        "if is_unknown or batch.base_sequence > begun.lowest_sequence:",
        "if is_unknown:",
    ),
    Mutant(
        "refused producers are remembered without end",
        "ProducerStates.end_verification",
        "if len(self._refused) > REFUSED_REMEMBERED:",
        "if False:",
    ),
    Mutant(
        "a produce does not wait for the transaction before it",
        "PartitionAdder.add",
        "not in errors.values() or now_ms >= until_ms:",
        "not in errors.values() or True:",
    ),
    Mutant(
        "an address may have transactional ids without end",
        "initialize",
        "elif not context.environment.may_create_transactional_id(context.client_host):",
        "elif False:",
    ),
    Mutant(
        "a transactional id that has expired counts still",
        "TransactionStateMachine.apply",
        "self._created.remove(key)",
        "pass",
    ),
    Mutant(
        "any update of a feature may lower its level",
        "_reason_against",
        "if update.level < current and update.upgrade_type not in DOWNGRADES:",
        "if False:",
    ),
    Mutant(
        "a feature is changed by a request that only validates",
        "FeatureHandlers._update",
        "if changed and not request.validate_only:",
        "if changed:",
    ),
    Mutant(
        "a producer with an open transaction expires",
        "ProducerStates.remove_expired",
        "if state.last_timestamp_ms <= latest_ms and state.first_offset is None",
        "if state.last_timestamp_ms <= latest_ms",
    ),
    Mutant(
        "an aborted transaction is not indexed",
        "ProducerDirectory.marker_appended",
        "if aborted is not None:\n    log.segments[-1].transaction_index.append(aborted)",
        "",
    ),
    Mutant(
        "what follows a snapshot is indexed twice",
        "ProducerDirectory._read",
        "segment.transaction_index.truncate(offset)",
        "pass",
    ),
    Mutant(
        "a snapshot is saved without the indexes that belong to it",
        "PartitionLog.save_producer_snapshot",
        "segment.transaction_index.save(self._fs, flush=flush)",
        "pass",
    ),
    Mutant(
        "committed readers get what is not committed yet",
        "FetchService._read_one",
        "before_offset = stable_offset if is_committed else None",
        "before_offset = None",
    ),
    Mutant(
        "a committed reader does not wait for the marker",
        "Available.update",
        "served_bytes = min(served_bytes, states.stable_bytes(log.appended_bytes))",
        "pass",
    ),
)

MUTANTS: Final = (*COORDINATOR_MUTANTS, *PARTITION_MUTANTS)
