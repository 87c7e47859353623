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
        "members._keeps_what_it_owns",
        "and all(map(is_cooperative, member.protocols))",
        "",
    ),
    Mutant(
        "a client that gave up in a pause of the coordinator is blamed",
        "Removal.gave_up",
        "return 2 * (self.connection_closed_in_pause_ms or 0) > (self.session_timeout_ms or 0)",
        "return False",
    ),
    Mutant(
        "a client that has joined since is still said to be refused",
        "rejected_now",
        "if is_recent and joined_ms.get((client_id, host), 0) < last.time_ms:",
        "if is_recent:",
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
        "if history.group_type != CONSUMER and not _keeps_what_it_owns(history, known):",
        "if False:",
    ),
    Mutant(
        "an absence begins with the last rebalance",
        "rebalances._rebalance_started",
        "generation.began_ms, generation.tries = previous.began_ms, previous.tries + 1",
        "generation.tries = previous.tries + 1",
    ),
    Mutant(
        "a removed member stopped when it was removed",
        "members.take_removal",
        "history.owners.gave_up("
        "event.member.member_id, removal.stopped_ms, is_unsure=removal.may_have_stopped_earlier)",
        "history.owners.gave_up(event.member.member_id, removal.at_ms)",
    ),
    Mutant(
        "a partition that is given up again stopped the second time",
        "Owners.gave_up",
        "if owner.stopped_ms is None:\n    owner.stopped_ms = at_ms"
        "\n    owner.is_unsure = is_unsure or at_ms < owner.assigned_ms",
        "owner.stopped_ms = at_ms",
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
        "_during",
        'if last is None or "cooperative" not in last.protocol_name:',
        "if last is None:",
    ),
    Mutant(
        "the member that hung is not named",
        "_Telling._join_delays",
        "late = [each for each in generation.late_members if each.cause is Cause.REBALANCE_TIMEOUT]",
        "late = [each for each in generation.late_members if each.cause is Cause.SYNC_TIMEOUT]",
    ),
    Mutant(
        "the second cause of a rebalance is not told",
        "_Telling._other_triggers",
        "if len(triggers) == 1:",
        "if not triggers:",
    ),
    Mutant(
        "a member that was closed is said to have exceeded its poll interval",
        "Leaving.by_poll_timeout",
        "return self._says(POLL_TIMEOUT)",
        "return self._says(CLOSED)",
    ),
    Mutant(
        "a member that committed just now may have hung",
        "unknown_leave",
        "if idle_ms < limit_ms:",
        "if idle_ms > limit_ms:",
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
        "if not each.is_growth and",
        "if",
    ),
    Mutant(
        "members that share a client id are flapping",
        "_flapping",
        "if len(window) < FLAPS or len(window) < FLAPS * facts.most_at_once[who]:",
        "if len(window) < FLAPS:",
    ),
    Mutant(
        "a member that died pauses",
        "_short_session_timeout",
        "and not each.removal.is_unheard\nand each.back_ms is not None",
        "and not each.removal.is_unheard",
    ),
    Mutant(
        "a member whose process ended pauses",
        "_short_session_timeout",
        "and not each.removal.is_disconnected\nand not each.removal.is_unheard",
        "and not each.removal.is_unheard",
    ),
    Mutant(
        "a host that dies once with several clients of one name is a crash loop",
        "_crash_loop",
        "if len(window) < CRASHES * facts.most_at_once[who] or len(window) < CRASHES:",
        "if len(window) < CRASHES:",
    ),
    Mutant(
        "a cooperative assignor is called eager",
        "_eager_without_need",
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
        "findings",
        "looks = _LOOKS if history.exists else (_held_by_cluster,)",
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
        "or (self.is_taken_in and not last.is_owned)",
        "",
    ),
    Mutant(
        "a start of a node after it took the group over is told as an absence",
        "_Leaders._led",
        "self._stopped_ms, self._taken, self._is_told = None, event, True",
        "self._stopped_ms, self._taken, self._is_told = None, event, False",
    ),
)
