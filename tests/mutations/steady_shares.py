"""Mutants of requests about records of share groups that need no handler, and of writes that need no decision."""

from typing import Final

from tests.mutations.mutant import Mutant

MUTANTS: Final = (
    # ---- requests
    Mutant(
        "a steady share request may have the epoch of another one",
        "SteadyShares.read",
        "if session is None or session.epoch != fields.session_epoch:",
        "if session is None:",
    ),
    Mutant(
        "a wrong steady acknowledgement is not undone",
        "SteadyShares.acknowledge",
        "complete(share_partition.window, acknowledged.changes, False, request.now_ms, limit)",
        "pass",
    ),
    Mutant(
        "a late steady acknowledgement is not counted",
        "SteadyShares.acknowledge",
        "if problem == NOT_ACQUIRED_CODE:",
        "if False:",
    ),
    Mutant(
        "a steady acknowledgement is answered before it is stored",
        "SteadyShares.acknowledge",
        "request.missing += 1",
        "pass",
    ),
    Mutant(
        "types of acknowledgements are not checked in steady requests",
        "steady_requests.are_valid",
        "if not 0 <= batch.types[position] < RENEW:",
        "if False:",
    ),
    Mutant(
        "an accepted record of a steady request is not counted",
        "Acknowledged.__call__",
        "request.shares.total.add(self.counts)",
        "pass",
    ),
    Mutant(
        "the start does not move after a steady acknowledgement",
        "Acknowledged.__call__",
        "if share_partition.window.advance():",
        "if False:",
    ),
    # ---- fetches
    Mutant(
        "a steady fetch passes those that wait",
        "SteadyFetches.can_fetch",
        "if share_partition is None or share_partition in self.waits:",
        "if share_partition is None:",
    ),
    Mutant(
        "a steady fetch gets records of open transactions",
        "SteadyFetches.can_fetch",
        "if request.settings.is_committed:",
        "if False:",
    ),
    Mutant(
        "a steady fetch does not wait for enough",
        "SteadyFetches.can_fetch",
        "if fields.max_wait_ms > 0 and (not request.fetched or",
        "if False and (not request.fetched or",
    ),
    Mutant(
        "steady fetches begin with the same partition",
        "SteadyFetches.can_fetch",
        "topic_id, partition = <tuple>partitions[(number + fields.session_epoch) % count]",
        "topic_id, partition = <tuple>partitions[number]",
    ),
    Mutant(
        "partitions with records come first again in steady fetches",
        "SteadyFetches.fetch",
        "del in_session[partition]",
        "pass",
    ),
    Mutant(
        "a steady fetch reads any amount at once",
        "SteadyFetches.can_fetch",
        "return read_bytes <= READ_AT_ONCE_BYTES",
        "return True",
    ),
    # ---- reads
    Mutant(
        "a read that goes on is not checked",
        "sequential_reads.view_on",
        "if damaged_batch(whole, offset) != NOT_DAMAGED:",
        "if False:",
    ),
    Mutant(
        "a read goes on with a batch that ends before its offset",
        "batches.damaged_batch",
        "or header.last_offset < offset < INT64_MAX",
        "",
    ),
    # ---- writes
    Mutant(
        "a fenced leader writes states",
        "StateWrite.is_update_of",
        "if self.leader_epoch != NOT_CHECKED and self.leader_epoch < <int32_t>state.highest_leader_epoch:",
        "if False:",
    ),
    Mutant(
        "who has an older state writes it",
        "StateWrite.is_update_of",
        "if self.state_epoch != NOT_CHECKED and self.state_epoch < <int32_t>state.highest_state_epoch:",
        "if False:",
    ),
    Mutant(
        "a batch that ends before it begins is written",
        "StateWrite.is_update_of",
        "if last < first:",
        "if False:",
    ),
    Mutant(
        "no snapshot follows the updates of a state",
        "StateWrite.handle",
        "if before.updates >= machine.updates_per_snapshot():",
        "if False:",
    ),
    Mutant(
        "a state grows without a limit",
        "StateWrite.handle",
        "if count_of(after.batches) > BATCHES_MAX:",
        "if False:",
    ),
    Mutant(
        "a steady ShareAcknowledge does not say who leads",
        "SteadyShareRequest.make_answer",
        "if self.api_key == SHARE_ACKNOWLEDGE and is_elsewhere(self.answers):",
        "if False:",
    ),
    Mutant(
        "states of deleted topics are written",
        "StateWriter.exists",
        "if version != self.existed_at:",
        "if self.existed_at < 0:",
    ),
)
