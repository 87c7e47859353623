"""What only streams groups have (KIP-1071), in words."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from coordinator.audit.schema import MemberRef
from coordinator.explain.claims import streams
from coordinator.explain.claims.findings import Found
from coordinator.explain.sentences.finding_words import FindingWords
from coordinator.explain.sentences.labels import label_of
from coordinator.explain.sentences.topologies import tasks_named, topology_problem
from coordinator.explain.sentences.wording import Wording
from coordinator.explain.words import Clock, counted, duration, listed, plain

PAIRS_NAMED: Final = 5
MEMBERS_NAMED: Final = 3
REASONS_NAMED: Final = 5

ADVICE: Final[Mapping[str, str]] = {
    "missing_source_topics": "create these topics, or correct their names in the application: Kafka Streams creates no"
    " source topics",
    "incorrectly_partitioned_topics": "give topics that are joined the same number of partitions, or repartition() one"
    " of them in the application; an internal topic that has another number than it should is created again after"
    " kafka-streams-application-reset",
    "missing_internal_topics": "they are created with the next heartbeats, unless that fails: the user of the"
    " application needs CREATE on them or on the cluster",
}
"""Status of a topology → what to do."""


def _who(member: MemberRef) -> str:
    """Who asked may be no member: then only its member id is known."""
    return label_of(member) if member.client_id else plain(member.member_id)


def _topology_not_ready(claim: streams.TopologyNotReady, clock: Clock) -> FindingWords:
    failed = [f"{plain(topic)} could not be created: {plain(why)}" for topic, why in claim.failed]
    more = [f"and {counted(len(failed) - REASONS_NAMED, 'other topic')}"] if len(failed) > REASONS_NAMED else []
    return FindingWords(
        f"the topology cannot run since {clock(claim.from_ms)}:"
        f" {topology_problem(claim.status, claim.topics, claim.unnamed_topics)}",
        (
            f"for {duration(claim.until_ms - claim.from_ms)}; members get no tasks and are told {plain(claim.detail)}",
            *failed[:REASONS_NAMED],
            *more,
        ),
        ADVICE.get(claim.status, "look at the log of the application, which has what its members are told"),
    )


def _shutdown_requested(claim: streams.ShutdownRequested, clock: Clock) -> FindingWords:
    who = _who(claim.member)
    return FindingWords(
        f"{who} asked that all members of the application end (SHUTDOWN_APPLICATION), at {clock(claim.from_ms)}",
        ("each member is told with its next heartbeat, until the group is empty",),
        "look in its log for the exception before that: its handler of uncaught exceptions answered it with"
        " SHUTDOWN_APPLICATION",
        who,
    )


def _stale_topology(claim: streams.StaleTopology, clock: Clock) -> FindingWords:
    names = [label_of(stale.member) for stale in claim.members]
    more = len(names) - MEMBERS_NAMED + claim.unnamed
    epochs = sorted({stale.topology_epoch for stale in claim.members})
    shown = [str(epoch) for epoch in epochs[:MEMBERS_NAMED]]
    which = f"epoch{'' if len(epochs) == 1 else 's'} {listed(shown, more=len(epochs) - len(shown))}"
    run = "runs" if len(names) + claim.unnamed == 1 else "run"
    return FindingWords(
        f"{listed(names[:MEMBERS_NAMED], more=max(more, 0))} {run} an older topology ({which}) than the group has"
        f" (epoch {claim.group_topology_epoch}), since {clock(claim.from_ms)}",
        ("each answer to a heartbeat of theirs says STALE_TOPOLOGY",),
        "start these instances with the version of the application that has the topology of the group",
    )


WORDS: Final[Mapping[type[Found], Callable[[Any, Clock], FindingWords]]] = {
    streams.TopologyNotReady: _topology_not_ready,
    streams.ShutdownRequested: _shutdown_requested,
    streams.StaleTopology: _stale_topology,
}


def could_not_run(claims: Sequence[streams.CouldNotRun], wording: Wording) -> Iterator[str]:
    for claim in claims:
        problem = topology_problem(claim.status, claim.topics, claim.unnamed_topics, is_over=True)
        yield f"The topology could not run: {problem}."


def shutdown_before(claims: Sequence[streams.ShutdownBefore], wording: Wording) -> Iterator[str]:
    for claim in claims:
        who = wording.names.of(claim.member) if claim.member.client_id else plain(claim.member.member_id)
        yield (
            f"{who} had asked that all members of the application end (SHUTDOWN_APPLICATION), at"
            f" {wording.clock(claim.at_ms)}."
        )


def tasks_moved(claims: Sequence[streams.TasksMoved], wording: Wording) -> Iterator[str]:
    for claim in claims:
        pairs: dict[tuple[str, str, bool], list[tuple[str, int]]] = defaultdict(list)
        for task in claim.tasks:
            names = wording.names.of(task.member), wording.names.of(task.before)
            pairs[*names, task.was_standby].append((task.subtopology_id, task.task))
        for (member, before, was_standby), tasks in list(pairs.items())[:PAIRS_NAMED]:
            yield _got(member, before, was_standby, tasks)
        others = sum(len(tasks) for tasks in list(pairs.values())[PAIRS_NAMED:])
        if others:
            yield f"{counted(others, 'other task')} moved."
        if claim.unnamed:
            yield f"Of {counted(claim.unnamed, 'other task')} that members got it is not told who ran them before."


def _got(member: str, before: str, was_standby: bool, tasks: list[tuple[str, int]]) -> str:
    what = tasks_named(tasks)
    standby = ", for which its process had a standby task" + ("" if len(tasks) == 1 else " each")
    return f"{member} got {what} of {before}{standby if was_standby else ''}."
