"""What is wrong with a group, in words: a headline, its evidence, and one advice."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from coordinator.explain.claims import findings as found
from coordinator.explain.claims.findings import Found
from coordinator.explain.protocols.table import protocol_of_claim
from coordinator.explain.sentences import held_groups, positions, progress, rejections, share, streams
from coordinator.explain.sentences.advice import STATIC_MEMBERSHIP, assignor_change, shorter_poll
from coordinator.explain.sentences.causes import topics_named
from coordinator.explain.sentences.finding_words import FindingWords
from coordinator.explain.sentences.labels import label, label_of
from coordinator.explain.sentences.storms import cause_counts, storm_headline
from coordinator.explain.words import Clock, Names, counted, duration, plain

EVIDENCE_NAMED: Final = 5
IDLE_NAMED: Final = 10


def finding_words(claim: Found, clock: Clock) -> FindingWords:
    """A finding in words, with times of day as `clock` writes them."""
    return _WORDS[type(claim)](claim, clock)


def _newest(evidence: Iterable[str]) -> tuple[str, ...]:
    """The newest of several pieces of evidence, and how many there are before them."""
    lines = list(evidence)
    earlier = len(lines) - EVIDENCE_NAMED
    return ((f"{earlier:,} earlier",) if earlier > 0 else ()) + tuple(lines[-EVIDENCE_NAMED:])


def _took(claim: Found) -> str:
    return duration(claim.until_ms - claim.from_ms)


def _comes_and_goes(claim: found.ComesAndGoes, clock: Clock) -> FindingWords:
    causes = {departure.cause.value.replace("_", " ") for departure in claim.departures}
    return FindingWords(
        f"{label(claim.client)} comes and goes: it left or was removed, and came back, {len(claim.departures)} times in"
        f" {_took(claim)}",
        _newest(
            f"{clock(departure.at_ms)} {departure.cause.value.replace('_', ' ')}" for departure in claim.departures
        ),
        f"look at this client first ({', '.join(sorted(causes))}): each time, all members rebalance twice",
        label(claim.client),
    )


def _crash_loop(claim: found.CrashLoop, clock: Clock) -> FindingWords:
    in_order = "it was closed in order, " if claim.may_be_closed else ""
    took = duration(claim.crashes[-1].closed_ms - claim.crashes[0].closed_ms)
    return FindingWords(
        f"{label(claim.client)} was gone without leaving the group {len(claim.crashes)} times in {took}, and came back"
        f" under a new member id in between: each time {in_order}its process ended, or its connection was closed",
        _newest(_crash(crash, clock) for crash in claim.crashes),
        "look at why its process ends (its exit code, its log, the memory limit, a liveness probe), or what closes its"
        " connection; a longer session.timeout.ms would not help",
        label(claim.client),
    )


def _crash(crash: found.Crash, clock: Clock) -> str:
    back = "" if crash.back_ms is None else f"; back {duration(crash.back_ms - crash.closed_ms)} after that"
    return f"{clock(crash.closed_ms)} its connection closed; removed {clock(crash.removed_ms)}{back}"


def _static_restarts(claim: found.StaticRestarts, clock: Clock) -> FindingWords:
    who = label(claim.client)
    return FindingWords(
        f"the static member {plain(claim.instance_id)} of {who} was restarted {len(claim.restarts)} times in"
        f" {_took(claim)}, each time before its session ended",
        _newest(f"{clock(restart)} it came back" for restart in claim.restarts),
        "look at why its process ends (its exit code, its log, the memory limit, a liveness probe): nobody reads its"
        " partitions while it is away, and no rebalance tells of it",
        plain(claim.instance_id),
    )


def _storm(claim: found.Storm, clock: Clock) -> FindingWords:
    return FindingWords(
        storm_headline(claim.rebalances, claim.from_ms, claim.until_ms, clock),
        (f"{duration(claim.lost_ms)} of that passed in rebalances", *cause_counts(claim.causes)),
        f"look at the most frequent cause first: {claim.causes[0][0].replace('_', ' ')}",
    )


def _rolling_restart(claim: found.RollingRestart, clock: Clock) -> FindingWords:
    return FindingWords(
        f"a rolling restart without static membership: {counted(claim.members, 'member')} left and came back in"
        f" {_took(claim)}",
        (f"it took {counted(claim.rebalances, 'rebalance')}", "no member has a group.instance.id"),
        STATIC_MEMBERSHIP,
    )


def _replaced(claim: found.Replaced, clock: Clock) -> FindingWords:
    took = f"{counted(len(claim.successions), 'new member')} took the place of as many others in {_took(claim)}"
    silent = claim.silent
    return FindingWords(
        f"{took}, {silent} of which fell silent" if silent else f"a rolling deploy: {took}",
        (
            f"it took {counted(claim.rebalances, 'rebalance')}",
            *(
                f"{clock(succession.came_ms)} {label_of(succession.came)} came,"
                f" {clock(succession.removed_ms)} {label_of(succession.gone)} was gone"
                for succession in claim.successions[:EVIDENCE_NAMED]
            ),
        ),
        (
            "if that was a deploy, have the old ones close their consumers when they stop; if not, look why their"
            " processes ended (exit codes, memory limits)"
            if silent
            else "for fewer rebalances replace more of them at once, or give each a group.instance.id that its"
            " successor keeps, and stop the old one first"
        ),
    )


def _pauses_too_long(claim: found.PausesTooLong, clock: Clock) -> FindingWords:
    does = "pauses" if claim.is_known else "is silent"
    unless = "" if claim.is_known else "if it was not restarted, "
    unknown = () if claim.is_known else ("whether its connection stayed open is unknown: it may have been restarted",)
    setting = protocol_of_claim(claim.is_epoch).session_timeout
    longest = duration(max(pause.silent_ms for pause in claim.pauses))
    return FindingWords(
        f"{label(claim.client)} {does} longer than its session timeout of {duration(claim.timeout_ms)}, and comes back",
        (
            *(
                f"{clock(pause.removed_ms)} removed, back {duration(pause.back_ms - pause.removed_ms)} later:"
                f" silent for {duration(pause.silent_ms)}"
                for pause in claim.pauses[-EVIDENCE_NAMED:]
            ),
            *unknown,
        ),
        f"{unless}raise {setting} above {longest}, or shorten the pauses (garbage collection, CPU limits)",
        label(claim.client),
    )


def _generation(held_up_in: found.HeldUpIn) -> str:
    return protocol_of_claim(held_up_in.is_epoch).generation(held_up_in.generation_id)


def _slow_rejoiner(claim: found.SlowRejoiner, clock: Clock) -> FindingWords:
    longest = max(held_up_in.held_up_ms for held_up_in in claim.held_up)
    return FindingWords(
        f"{label(claim.client)} held up {len(claim.held_up)} of {claim.rebalances} rebalances, by up to"
        f" {duration(longest)}",
        _newest(f"{_generation(held_up_in)}: {duration(held_up_in.held_up_ms)}" for held_up_in in claim.held_up),
        f"all others wait for it: look at what slows it, and {shorter_poll(joins_in_poll=claim.joins_in_poll)} there",
        label(claim.client),
    )


def _holds_up_others(claim: found.HoldsUpOthers, clock: Clock) -> FindingWords:
    slow = f"look at what slows it, and {shorter_poll(joins_in_poll=claim.joins_in_poll)} there"
    late = (
        "it is asked with its next heartbeat: check whether its process is stopped, or choose a shorter"
        " consumer.heartbeat.interval.ms of the group"
    )
    return FindingWords(
        f"{label(claim.client)} held up others in {len(claim.waits)} of the {claim.of} group epochs in which members"
        f" waited for partitions, by up to {duration(max(wait.waited_ms for wait in claim.waits))}",
        _newest(f"group epoch {wait.epoch}: {_wait(wait)}" for wait in claim.waits),
        slow if claim.is_slow else late,
        label(claim.client),
    )


def _wait(waited_for: found.WaitedFor) -> str:
    waited = f"{counted(waited_for.members, 'member')} waited {duration(waited_for.waited_ms)}"
    return (
        waited if waited_for.took_ms is None else f"{waited}; it took {duration(waited_for.took_ms)} after it was asked"
    )


def _stopped_for_nothing(claim: found.StoppedForNothing, clock: Clock) -> FindingWords:
    any_other = "use a cooperative assignor, with which members go on consuming what they keep, if all clients have one"
    return FindingWords(
        f"{claim.rebalances} rebalances stopped all members although no partition had to move: the assignor"
        f" {claim.assignor} is eager",
        (f"partitions were without an owner for {duration(claim.partition_ms)} in sum",),
        any_other if claim.change is None else assignor_change(claim.change),
    )


def _idle_members(claim: found.IdleMembers, clock: Clock) -> FindingWords:
    count, topics = len(claim.members), claim.topics
    only = f"only {counted(claim.partitions, 'partition')}"
    why = f"there {'is' if claim.partitions == 1 else 'are'} {only}"
    if topics:
        why = f"{topics_named(topics)} {'has' if len(topics) == 1 else 'have'} {only}"
    return FindingWords(
        f"{counted(count, 'member')} of {claim.of:,} {'has' if count == 1 else 'have'} nothing to do: {why}",
        (Names(claim.members).listed(claim.members, IDLE_NAMED),),
        "add partitions, or run fewer members",
        topics_named(topics) if topics else "",
    )


def _no_commits(claim: found.NoCommits, clock: Clock) -> FindingWords:
    last = "" if claim.last_commit_ms is None else f"; the last commit was at {clock(claim.last_commit_ms)}"
    name = protocol_of_claim(claim.is_epoch).generation(claim.generation_id)
    return FindingWords(
        f"nobody has committed an offset for {_took(claim)}{last}",
        (
            f"{name} has been stable since {clock(claim.from_ms)} with {counted(claim.partitions, 'partition')}",
            "the lag is unknown" if claim.lag is None else f"the lag was {claim.lag:,}",
        ),
        "check enable.auto.commit and the code that commits; if offsets are kept elsewhere or there are no records,"
        " ignore this",
    )


def _shared_instance_id(claim: found.SharedInstanceId, clock: Clock) -> FindingWords:
    clients = sorted({label(takeover.client) for takeover in claim.takes})
    return FindingWords(
        f"{' and '.join(clients)} take the group.instance.id {plain(claim.instance_id)} from each other:"
        f" {len(claim.takes)} times in {_took(claim)}",
        _newest(f"{clock(takeover.at_ms)} {label(takeover.client)} took it" for takeover in claim.takes),
        "give each consumer a group.instance.id of its own: the one that loses it is fenced, or joins again",
        plain(claim.instance_id),
    )


def _wasted_instance_id(claim: found.WastedInstanceId, clock: Clock) -> FindingWords:
    return FindingWords(
        f"{label(claim.client)} is a static member that left the group and came back"
        f" {counted(len(claim.leaves), 'time')}: the group rebalances as if it had no group.instance.id",
        _newest(
            f"{clock(leave.left_ms)} left, back {duration(leave.back_ms - leave.left_ms)} later"
            for leave in claim.leaves
        ),
        "let it stop without leaving: without LeaveGroup, or with member epoch -2 instead of -1 (KIP-848); look at the"
        " close options of its client, and at scripts that remove members",
        label(claim.client),
    )


def _cannot_join(claim: found.CannotJoin, clock: Clock) -> FindingWords:
    last, who = claim.refusal, label(claim.client)
    times = "" if last.count == 1 else f", {last.count:,} times so far"
    if claim.from_ms < last.time_ms:
        times += f", since {clock(claim.from_ms)}"
    return FindingWords(
        f"{who} cannot join: {rejections.reason(last, protocol_of_claim(claim.is_epoch))}",
        (f"refused at {clock(last.time_ms)} with {last.error}{times}", *rejections.offers(claim.offers)),
        rejections.advice(last),
        who,
    )


def _too_old(claim: found.TooOld, clock: Clock) -> FindingWords:
    last, who = claim.refusal, label(claim.client)
    return FindingWords(
        f"the client of {who} is too old {rejections.lacks(last)}",
        (
            f"a client of this name and host asked for {plain(last.api)} v{last.refused_version} at"
            f" {clock(last.time_ms)}; the server has v{last.oldest_version} and later, and closed the connection",
        ),
        "use a newer client library: Kafka 4 refuses these versions, too (KIP-896)",
        f"{who} {last.api}",
    )


def _held_by_cluster(claim: found.HeldByCluster, clock: Clock) -> FindingWords:
    event = claim.held
    at_nodes = (f"{counted(claim.members_here, 'member')} at the nodes",) if event.is_owned else ()
    return FindingWords(
        held_groups.headline(event),
        (f"found at {clock(event.since_ms)}", f"{counted(event.member_count, 'member')} at the cluster", *at_nodes),
        held_groups.advice(event),
    )


def _out_of_range(claim: found.OutOfRange, clock: Clock) -> FindingWords:
    return FindingWords(
        f"{positions.which(claim.partitions)}: {positions.OUT_OF_RANGE}",
        tuple(positions.beyond(partition) for partition in claim.partitions[: positions.NAMED]),
        "look whether the topic was created again or its log lost records, and who committed that; then set the"
        " offsets (coordinator groups reset-offsets)",
    )


def _deleted_unread(claim: found.DeletedUnread, clock: Clock) -> FindingWords:
    return FindingWords(
        positions.deleted_unread(claim),
        tuple(
            f"{positions.name(partition)}: committed {partition.committed_offset:,},"
            f" log start {partition.log_start_offset:,}"
            for partition in claim.partitions[: positions.NAMED]
        ),
        "if the group is to read all, keep records for longer than it may be away or behind (retention.ms,"
        " retention.bytes of the topic), and choose what auto.offset.reset does: latest skips all that is left",
    )


def _unowned_partitions(claim: found.UnownedPartitions, clock: Clock) -> FindingWords:
    unread = claim.unread
    return FindingWords(
        f"{positions.which(claim.partitions)}: {positions.UNOWNED}",
        (
            f"{counted(len(claim.partitions), 'partition')} of {counted(claim.of, 'partition')}",
            *([f"{counted(unread, 'record')} behind the committed offsets there"] if unread else []),
        ),
        "new partitions are assigned once the leader has learned of them (metadata.max.age.ms); if they stay without an"
        " owner, look whether the leader is away (a static member), or at the assignor; a restart of one member without"
        " group.instance.id makes the group rebalance",
    )


def _waits_for_transaction(claim: found.WaitsForTransaction, clock: Clock) -> FindingWords:
    return FindingWords(
        f"{positions.which([wait.partition for wait in claim.waits])}: read_committed waits for the end of a"
        " transaction",
        tuple(positions.wait(wait, clock) for wait in claim.waits[: positions.NAMED]),
        "look at the producer with that transactional.id: it neither commits nor aborts; a shorter"
        " transaction.timeout.ms ends what it leaves open",
    )


def _stands_still(claim: found.StandsStill, clock: Clock) -> FindingWords:
    return FindingWords(
        progress.stands_headline(claim, clock),
        tuple(progress.stands_evidence(claim, clock)),
        progress.stands_advice(claim),
    )


def _right_on_topic_lost(claim: found.RightOnTopicLost, clock: Clock) -> FindingWords:
    return FindingWords(
        progress.right_headline(claim, clock),
        tuple(progress.right_evidence(claim, clock)),
        progress.right_advice(claim),
        f"{plain(claim.principal)} {plain(claim.topic)}",
    )


def _subscribed_topic_missing(claim: found.SubscribedTopicMissing, clock: Clock) -> FindingWords:
    return FindingWords(
        progress.missing_headline(claim),
        tuple(progress.missing_evidence(claim, clock)),
        progress.MISSING_ADVICE,
        plain(claim.topic),
    )


_WORDS: Final[Mapping[type[Found], Callable[[Any, Clock], FindingWords]]] = {
    found.ComesAndGoes: _comes_and_goes,
    found.CrashLoop: _crash_loop,
    found.StaticRestarts: _static_restarts,
    found.Storm: _storm,
    found.RollingRestart: _rolling_restart,
    found.Replaced: _replaced,
    found.PausesTooLong: _pauses_too_long,
    found.SlowRejoiner: _slow_rejoiner,
    found.HoldsUpOthers: _holds_up_others,
    found.StoppedForNothing: _stopped_for_nothing,
    found.IdleMembers: _idle_members,
    found.NoCommits: _no_commits,
    found.SharedInstanceId: _shared_instance_id,
    found.WastedInstanceId: _wasted_instance_id,
    found.CannotJoin: _cannot_join,
    found.TooOld: _too_old,
    found.HeldByCluster: _held_by_cluster,
    found.OutOfRange: _out_of_range,
    found.DeletedUnread: _deleted_unread,
    found.UnownedPartitions: _unowned_partitions,
    found.WaitsForTransaction: _waits_for_transaction,
    found.StandsStill: _stands_still,
    found.RightOnTopicLost: _right_on_topic_lost,
    found.SubscribedTopicMissing: _subscribed_topic_missing,
    **share.WORDS,
    **streams.WORDS,
}
