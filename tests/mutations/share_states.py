"""Mutants of the share coordinator."""

from typing import Final

from tests.mutations.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "an older state epoch may initialize a state",
        "decisions.initialize",
        "if _is_fenced(request.state_epoch, None if state is None else state.highest_state_epoch):",
        "if False:",
    ),
    Mutant(
        "a state that is initialized again forgets its leaders",
        "with_snapshot",
        "leader_epoch = max(state.highest_leader_epoch, leader_epoch)",
        "pass",
    ),
    Mutant(
        "a state without an offset has none of its records done",
        "decisions.initialize",
        "UNKNOWN_COUNT if request.start_offset == BY_STRATEGY else 0",
        "0",
    ),
    Mutant(
        "the snapshot of an initialization begins the count of updates again",
        "with_snapshot",
        "updates = 0 if state.updates >= updates_per_snapshot else state.updates",
        "updates = 0",
    ),
    Mutant(
        "an older leader writes a state",
        "decisions.write",
        "if _is_fenced(request.leader_epoch, state.highest_leader_epoch):",
        "if False:",
    ),
    Mutant(
        "a state is written before the topic is looked for",
        "decisions.write",
        "if not _exists(request.of, context):",
        "if False:",
    ),
    Mutant(
        "who is not checked is fenced",
        "_is_fenced",
        "return epoch != NO_EPOCH and highest is not None and epoch < highest",
        "return highest is not None and epoch < highest",
    ),
    Mutant(
        "a batch may end before it begins",
        "_problem_of",
        "if batch.last_offset < batch.first_offset:",
        "if False:",
    ),
    Mutant(
        "a state grows without a bound",
        "decisions.write",
        "if count > BATCHES_MAX:",
        "if False:",
    ),
    Mutant(
        "a write takes over the leader epoch of its request",
        "decisions.write",
        "_written(state, request, state.leader_epoch, context)",
        "_written(state, request, request.leader_epoch, context)",
    ),
    Mutant(
        "a read by a new leader is not stored",
        "decisions.read",
        "if request.leader_epoch in (NO_EPOCH, state.highest_leader_epoch):",
        "if True:",
    ),
    Mutant(
        "each read by the same leader is stored",
        "decisions.read",
        "if request.leader_epoch in (NO_EPOCH, state.highest_leader_epoch):",
        "if request.leader_epoch == NO_EPOCH:",
    ),
    Mutant(
        "an update has all batches of the state",
        "_written",
        'batches = merged(b"", packed(request.batches), request.start_offset)',
        "batches = merged(state.batches, packed(request.batches), request.start_offset)",
    ),
    Mutant(
        "a snapshot has only what is new",
        "_written",
        "merged(state.batches, packed(request.batches), start_offset),",
        'merged(b"", packed(request.batches), start_offset),',
    ),
    Mutant(
        "a copied snapshot seems to be new",
        "copy_if_cold",
        "written_ms=context.wall_ms)",
        "written_ms=context.wall_ms, created_ms=context.wall_ms)",
    ),
    Mutant(
        "cold states are copied for ever",
        "ShareCoordinator._cold",
        "for key in () if are_all_cold else keys:",
        "for key in keys:",
    ),
    Mutant(
        "the log of states is pruned before what follows is flushed",
        "Pruning.prune",
        "if log.recovery_point < end_offset:",
        "if False:",
    ),
    Mutant(
        "a tombstone keeps the log of states from being pruned",
        "SnapshotOffsets.add",
        "self._by_key.pop(key, None)",
        "self._by_key[key] = offset",
    ),
    Mutant(
        "states of deleted topics stay after a load",
        "ShareCoordinator._loaded",
        "self.topics_deleted(now_ms)",
        "pass",
    ),
    Mutant(
        "what could not be asked during a load is not asked again",
        "ShareStates._ask_some",
        "if not refused:",
        "if True:",
    ),
    Mutant(
        "a group with members loses its states",
        "begin_deletion",
        "if share.state is not EMPTY:",
        "if False:",
    ),
    Mutant(
        "an interrupted deletion of states is not taken up again",
        "_being_deleted",
        "if topic_id in states.deleting and context.topics.topic_id(name) == topic_id:",
        "if False:",
    ),
    Mutant(
        "a group is made to alter nothing",
        "begin_alteration",
        "if not request.topics:",
        "if False:",
    ),
    Mutant(
        "a share group is deleted before its states",
        "ShareOffsetsHandlers.delete_all_states",
        "errors = yield from self._delete_states(group_id, begun.topics)",
        "errors = {}",
    ),
)
