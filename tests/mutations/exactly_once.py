"""Mutants that break exactly once, for the random histories (tests/simulation) to notice."""

from typing import Final

from tests.mutations.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "offsets in a transaction are accepted from any generation",
        "transactional.check",
        "return group.kind.offsets.validate_transactional_commit(\n"
        "    group.membership,\n"
        "    request.member_id,\n"
        "    request.group_instance_id,\n"
        "    request.generation_id,\n"
        "    request.topics,\n"
        "    context.topics,\n"
        ")",
        "return NONE",
    ),
    Mutant(
        "markers are written before the outcome is stored",
        "TransactionStateMachine.apply",
        "self._prepared[key] = event.after",
        "self.to_complete.append(event.after)",
    ),
    Mutant(
        "the last stable offset leaves out the oldest transaction",
        "ProducerStates.first_unstable_offset",
        "return next(iter(self.open.values())).first_offset if self.open else None",
        "return list(self.open.values())[1].first_offset if len(self.open) > 1 else None",
    ),
    Mutant(
        "an abort makes the offsets of a transaction visible",
        "CommittedOffsets.complete_transaction",
        "self.pending.complete(producer_id, committed, offsets_max)",
        "self.pending.complete(producer_id, True, offsets_max)",
    ),
    Mutant(
        "four batches of a producer are remembered",
        "BATCHES_REMEMBERED",
        "5",
        "4",
    ),
    Mutant(
        "a load forgets open transactions",
        "TransactionStateMachine.activate",
        "self.open = {key: None for key, transaction in self.transactions.items() if transaction.state is ONGOING}",
        "self.open = {}",
    ),
    Mutant(
        "a snapshot of producers forgets open transactions",
        "ProducerStates.restore",
        "open_at.append((entry.first_offset, entry.producer_id))",
        "pass",
    ),
    Mutant(
        "pending offsets count as stable",
        "_reject_unstable",
        "if answer.partition_index in unstable:",
        "if False:",
    ),
    Mutant(
        "a transaction is complete when its first marker is written",
        "MarkerSender._send",
        "remaining = set(failures)",
        "remaining = set()",
    ),
)
