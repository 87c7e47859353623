"""Mutants of what is made of the audit events: histories, stories, findings."""

from typing import Final

from tests.mutations.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "confluent-kafka-python is taken for kafka-python",
        "_NAMES",
        '(Library.LIBRDKAFKA, re.compile(r"rdkafka|confluent"))',
        '(Library.LIBRDKAFKA, re.compile(r"^rdkafka"))',
    ),
    Mutant(
        "partitions of a deleted topic are said to have no owner",
        "rebalances._rebalance_started",
        "history.owners.deleted(topic, 0 if is_new else now)",
        "continue",
    ),
    Mutant(
        "members that offer an eager assignor too are said to keep what they own",
        "members.keeps_what_it_owns",
        "[] if stable.is_epoch else [stable.protocol_name]), *member.protocols]",
        "[] if stable.is_epoch else [stable.protocol_name])]",
    ),
    Mutant(
        "a client that gave up in a pause of the coordinator is blamed",
        "Removal.gave_up",
        "return 2 * (self.connection_closed_in_pause_ms or 0) > (self.session_timeout_ms or 0)",
        "return False",
    ),
    Mutant(
        "a client that has joined since is still said to be refused",
        "cannot_join",
        "is_recent and facts.last_joined_ms.get((client_id, host), 0) < last.time_ms and not _is_over(last, history)",
        "is_recent and not _is_over(last, history)",
    ),
    Mutant(
        "a member is told to have held up a group that waited for further members",
        "Generation.held_up",
        "if self.slowest_join is None or self.is_from_empty:",
        "if self.slowest_join is None:",
    ),
    Mutant(
        "a replaced static member goes on under its old client",
        "GroupHistory.apply",
        "event = with_clients(event, self.clients)",
        "pass",
    ),
    Mutant(
        "a double of an event is folded twice",
        "GroupHistory.apply",
        "if event.seq <= self.last_seq:",
        "if event.seq < self.last_seq:",
    ),
    Mutant(
        "missing events are not noticed in a history",
        "FoldedGroup.note_place",
        "elif event.seq != self.last_seq + 1 and",
        "elif event.seq < self.last_seq and",
    ),
    Mutant(
        "members of an earlier incarnation remain in a history",
        "FoldedGroup.note_place",
        "self.members.clear()\nself.clients.clear()",
        "self.clients.clear()",
    ),
    Mutant(
        "a member that joins an eager rebalance goes on consuming",
        "members._rejoined",
        "elif history.group_type not in OF_EPOCHS:",
        "elif False:",
    ),
    Mutant(
        "an absence begins with the last rebalance",
        "rebalances._rebalance_started",
        "generation.began_ms, generation.tries = previous.began_ms, previous.tries + 1",
        "generation.tries = previous.tries + 1",
    ),
    Mutant(
        "a removed member stopped when it was removed",
        "apply_removal",
        "gave_up(event.member.member_id, removal.stopped_ms,",
        "gave_up(event.member.member_id, removal.at_ms,",
    ),
    Mutant(
        "a partition that is given up again stopped the second time",
        "Owners.gave_up",
        "if owner.stopped_ms is None or was_gone:",
        "if True:",
    ),
    Mutant(
        "a rebalance that a crash cut short is told as in progress",
        "groups._loaded",
        "if kept is None:\n    history.close_latest(Outcome.CUT_SHORT, event.time_ms)",
        "",
    ),
    Mutant(
        "who left before a rebalance is not told of it",
        "rebalances._rebalance_started",
        "generation.changes = changes",
        "",
    ),
    Mutant(
        "a static member that was replaced loses its partitions in a history",
        "rebalances._rebalance_started",
        "previous.replaced_while_stable += earlier",
        "pass",
    ),
    Mutant(
        "moves that had to be are told as needless",
        "Generation.moved_needlessly",
        "max(0, self.partitions_moved - self.partitions_moved_needed)",
        "self.partitions_moved",
    ),
    Mutant(
        "eager members own partitions during a rebalance",
        "owner_spans",
        "keeps = generation.is_epoch or generation.is_cooperative",
        "keeps = True",
    ),
    Mutant(
        "the member that hung is not named",
        "_join_delays",
        "late = [late_member for late_member in generation.late_members if late_member.cause is"
        " Cause.REBALANCE_TIMEOUT]",
        "late = [late_member for late_member in generation.late_members if late_member.cause is Cause.SYNC_TIMEOUT]",
    ),
    Mutant(
        "the second cause of a rebalance is not told",
        "other_causes",
        "by_kind.setdefault(_kind_of(claim), []).append(claim)",
        "pass",
    ),
    Mutant(
        "a member that was closed is said to have exceeded its poll interval",
        "Leaving.by_poll_timeout",
        "return self._says(POLL_TIMEOUT)",
        "return self._says(CLOSED)",
    ),
    Mutant(
        "a member that committed just now may have hung",
        "_why_unsaid",
        "idle_ms < limit_ms",
        "idle_ms > limit_ms",
    ),
    Mutant(
        "a name poses as words",
        "plain",
        "_PLAIN_NAME.fullmatch(name) and",
        "name and",
    ),
    Mutant(
        "growth of a group is a storm",
        "_storms",
        "if not rebalance.is_growth and",
        "if",
    ),
    Mutant(
        "members that share a client id are flapping",
        "comes_and_goes",
        "if len(window) < FLAPS or len(window) < FLAPS * facts.most_at_once[who]:",
        "if len(window) < FLAPS:",
    ),
    Mutant(
        "a member that died pauses",
        "pauses_too_long",
        "and not visit.removal.is_by_coordinator\n            and visit.back_ms is not None",
        "and not visit.removal.is_by_coordinator",
    ),
    Mutant(
        "a member whose process ended pauses",
        "pauses_too_long",
        "and (not visit.removal.is_disconnected or facts.came_again(visit.removal))",
        "",
    ),
    Mutant(
        "a host that dies once with several clients of one name is a crash loop",
        "crash_loop",
        "if len(window) < CRASHES * facts.most_at_once[who] or len(window) < CRASHES:",
        "if len(window) < CRASHES:",
    ),
    Mutant(
        "a cooperative assignor is called eager",
        "stopped_for_nothing",
        "if generation.protocol_name in EAGER_ASSIGNORS\nand before.partitions",
        "if before.partitions",
    ),
    Mutant(
        "members of another group at the cluster are told of each group of the partition",
        "GroupHistory.note_coordinator",
        "and event.group_id == self.group_id",
        "",
    ),
    Mutant(
        "members at the cluster are no finding of a group that has no events",
        "found_in",
        "looks = _LOOKS if history.exists else (clients.held_by_cluster,)",
        "looks = _LOOKS if history.exists else ()",
    ),
    Mutant(
        "members that have left the cluster go on to be a finding",
        "FoldedGroup.held_by_cluster",
        "or not last.member_count",
        "",
    ),
    Mutant(
        "members at the cluster are forgotten between batches",
        "recall",
        "history.held.extend(memory.held)",
        "pass",
    ),
    Mutant(
        "what says nothing of absences is taken for the event before a start of the coordinator",
        "GroupHistory.note_coordinator",
        "if isinstance(event, ABSENCES):",
        "if not isinstance(event, schema.GroupHeldByCluster):",
    ),
    Mutant(
        "a group that the nodes have taken in goes on to be told as the cluster's",
        "FoldedGroup.held_by_cluster",
        "or (self.is_folded and not last.is_owned)",
        "",
    ),
    Mutant(
        "a start of a node after it took the group over is told as an absence",
        "_Leaders._led",
        "self._stopped_ms, self._takeover, self._is_reported = None, event, True",
        "self._stopped_ms, self._takeover, self._is_reported = None, event, False",
    ),
)
