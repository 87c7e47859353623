"""Mutants of streams groups: their members, topologies, tasks and targets."""

from typing import Final

from tests.mutations.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "a streams group grows above its size",
        "streams.heartbeat._check",
        "if size >= limit or is_filled:",
        "if size > limit or is_filled:",
    ),
    Mutant(
        "a streams member may send the epoch before with any tasks",
        "streams.heartbeat._missed_the_answer",
        "is_subset(_named(request.active_tasks), assigned.active)",
        "True",
    ),
    Mutant(
        "a streams member may send the epoch before without its tasks",
        "streams.heartbeat._missed_the_answer",
        " or None in lists",
        "",
    ),
    Mutant(
        "a streams heartbeat that fails begins to create topics",
        "streams.heartbeat._decide",
        "(*step.unstored, *answer.unstored))",
        "(*step.unstored, *answer.unstored, *answer.begun))",
    ),
    Mutant(
        "the first heartbeat of a streams group keeps what is in memory",
        "streams.heartbeat._decide",
        "events = (*(event for event in step.unstored if isinstance(event, KEPT_OF_FIRST)), *step.events)",
        "events = (*step.unstored, *step.events)",
    ),
    Mutant(
        "one topic that may not be created does not stop the others",
        "_Answer._missing_topics",
        "if missing and not unauthorized:",
        "if missing:",
    ),
    Mutant(
        "any topology is that of the streams group",
        "member_update._other_topology",
        "not sent.is_same_as(topology)",
        "False",
    ),
    Mutant(
        "a newer topology is let in",
        "member_update._other_topology",
        "sent.epoch > topology.epoch or ",
        "",
    ),
    Mutant(
        "tasks that a topology does not have may be owned",
        "StreamsMemberUpdate._check_owned",
        "if part is None:",
        "if False:",
    ),
    Mutant(
        "new metadata of a streams member raises no epoch",
        "StreamsMemberUpdate._cause",
        "if self.metadata != self._before:",
        "if False:",
    ),
    Mutant(
        "topics that change do not change a streams group",
        "StreamsMemberUpdate._cause",
        "if configured.metadata_hash != group.metadata_hash or validated != group.validated_topology_epoch:",
        "if False:",
    ),
    Mutant(
        "the first assignment of a streams group waits for nobody",
        "StreamsMemberUpdate._begin_delay",
        "if not joins or delay_ms <= 0 or group.members or group.delayed_until_ms is not None:",
        "if True:",
    ),
    Mutant(
        "a streams member that revokes again keeps its epoch",
        "streams.reconciliation.reconcile",
        "_next(current, current.epoch + 1, asked)",
        "_next(current, current.epoch, asked)",
    ),
    Mutant(
        "a task is free although another process runs it",
        "TaskOwners.is_active_free",
        "task not in self.active",
        "True",
    ),
    Mutant(
        "a standby is given to the process that runs the task",
        "TaskOwners.is_standby_free",
        "self.active.get(task) != process_id",
        "True",
    ),
    Mutant(
        "an active task is given up when it is shown as standby still",
        "streams.reconciliation.Reconciliation.still_owns",
        "has_any(self.owned.active, tasks.active)",
        "False",
    ),
    Mutant(
        "a topic that could not be created is tried again at once",
        "streams.internal_topics.topics_to_create",
        "if context.now_ms < group.failed_until_ms else {}",
        "if False else {}",
    ),
    Mutant(
        "a shutdown is told when its group has been empty",
        "StreamsGroup.update_state",
        "if state is EMPTY:",
        "if False:",
    ),
    Mutant(
        "streams members do not get new time to revoke after a load",
        "streams.loaded.effects_of_loaded",
        "any(_has_to_revoke(group, member_id) for member_id in group.members)",
        "False",
    ),
    Mutant(
        "the tasks of a streams group are not even",
        "sticky._Quota.count",
        "self._tasks -= member.count",
        "pass",
    ),
    Mutant(
        "a target of a streams group that was overtaken is applied",
        "streams.large_targets.install",
        "group.membership.computing is not started",
        "False",
    ),
    Mutant(
        "the status of a topology is told with each comparison",
        "streams_tasks._status_fields",
        "if status == kept.status:",
        "if status is None:",
    ),
    Mutant(
        "a standby that was given up to become active counts as none",
        "StreamsAuditState.note_tasks",
        "if member.current.state is not TasksState.STABLE:",
        "if False:",
    ),
    Mutant(
        "tasks of a removed member have no last runner",
        "StreamsAuditState.forget_member",
        "self.active.pop(member_id, None)",
        "self.last_runner = {}",
    ),
    Mutant(
        "a topology that ran in between cannot run since the first time",
        "fold.streams._topology",
        "history.not_ready_ms is None or event.state_before != NOT_READY",
        "history.not_ready_ms is None",
    ),
    Mutant(
        "members that left before a shutdown was asked for are said to have left for it",
        "makers.streams.shutdown_claims",
        "removal.seq > asked.seq",
        "True",
    ),
    Mutant(
        "a topic that was created for a group and grew is told as created again",
        "fold.rebalances._rebalance_started",
        "and topic not in history.owners.appeared",
        "",
    ),
    Mutant(
        "what the audit of a streams group kept stays when it changes its kind",
        "consumer_epochs.forget_asked_target",
        "if isinstance(state.of_kind, AskedTarget):",
        "if state.of_kind is not None:",
    ),
)
