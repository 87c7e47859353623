"""Mutants of what is told of consumer groups: their epochs, conversions, reconciliations and metrics."""

from typing import Final

from tests.mutations.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "an epoch that others have followed is not told as started",
        "epochs.generation_started",
        '"target_epoch": event.epoch,',
        '"target_epoch": group.epoch,',
    ),
    Mutant(
        "a late target has the triggers of the epochs after it, too",
        "consumer_epochs._generation_started",
        "if asked is not None and event.epoch < group.epoch:",
        "if False:",
    ),
    Mutant(
        "the triggers of a computation that failed are lost",
        "forget_asked_target",
        "state.restore_triggers(*_pop_all_triggers(state))",
        "pass",
    ),
    Mutant(
        "each superseded epoch awaits its target",
        "consumer_epochs._superseded",
        "group.computing is not None and asked is not None and asked.epoch == event.epoch - 1",
        "True",
    ),
    Mutant(
        "topics that grow while a target is computed are not told",
        "consumer_epochs._generation_started",
        "_subscribed_topics(group, world) if asked is None else asked.topics",
        "_subscribed_topics(group, world)",
    ),
    Mutant(
        "an epoch has the triggers of the epochs before it",
        "GroupAuditState.begin_epoch",
        "return own",
        "return self.triggers",
    ),
    Mutant(
        "the triggers of an epoch stay for the next one",
        "GroupAuditState.begin_epoch",
        "self.epoch_triggers = NO_ITEMS",
        "pass",
    ),
    Mutant(
        "an epoch whose cause nobody noted has no trigger",
        "GroupAuditState.begin_epoch",
        "own = [Trigger(cause, member, reason, at_ms), *own]",
        "own = [Trigger(cause, None, reason, at_ms)]",
    ),
    Mutant(
        "a conversion does not tell how far its members are",
        "_upgraded",
        '"progress": _progress(group, state)',
        '"progress": {}',
    ),
    Mutant(
        "who is gone with a downgrade is not told",
        "_downgraded",
        "departed[: schema.MEMBERS_NAMED_MAX]",
        "[]",
    ),
    Mutant(
        "a conversion forgets what is known of the clients",
        "_keep_what_is_not_stored",
        "if had is not None:",
        "if False:",
    ),
    Mutant(
        "who gives up partitions waits for others",
        "_reconciled",
        "if current.state is UNRELEASED_PARTITIONS:",
        "if True:",
    ),
    Mutant(
        "who waited twice holds up others",
        "holds_up_others",
        "if len(times) < SLOW_REJOINS or len(times) * 2 <= waits:",
        "if len(times) * 2 <= waits:",
    ),
    Mutant(
        "who holds up others now and then is found",
        "holds_up_others",
        "if len(times) < SLOW_REJOINS or len(times) * 2 <= waits:",
        "if len(times) < SLOW_REJOINS:",
    ),
    Mutant(
        "a short wait holds up others",
        "holds_up_others",
        "if slowest.waited_ms >= SLOW_REJOIN_MS:",
        "if True:",
    ),
    Mutant(
        "who is asked late is told to poll less",
        "holds_up_others",
        "is_slow=len(took) * 2 >= len(times)",
        "is_slow=True",
    ),
    Mutant(
        "a later rebalance timeout is told for a revocation that was under way",
        "MemberSoFar.timeout_ms",
        "return self.revocation_timeout_ms if is_over else self.rebalance_timeout_ms",
        "return self.rebalance_timeout_ms",
    ),
    Mutant(
        "a classic member that is late keeps its partitions",
        "_was_revoking",
        "return removal.was_revoking or (",
        "return context.generation.is_epoch or (",
    ),
    Mutant(
        "an epoch that awaits its target has ended",
        "rebalances._superseded",
        "if not generation.awaits_target:",
        "if True:",
    ),
    Mutant(
        "members that leave count as a rebalance of a consumer group, which they do not on Kafka",
        "COUNTED_CAUSES",
        "{Cause.NEW_MEMBER, Cause.METADATA_CHANGED, Cause.STATIC_REPLACED, Cause.TOPICS_CHANGED}",
        "{*Cause}",
    ),
    Mutant(
        "a group whose records are removed with its members is removed",
        "delete_or_convert",
        "if emitter.so_far.members and not emitter.so_far.is_converting:",
        "if False:",
    ),
)
