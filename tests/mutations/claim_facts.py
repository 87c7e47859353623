"""Facts without which claims were false, left out of the audit or out of what is made of them."""

from typing import Final

from tests.mutations.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "what was heard last was read at once, though the connection was muted",
        "_waited_ms",
        "return connection.muted_until_ms - connection.muted_from_ms or None",
        "return None",
    ),
    Mutant(
        "a member whose last sign was read late stopped when it was read",
        "Removal.may_have_stopped_earlier",
        "was_read_late |= self.heard_late_ms is not None",
        "pass",
    ),
    Mutant(
        "a client has one connection, which may be muted",
        "connection_at_removal",
        "if not connection.is_open:",
        "if False:",
    ),
    Mutant(
        "a SyncGroup that is refused is no sign of life",
        "members.sync",
        "heard = sign_of_life(request.group_id, request.member_id, context) if lives else ()",
        "heard = ()",
    ),
    Mutant(
        "a JoinGroup that is answered again is no sign of life",
        "joining.current_generation",
        "effects=sign_of_life(group.group_id, member.member_id, context)",
        "effects=()",
    ),
    Mutant(
        "a group that changes its type forgets who asked for an assignment",
        "upgrade.upgrade",
        "if member.synced_ms is not None:",
        "if False:",
    ),
    Mutant(
        "who never asked for its assignment had it",
        "_consumed_ms",
        "if removal.has_synced is False:",
        "if False:",
    ),
    Mutant(
        "a start after no stop is one after a crash",
        "_untold_end",
        "End.IN_ORDER_UNTOLD if event.after_clean_stop else End.WITHOUT_STOP",
        "End.WITHOUT_STOP",
    ),
    Mutant(
        "nothing is told of a time in which nothing could be written",
        "GroupCoordinator._report_failure",
        "if failed_ms is None or",
        "if True or",
    ),
    Mutant(
        "a load that a group tells nothing of was none",
        "GroupHistory.go_on",
        "self.loaded_ms = max(self.loaded_ms or 0, loaded_ms)",
        "pass",
    ),
    Mutant(
        "static members that did not join were not heard since the rebalance began",
        "_note_absent",
        "generation.rebalance_started_ms if absent.last_heard_ms is None else absent.last_heard_ms",
        "generation.rebalance_started_ms",
    ),
    Mutant(
        "a topic of the same name is the same topic",
        "Owners.note_topic_ids",
        "if self.topic_ids.get(topic, topic_id) != topic_id:",
        "if False:",
    ),
    Mutant(
        "a member that was to lose partitions has lost them, whatever it claims",
        "_apply_claims",
        "if event.claimed > kept:",
        "if False:",
    ),
    Mutant(
        "what a member of a consumer group gave up it gave up now",
        "_may_have_waited",
        "return misses_heartbeats(event.time_ms - event.last_heard_ms, tracked.session_timeout_ms)",
        "return False",
    ),
    Mutant(
        "all partitions without an owner are counted",
        "price._unowned_since",
        "or_more=generation.absences_are_partial or _was_unavailable(context)",
        "or_more=False",
    ),
    Mutant(
        "who has the place of a client that is refused is no news",
        "rejected_requests.rejected",
        "kind = event.api, event.error, event.client_id, whose, event.holder_id",
        "kind = event.api, event.error, event.client_id, whose",
    ),
    Mutant(
        "a client that was told that it has no place is late",
        "_for_removal",
        "if removal.denied is not None or removal.rejected:",
        "if removal.denied is not None:",
    ),
    Mutant(
        "a rebalance waits for as long as its member is silent",
        "_outlasting_ms",
        "waited_ms = again_ms - min(removal.last_heard_ms, disturbed_ms)",
        "waited_ms = silent_ms",
    ),
    Mutant(
        "a process that stood still exceeded its poll interval",
        "_why_unsaid",
        "(is_forgotten or is_early or _stood_still(removal, read_late_ms))",
        "(is_forgotten or is_early)",
    ),
    Mutant(
        "a member that was rejected after a start was not heard",
        "absences.unheard_since_start",
        "and not has_asked and",
        "and",
    ),
    Mutant(
        "a client that comes back by the id that it had has crashed",
        "Facts._asked_again",
        "found[joining.member.member_id].append(joining.at_ms)",
        "pass",
    ),
    Mutant(
        "who ended while it waited for an answer is not to blame",
        "Removal.may_have_ended",
        "return may_have_given_up or listened_ms >= timeout_ms > 0",
        "return may_have_given_up",
    ),
    Mutant(
        "a client that is muted after its removal waits no longer with a longer session",
        "_outlasting_ms",
        "if again.muted_since_ms is not None and again.muted_since_ms >= removal.last_heard_ms:",
        "if False:",
    ),
    Mutant(
        "when a client was muted last is not told with what is rejected",
        "rejections._muted_since_ms",
        "return None if from_ms is None else context.environment.wall.at(from_ms)",
        "return None",
    ),
    Mutant(
        "who asked again under its member id is back in the same process",
        "comings.pauses_too_long",
        "if all(pause.is_same_process for pause in pauses)",
        "if all(facts.came_again(pause.removal) for pause in pauses)",
    ),
    Mutant(
        "a connection does not tell who joins by it again",
        "connection_at_removal.rejected_as",
        'return "" if rejection is None or rejection.error != UNKNOWN_MEMBER else rejection.member_id',
        'return ""',
    ),
    Mutant(
        "a connection tells that a commit was refused amid a rebalance alone",
        "note_refused_commit",
        "if error in LIVES:",
        "if error in LIVES - {ErrorCode.UNKNOWN_MEMBER_ID}:",
    ),
    Mutant(
        "a member that was missed consumed nothing, though it was heard later",
        "_note_absence",
        "if event.old_member_id in history.owners.missed:",
        "if False:",
    ),
    Mutant(
        "a member loses what its assignment had and this one has not, and nothing else",
        "rebalances._assigned",
        "history.owners.has_no_more(member, partitions, event.time_ms)",
        "history.owners.revoked(member.member_id, event.lost, event.time_ms)",
    ),
    Mutant(
        "others were assigned what a member had until then, though it had lost that",
        "_apply_claims",
        "owners.had_lost(event.member, event.lost, tracked.joined_ms or 0, event.time_ms)",
        "pass",
    ),
    Mutant(
        "a member of an unknown assignor that never asked for its assignment had it",
        "members._rejoined",
        "is_next and event.has_synced is False and may_keep_what_it_owns(history, tracked)",
        "False",
    ),
    Mutant(
        "a member of a cooperative assignor goes on with what it never had",
        "_loses_what_it_had",
        "return not history.owners.never_began(event.member.member_id, event.lost)",
        "return True",
    ),
    Mutant(
        "the coordinator waits for a SyncGroup from the begin of the next rebalance on",
        "advice._stood_still",
        "if removal.cause is not Cause.SYNC_TIMEOUT:",
        "if True:",
    ),
)
