"""Mutants of nodes that only watch: what they read as it passes, and what they conclude from it."""

from typing import Final

from tests.mutations.mutant import Mutant

SEEN_MUTANTS: Final = (
    Mutant(
        "a member that left is said to have expired",
        "SeenGroup._add_cause",
        "if member.left_ms is not None:",
        "if False:",
    ),
    Mutant(
        "something follows from what a node did not see",
        "SeenGroup._add_cause",
        "elif not _is_watched(member, at_ms, presence):",
        "elif False:",
    ),
    Mutant(
        "a member that may have been late is said to have expired",
        "SeenGroup._add_cause",
        "and not (found.get(MAY_BE_LATE) and member.session_timeout_ms is None)",
        "",
    ),
    Mutant(
        "who gave up waiting is said to have closed its connection",
        "SeenGroup._closed",
        "closed.by_client and not closed.is_unanswered",
        "closed.by_client",
    ),
    Mutant(
        "a silent member is conclusive after its node was away",
        "SeenGroup.apply",
        "member.unseen_ms = sighting.from_ms",
        "pass",
    ),
    Mutant(
        "a member that is heard again stays unseen",
        "SeenGroup._member",
        "member.unseen_ms = None",
        "pass",
    ),
    Mutant(
        "a client without a member id yet is taken for one that bypasses the nodes",
        "SeenGroup._seen",
        'return found if found is not None else self.coming.get(member["group_instance_id"] or "")',
        "return found",
    ),
    Mutant(
        "clients that ask to join with any instance id are kept without a bound",
        "SeenGroup._comes",
        "if len(self.coming) >= GONE_KEPT:",
        "if False:",
    ),
    Mutant(
        "when a member of an earlier generation joined counts for this one",
        "SeenGroup.joins_of",
        "if member.joined_generation == generation_id and member.joined_ms is not None",
        "if member.joined_ms is not None",
    ),
    Mutant(
        "a client that takes a static place is named as the one before",
        "SeenGroup._add_clients",
        'member["client_id"], member["client_host"] = seen.client.client_id, seen.client.host',
        "pass",
    ),
    Mutant(
        "an assignor of a member whose offer was not seen counts for all",
        "SeenGroup.shared_protocols",
        "self.members[member_id].protocols if member_id in self.members else () for member_id in member_ids",
        "self.members[member_id].protocols for member_id in member_ids if member_id in self.members",
    ),
    Mutant(
        "someone who joined late is named although others were not seen to join",
        "_Rebalance._slowest_join",
        "None in took.values() or",
        "",
    ),
    Mutant(
        "a consumer group that became a classic one rebalances because of the first that joins",
        "_Rebalance._begin",
        "if cause is not None and not converted:",
        "if cause is not None:",
    ),
    Mutant(
        "another assignor is taken for another subscription",
        "_subscribes_otherwise",
        "member.topics != record.topics or member.server_assignor == record.server_assignor",
        "True",
    ),
    Mutant(
        "a time in which no rule watches a group is told again and again",
        "GroupObserver.be_watched",
        "seen.unwatched_ms = None",
        "pass",
    ),
    Mutant(
        "after a time in which no rule watches a group something follows from silence",
        "GroupObserver.be_watched",
        "seen.be_unseen(since_ms)",
        "pass",
    ),
)

REFUSAL_MUTANTS: Final = (
    Mutant(
        "a member id that is handed out is a refusal",
        "seen_refusals.OF_A_REBALANCE",
        "ErrorCode.MEMBER_ID_REQUIRED, ",
        "",
    ),
    Mutant(
        "a broker that is at work refuses clients",
        "refused",
        "case Joined(error=error) if error and error not in OF_A_REBALANCE | OF_A_MOVE:",
        "case Joined(error=error) if error and error not in OF_A_REBALANCE:",
    ),
    Mutant(
        "each commit with an error is told",
        "seen_refusals._is_reported",
        "return error in LOST_ITS_PLACE",
        "return True",
    ),
    Mutant(
        "that a removed member lives is told with each of its heartbeats",
        "seen_refusals._is_reported",
        "and not member.rejected",
        "",
    ),
)

HISTORY_MUTANTS: Final = (
    Mutant(
        "an absence of a node counts for groups that the cluster coordinates",
        "GroupHistory.note_coordinator",
        "if not self.is_of_cluster:\n    self.go_on([event])",
        "self.go_on([event])",
    ),
    Mutant(
        "a group that nodes adopt stays one of the cluster",
        "ObservedHistory.apply",
        "self.is_of_cluster = False",
        "pass",
    ),
    Mutant(
        "what nodes told of a group before it was watched is forgotten",
        "history_of",
        "elif record.event is not None:",
        "elif record.event is not None and not is_observed:",
    ),
    Mutant(
        "a reason that a node saw missing is said not to be in the log",
        "_usual_seen",
        "if not history.is_observed or removal.is_seen_by_node:",
        "if not history.is_observed:",
    ),
)

MUTANTS: Final = (*SEEN_MUTANTS, *REFUSAL_MUTANTS, *HISTORY_MUTANTS)
