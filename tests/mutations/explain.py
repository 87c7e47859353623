"""Mutants of what is made of the audit events: histories, stories, findings."""

from typing import Final

from tests.mutations.mutant import Mutant

HISTORY: Final = "coordinator/explain/history.py"
GENERATION: Final = "coordinator/explain/generation.py"
STORY: Final = "coordinator/explain/story.py"
REASONS: Final = "coordinator/explain/reasons.py"
FINDINGS: Final = "coordinator/explain/findings.py"
STORMS: Final = "coordinator/explain/storms.py"
OWNERS: Final = "coordinator/explain/owners.py"
WORDS: Final = "coordinator/explain/words.py"
OWNERSHIP: Final = "coordinator/explain/ownership.py"

MUTANTS: Final = (
    Mutant(
        "confluent-kafka-python is taken for kafka-python",
        "coordinator/explain/clients.py",
        '(Library.LIBRDKAFKA, re.compile(r"rdkafka|confluent"))',
        '(Library.LIBRDKAFKA, re.compile(r"^rdkafka"))',
    ),
    Mutant(
        "partitions of a deleted topic are said to have no owner",
        HISTORY,
        "self.owners.deleted(topic, 0 if topic in generation.recreated_topics else now)",
        "continue",
    ),
    Mutant(
        "members that offer an eager assignor too are said to keep what they own",
        HISTORY,
        "and all(map(is_cooperative, member.protocols))",
        "",
    ),
    Mutant(
        "a client that gave up in a pause of the coordinator is blamed",
        GENERATION,
        "return 2 * (self.connection_closed_in_pause_ms or 0) > (self.session_timeout_ms or 0)",
        "return False",
    ),
    Mutant(
        "a client that has joined since is still said to be refused",
        "coordinator/explain/rejected_clients.py",
        "if is_recent and joined_ms.get((client_id, host), 0) < last.time_ms:",
        "if is_recent:",
    ),
    Mutant(
        "a member is told to have held up a group that waited for further members",
        GENERATION,
        "if self.slowest_join is None or self.is_from_empty:",
        "if self.slowest_join is None:",
    ),
    Mutant(
        "a replaced static member goes on under its old client",
        HISTORY,
        "event = with_clients(event, self.clients)",
        "pass",
    ),
    Mutant(
        "a double of an event is folded twice",
        HISTORY,
        "if event.seq <= self.last_seq:",
        "if event.seq < self.last_seq:",
    ),
    Mutant(
        "missing events are not noticed in a history",
        HISTORY,
        "elif event.seq != self.last_seq + 1 and",
        "elif event.seq < self.last_seq and",
    ),
    Mutant(
        "members of an earlier incarnation remain in a history",
        HISTORY,
        "self.members.clear()\n            self.clients.clear()\n",
        "self.clients.clear()\n",
    ),
    Mutant(
        "a member that joins an eager rebalance goes on consuming",
        HISTORY,
        "if not self._keeps_what_it_owns(known):",
        "if False:",
    ),
    Mutant(
        "an absence begins with the last rebalance",
        HISTORY,
        "generation.began_ms, generation.tries = previous.began_ms, previous.tries + 1",
        "generation.tries = previous.tries + 1",
    ),
    Mutant(
        "a removed member stopped when it was removed",
        HISTORY,
        "self.owners.gave_up(event.member.member_id, removal.stopped_ms)",
        "self.owners.gave_up(event.member.member_id, removal.at_ms)",
    ),
    Mutant(
        "a partition that is given up again stopped the second time",
        OWNERS,
        "            if owner.stopped_ms is None:\n                owner.stopped_ms = at_ms\n",
        "            owner.stopped_ms = at_ms\n",
    ),
    Mutant(
        "a rebalance that a crash cut short is told as in progress",
        HISTORY,
        "        self.loads.append(event)\n        self._close(Outcome.CUT_SHORT, event.time_ms)",
        "        self.loads.append(event)",
    ),
    Mutant(
        "who left before a rebalance is not told of it",
        HISTORY,
        "        generation.changes = changes\n",
        "",
    ),
    Mutant(
        "a static member that was replaced loses its partitions in a history",
        HISTORY,
        "previous.replaced_while_stable += earlier",
        "pass",
    ),
    Mutant(
        "moves that had to be are told as needless",
        GENERATION,
        "max(0, self.partitions_moved - self.partitions_moved_needed)",
        "self.partitions_moved",
    ),
    Mutant(
        "eager members own partitions during a rebalance",
        OWNERSHIP,
        'if last is None or "cooperative" not in last.protocol_name:',
        "if last is None:",
    ),
    Mutant(
        "the member that hung is not named",
        STORY,
        "late = [each for each in generation.late_members if each.cause is Cause.REBALANCE_TIMEOUT]",
        "late = [each for each in generation.late_members if each.cause is Cause.SYNC_TIMEOUT]",
    ),
    Mutant("the second cause of a rebalance is not told", STORY, "if len(triggers) == 1:", "if not triggers:"),
    Mutant(
        "a member that was closed is said to have exceeded its poll interval",
        REASONS,
        "return self._says(POLL_TIMEOUT)",
        "return self._says(CLOSED)",
    ),
    Mutant(
        "a member that committed just now may have hung", REASONS, "if idle_ms < limit_ms:", "if idle_ms > limit_ms:"
    ),
    Mutant("a name poses as words", WORDS, "_PLAIN_NAME.fullmatch(name) and", "name and"),
    Mutant("growth of a group is a storm", STORMS, "if not each.is_growth and", "if"),
    Mutant(
        "members that share a client id are flapping",
        FINDINGS,
        "if len(window) < FLAPS or len(window) < FLAPS * facts.most_at_once[who]:",
        "if len(window) < FLAPS:",
    ),
    Mutant(
        "a member that died pauses",
        FINDINGS,
        "            and not each.removal.is_unheard\n            and each.back_ms is not None",
        "            and not each.removal.is_unheard",
    ),
    Mutant(
        "a member whose process ended pauses",
        FINDINGS,
        "            and not each.removal.is_disconnected\n            and not each.removal.is_unheard\n",
        "            and not each.removal.is_unheard\n",
    ),
    Mutant(
        "a host that dies once with several clients of one name is a crash loop",
        FINDINGS,
        "        if len(window) < CRASHES * facts.most_at_once[who] or len(window) < CRASHES:",
        "        if len(window) < CRASHES:",
    ),
    Mutant(
        "a cooperative assignor is called eager",
        FINDINGS,
        "        if generation.protocol_name in EAGER_ASSIGNORS\n        and before.partitions",
        "        if before.partitions",
    ),
)
