"""What is wrong with a group beyond one rebalance: each finding with its evidence and one advice."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice, pairwise
from typing import Final

from coordinator.audit.schema import MemberRef
from coordinator.core.causes import Cause
from coordinator.explain import held_groups
from coordinator.explain.advice import SLOW_REJOIN_MS, STATIC_MEMBERSHIP, shorter_poll
from coordinator.explain.assignor_advice import EAGER_ASSIGNORS, cooperative
from coordinator.explain.deploys import rolling_deploy
from coordinator.explain.facts import Facts, Identity, Visit, densest, identity, label
from coordinator.explain.generation import CONSUMER, Generation, Outcome, Replacement
from coordinator.explain.history import GroupHistory
from coordinator.explain.old_clients import LACKS, too_old_now
from coordinator.explain.reasons import Leaving, topics_named
from coordinator.explain.reconciliation import Revocation
from coordinator.explain.rejected_clients import INCONSISTENT, advice_for_rejected, offered_assignors, rejected_now
from coordinator.explain.storms import UNKNOWN, Rebalances, storms_of_group
from coordinator.explain.words import Clock, Names, counted, duration, plain, utc_clock

SUBSCRIPTIONS_MAX: Final = 20
"""Different subscriptions of idle members that are told: each is compared with those of all members."""
WINDOW_MS: Final = 10 * 60_000
"""Departures within this time of each other belong together."""

FLAPS: Final = 3
"""How often a member comes and goes in `WINDOW_MS` until it flaps."""

SILENCES: Final = 2
CRASHES: Final = 2
"""How often, in `WINDOW_MS`, a client is gone without leaving until that is a loop."""

SLOW_REJOINS: Final = 3
"""In so many rebalances a member joins `SLOW_REJOIN_MS` later than all others until it is slow."""

TAKEN_BACK: Final = 3
"""How often, in `WINDOW_MS`, clients take an instance id back from each other until they share it."""

IDLE_REBALANCES: Final = 3
"""How many rebalances that stopped all members and moved nothing make a finding."""

EVIDENCE_NAMED: Final = 5

COMMITS_AWAITED_MS: Final = 10 * 60_000
"""After this time in one generation without a commit, a group does not commit."""


class Kind(StrEnum):
    FLAPPING_MEMBER = "flapping_member"
    CRASH_LOOP = "crash_loop"
    REBALANCE_STORM = "rebalance_storm"
    ROLLING_RESTART = "rolling_restart"
    ROLLING_DEPLOY = "rolling_deploy"
    SHORT_SESSION_TIMEOUT = "short_session_timeout"
    SLOW_REJOINER = "slow_rejoiner"
    HOLDS_UP_OTHERS = "holds_up_others"
    EAGER_WITHOUT_NEED = "eager_without_need"
    IDLE_MEMBERS = "idle_members"
    NO_COMMITS = "no_commits"
    SHARED_INSTANCE_ID = "shared_instance_id"
    WASTED_INSTANCE_ID = "wasted_instance_id"
    REJECTED_CLIENT = "rejected_client"
    TOO_OLD_CLIENT = "too_old_client"
    HELD_BY_CLUSTER = "held_by_cluster"
    COORDINATED_TWICE = "coordinated_twice"
    OUT_OF_RANGE = "out_of_range"
    DELETED_UNREAD = "deleted_unread"
    UNOWNED_PARTITIONS = "unowned_partitions"
    WAITS_FOR_TRANSACTION = "waits_for_transaction"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to change in a group. `from_ms` and `until_ms` bound its evidence (wall clock).

    `about` is the client that it is about, where a group may have the finding of several.
    """

    kind: Kind
    headline: str
    evidence: tuple[str, ...]
    advice: str
    from_ms: int
    until_ms: int
    about: str = ""

    def generations(self, history: GroupHistory) -> list[Generation]:
        """The generations in whose time its evidence lies, in order."""
        return [
            each
            for each in history.generations
            if each.started_ms is not None
            and each.started_ms <= self.until_ms
            and (each.ended_ms is None or each.ended_ms >= self.from_ms)
        ]


def findings(history: GroupHistory, now_ms: int, clock: Clock = utc_clock) -> list[Finding]:
    """All findings of a group at a wall-clock time, in ms since the epoch.

    A group that was removed, or never was, can only have those about members at another coordinator.
    """
    facts = Facts(history)
    looks = _LOOKS if history.exists else (_held_by_cluster,)
    return [finding for look in looks for finding in look(facts, now_ms, clock)]


def _flapping(facts: Facts, now_ms: int, clock: Clock) -> Iterator[Finding]:
    for who, visits in facts.visits.items():
        came_back = [each for each in visits if each.back_ms is not None and not each.removal.is_unheard]
        window = densest(came_back, WINDOW_MS, lambda each: each.removal.at_ms)
        if len(window) < FLAPS or len(window) < FLAPS * facts.most_at_once[who]:
            continue
        if all(each.removal.is_disconnected for each in window):
            continue  # a crash loop, which says more
        causes = {each.removal.cause.value.replace("_", " ") for each in window}
        first, last = window[0].removal.at_ms, window[-1].removal.at_ms
        yield Finding(
            Kind.FLAPPING_MEMBER,
            f"{label(who)} comes and goes: it left or was removed, and came back, {len(window)} times in"
            f" {duration(last - first)}",
            _newest(f"{clock(each.removal.at_ms)} {each.removal.cause.value.replace('_', ' ')}" for each in window),
            f"look at this client first ({', '.join(sorted(causes))}): each time, all members rebalance twice",
            first,
            last,
            label(who),
        )


def _crash_loop(facts: Facts, now_ms: int, clock: Clock) -> Iterator[Finding]:
    """A client that is gone without LeaveGroup, comes back under a new member id, and is gone again."""
    for who, visits in facts.visits.items():
        crashes = [each for each in visits if each.removal.is_disconnected]
        window = densest(crashes, WINDOW_MS, lambda each: each.removal.gone_ms)
        if len(window) < CRASHES * facts.most_at_once[who] or len(window) < CRASHES:
            continue
        first, last = window[0].removal.gone_ms, window[-1].removal.gone_ms
        yield Finding(
            Kind.CRASH_LOOP,
            f"{label(who)} was gone without leaving the group {len(window)} times in {duration(last - first)}, and came"
            f" back under a new member id in between: each time {_how_it_may_end(window)}",
            _newest(_crash(each, clock) for each in window),
            "look at why its process ends (its exit code, its log, the memory limit, a liveness probe), or what closes"
            " its connection; a longer session.timeout.ms would not help",
            first,
            window[-1].removal.at_ms,
            label(who),
        )


def _how_it_may_end(visits: list[Visit]) -> str:
    in_order = "it was closed in order, " if any(each.removal.may_be_closed for each in visits) else ""
    return f"{in_order}its process ended, or its connection was closed"


def _crash(visit: Visit, clock: Clock) -> str:
    removal = visit.removal
    back = "" if visit.back_ms is None else f"; back {duration(visit.back_ms - removal.gone_ms)} after that"
    return f"{clock(removal.gone_ms)} its connection closed; removed {clock(removal.at_ms)}{back}"


def _newest(evidence: Iterable[str]) -> tuple[str, ...]:
    """The newest of several pieces of evidence, and how many there are before them."""
    told = list(evidence)
    earlier = len(told) - EVIDENCE_NAMED
    return ((f"{earlier:,} earlier",) if earlier > 0 else ()) + tuple(told[-EVIDENCE_NAMED:])


def _storm(facts: Facts, now_ms: int, clock: Clock) -> Iterator[Finding]:
    history = facts.history
    started = [
        (
            each,
            Rebalances(each.rebalance_started_ms or 0, history.group_id, each.cause.value if each.cause else UNKNOWN),
        )
        for each in facts.complete
    ]
    storms = storms_of_group(history.group_id, (each for _, each in started))
    if not storms:
        return
    storm = max(storms, key=lambda each: each.rebalances)
    lost = sum(
        generation.rebalance_ms or 0
        for generation, each in started
        if storm.from_ms <= each.time_ms <= storm.until_ms and not each.is_growth
    )
    yield Finding(
        Kind.REBALANCE_STORM,
        storm.headline(clock),
        (f"{duration(lost)} of that passed in rebalances", *storm.told_causes()),
        f"look at the most frequent cause first: {_words(storm.causes[0][0])}",
        storm.from_ms,
        storm.until_ms,
    )


def _words(cause: str) -> str:
    return cause.replace("_", " ")


def _rolling_restart(facts: Facts, now_ms: int, clock: Clock) -> Iterator[Finding]:
    left = [
        visit
        for visits in facts.visits.values()
        for visit in visits
        if visit.removal.cause is Cause.MEMBER_LEFT
        and visit.removal.member.group_instance_id is None
        and visit.back_ms is not None
        and not Leaving(visit.removal).by_poll_timeout
    ]
    left.sort(key=lambda each: each.removal.at_ms)
    window = densest(left, WINDOW_MS, lambda each: each.removal.at_ms)
    sizes = [each.member_count or 0 for each in facts.stable]
    visits = Counter(identity(each.removal.member) for each in window)
    if any(number >= FLAPS * facts.most_at_once[who] for who, number in visits.items()):
        return  # a client that comes and goes several times: that is flapping
    members = sum(min(number, facts.most_at_once[who]) for who, number in visits.items())
    if members < 2 or members * 2 < max(sizes, default=0):
        return
    first, last = window[0].removal.at_ms, max(each.back_ms or 0 for each in window)
    count = sum(1 for each in facts.complete if first <= (each.rebalance_started_ms or 0) <= last)
    yield Finding(
        Kind.ROLLING_RESTART,
        f"a rolling restart without static membership: {counted(members, 'member')} left and came back in"
        f" {duration(last - first)}",
        (f"it took {counted(count, 'rebalance')}", "no member has a group.instance.id"),
        STATIC_MEMBERSHIP,
        first,
        last,
    )


def _rolling_deploy(facts: Facts, now_ms: int, clock: Clock) -> Iterator[Finding]:
    found = rolling_deploy(facts)
    if not found:
        return
    first = min(min(each.came.at_ms, each.gone.gone_ms) for each in found)
    last = max(max(each.came.at_ms, each.gone.at_ms) for each in found)
    count = sum(1 for each in facts.complete if first <= (each.rebalance_started_ms or 0) <= last)
    took = f"{counted(len(found), 'new member')} took the place of as many others in {duration(last - first)}"
    silent = sum(1 for each in found if each.gone.cause is Cause.SESSION_EXPIRED)
    yield Finding(
        Kind.ROLLING_DEPLOY,
        f"{took}, {silent} of which fell silent" if silent else f"a rolling deploy: {took}",
        (
            f"it took {counted(count, 'rebalance')}",
            *(
                f"{clock(each.came.at_ms)} {label(identity(each.came.member))} came,"
                f" {clock(each.gone.at_ms)} {label(identity(each.gone.member))} was gone"
                for each in found[:EVIDENCE_NAMED]
            ),
        ),
        (
            "if that was a deploy, have the old ones close their consumers when they stop; if not, look why their"
            " processes ended (exit codes, memory limits)"
            if silent
            else "for fewer rebalances replace more of them at once, or give each a group.instance.id that its"
            " successor keeps, and stop the old one first"
        ),
        first,
        last,
    )


def _short_session_timeout(facts: Facts, now_ms: int, clock: Clock) -> Iterator[Finding]:
    """A member that is back at once after its session expired on an open connection was alive: it paused.

    Whether its connection was open is unknown in older events; it may have been restarted then.
    """
    for who, visits in facts.visits.items():
        pauses = [
            each
            for each in visits
            if each.removal.cause is Cause.SESSION_EXPIRED
            and not each.removal.is_disconnected
            and not each.removal.is_unheard
            and each.back_ms is not None
            and each.removal.session_timeout_ms
        ]
        if len(pauses) < SILENCES:
            continue
        silences = [(each.removal.silent_ms or each.removal.session_timeout_ms or 0) for each in pauses]
        pauses_ms = [
            silence + (each.back_ms or 0) - each.removal.at_ms for each, silence in zip(pauses, silences, strict=True)
        ]
        timeout_ms = min(each.removal.session_timeout_ms or 0 for each in pauses)
        known = all(each.removal.connection_open for each in pauses)
        does = "pauses" if known else "is silent"
        unless_restarted = "" if known else "if it was not restarted, "
        unknown = () if known else ("whether its connection stayed open is unknown: it may have been restarted",)
        yield Finding(
            Kind.SHORT_SESSION_TIMEOUT,
            f"{label(who)} {does} longer than its session timeout of {duration(timeout_ms)}, and comes back",
            (
                *(
                    f"{clock(each.removal.at_ms)} removed, back {duration((each.back_ms or 0) - each.removal.at_ms)}"
                    f" later: silent for {duration(pause)}"
                    for each, pause in list(zip(pauses, pauses_ms, strict=True))[-5:]
                ),
                *unknown,
            ),
            f"{unless_restarted}raise {_session_setting(facts)} above {duration(max(pauses_ms))}, or shorten the pauses"
            " (garbage collection, CPU limits)",
            pauses[0].removal.at_ms,
            pauses[-1].removal.at_ms,
            label(who),
        )


def _session_setting(facts: Facts) -> str:
    is_epoch = facts.history.group_type == CONSUMER
    return "consumer.session.timeout.ms of the group" if is_epoch else "session.timeout.ms"


def _slow_rejoiner(facts: Facts, now_ms: int, clock: Clock) -> Iterator[Finding]:
    held: dict[Identity, list[tuple[Generation, int]]] = defaultdict(list)
    clients: dict[Identity, MemberRef] = {}
    for generation in facts.stable:
        found = generation.held_up()
        if found is not None and found[1] >= SLOW_REJOIN_MS:
            clients[identity(found[0])] = found[0]
            held[identity(found[0])].append((generation, found[1]))
    rebalances = sum(1 for each in facts.stable if (each.member_count or 0) > 1)
    for who, times in held.items():
        if len(times) >= SLOW_REJOINS and len(times) * 2 > rebalances:
            yield Finding(
                Kind.SLOW_REJOINER,
                f"{label(who)} held up {len(times)} of {rebalances} rebalances, by up to"
                f" {duration(max(ms for _, ms in times))}",
                _newest(f"{each.name}: {duration(ms)}" for each, ms in times),
                f"all others wait for it: look at what slows it, and {shorter_poll([clients[who]])} there",
                times[0][0].rebalance_started_ms or 0,
                times[-1][0].ended_ms or 0,
                label(who),
            )


def _holds_up_others(facts: Facts, now_ms: int, clock: Clock) -> Iterator[Finding]:
    """A member of a consumer group that others wait for: it is asked late, or takes long, to give up partitions."""
    held: dict[Identity, list[tuple[Generation, Revocation]]] = defaultdict(list)
    waits = 0
    for generation in facts.complete:
        slowest = None if generation.reconciliations is None else generation.reconciliations.slowest()
        if slowest is not None and slowest.waited_ms is not None:
            waits += 1
            if slowest.waited_ms >= SLOW_REJOIN_MS:
                held[identity(slowest.member)].append((generation, slowest))
    for who, times in held.items():
        if len(times) < SLOW_REJOINS or len(times) * 2 <= waits:
            continue
        took = [each for _, each in times if (each.took_ms or 0) >= SLOW_REJOIN_MS]
        yield Finding(
            Kind.HOLDS_UP_OTHERS,
            f"{label(who)} held up others in {len(times)} of the {waits} group epochs in which members waited for"
            f" partitions, by up to {duration(max(each.waited_ms or 0 for _, each in times))}",
            _newest(f"group epoch {epoch.generation_id}: {_wait(each)}" for epoch, each in times),
            f"look at what slows it, and {shorter_poll([times[-1][1].member])} there"
            if len(took) * 2 >= len(times)
            else "it is asked with its next heartbeat: check whether its process is stopped, or choose a shorter"
            " consumer.heartbeat.interval.ms of the group",
            times[0][0].rebalance_started_ms or 0,
            times[-1][0].ended_ms or 0,
            label(who),
        )


def _wait(revocation: Revocation) -> str:
    waited = f"{counted(len(revocation.waiting), 'member')} waited {duration(revocation.waited_ms or 0)}"
    if revocation.took_ms is None:
        return waited
    return f"{waited}; it took {duration(revocation.took_ms)} after it was asked"


def _eager_without_need(facts: Facts, now_ms: int, clock: Clock) -> Iterator[Finding]:
    idle = [
        generation
        for before, generation in pairwise(facts.stable)
        if generation.protocol_name in EAGER_ASSIGNORS
        and before.partitions
        and before.created_seq == generation.created_seq
        and generation.unowned_partition_ms
        and (generation.partitions_moved_needed == 0 or generation.partitions_moved == 0)
    ]
    if len(idle) < IDLE_REBALANCES:
        return
    lost = sum(each.unowned_partition_ms or 0 for each in idle)
    yield Finding(
        Kind.EAGER_WITHOUT_NEED,
        f"{len(idle)} rebalances stopped all members although no partition had to move: the assignor"
        f" {idle[-1].protocol_name} is eager",
        (f"partitions were without an owner for {duration(lost)} in sum",),
        cooperative((part.member for part in idle[-1].members.values()), idle[-1].protocol_name)
        or "use a cooperative assignor, with which members go on consuming what they keep, if all clients have one",
        idle[0].rebalance_started_ms or 0,
        idle[-1].ended_ms or 0,
    )


def _idle_members(facts: Facts, now_ms: int, clock: Clock) -> Iterator[Finding]:
    """Members that own nothing because their topics have fewer partitions than subscribers."""
    history = facts.history
    latest = history.latest
    if latest is None or latest.outcome is not Outcome.STABLE or not latest.partitions or not history.exists:
        return
    idle = [part.member for part in latest.members.values() if part.is_assigned and not _owns_any(history, part.member)]
    if latest.protocol_type != "consumer" or not idle:
        return
    names = Names(part.member for part in latest.members.values())
    count = latest.member_count or len(latest.members)
    for topics, members, partitions in _too_many(history, latest, idle):
        only = f"only {counted(partitions, 'partition')}"
        there = f"there {'is' if partitions == 1 else 'are'} {only}"
        why = f"{topics_named(topics)} {'has' if len(topics) == 1 else 'have'} {only}" if topics else there
        yield Finding(
            Kind.IDLE_MEMBERS,
            f"{counted(len(members), 'member')} of {count:,} {'has' if len(members) == 1 else 'have'} nothing to do:"
            f" {why}",
            (names.listed(members, 10),),
            "add partitions, or run fewer members",
            latest.ended_ms or 0,
            now_ms,
            topics_named(topics) if topics else "",
        )


def _too_many(
    history: GroupHistory, latest: Generation, idle: list[MemberRef]
) -> Iterator[tuple[tuple[str, ...], list[MemberRef], int]]:
    """The topics, idle members and partitions of each subscription with fewer partitions than subscribers.

    No topics: all members subscribe alike, or not all is known by name, so all partitions of the group are counted.
    """
    assert latest.partitions is not None
    subscriptions = {each: tuple(sorted(known.subscribed_topics)) for each, known in history.members.items()}
    is_known = all(subscriptions.values()) and not any(each.unnamed_partitions for each in latest.members.values())
    if not is_known or len(set(subscriptions.values())) == 1:
        if len(latest.members) > latest.partitions:
            yield (), idle, latest.partitions
        return
    counts = {topic: len(owners) for topic, owners in latest.owners().items()}
    by_topics: dict[tuple[str, ...], list[MemberRef]] = defaultdict(list)
    for member in idle:
        by_topics[subscriptions.get(member.member_id, ())].append(member)
    for topics, members in islice(by_topics.items(), SUBSCRIPTIONS_MAX):
        partitions = sum(counts.get(topic, 0) for topic in topics)
        subscribers = sum(not set(topics).isdisjoint(each) for each in subscriptions.values())
        if topics and partitions and subscribers > partitions:
            yield topics, members, partitions


def _owns_any(history: GroupHistory, member: MemberRef) -> bool:
    known = history.members.get(member.member_id)
    return known is None or bool(known.partitions) or known.unnamed_partitions > 0


def _no_commits(facts: Facts, now_ms: int, clock: Clock) -> Iterator[Finding]:
    history = facts.history
    latest = history.latest
    if latest is None or latest.outcome is not Outcome.STABLE or not latest.partitions or latest.ended_ms is None:
        return
    since_ms = now_ms - latest.ended_ms
    if not history.exists or latest.commits or latest.lag_after == 0 or since_ms < COMMITS_AWAITED_MS:
        return
    last = "" if history.last_commit_ms is None else f"; the last commit was at {clock(history.last_commit_ms)}"
    yield Finding(
        Kind.NO_COMMITS,
        f"nobody has committed an offset for {duration(since_ms)}{last}",
        (
            f"{latest.name} has been stable since {clock(latest.ended_ms)} with"
            f" {counted(latest.partitions, 'partition')}",
            "the lag is unknown" if latest.lag_after is None else f"the lag was {latest.lag_after:,}",
        ),
        "check enable.auto.commit and the code that commits; if offsets are kept elsewhere or there are no records,"
        " ignore this",
        latest.ended_ms,
        now_ms,
    )


def _shared_instance_id(facts: Facts, now_ms: int, clock: Clock) -> Iterator[Finding]:
    """Of two clients with one instance id, each replaces the other (KIP-345), as long as both are restarted."""
    for instance_id, replacements in facts.replacements.items():
        taken_back = [
            later
            for earlier, later in pairwise(replacements)
            if _taker(later) == (earlier.old_client_id, earlier.old_client_host) != _taker(earlier)
        ]
        window = densest(taken_back, WINDOW_MS, lambda each: each.at_ms)
        if len(window) < TAKEN_BACK:
            continue
        clients = sorted({label(_taker(each)) for each in window})
        first, last = window[0].at_ms, window[-1].at_ms
        yield Finding(
            Kind.SHARED_INSTANCE_ID,
            f"{' and '.join(clients)} take the group.instance.id {plain(instance_id)} from each other:"
            f" {len(window)} times in {duration(last - first)}",
            _newest(f"{clock(each.at_ms)} {label(_taker(each))} took it" for each in window),
            "give each consumer a group.instance.id of its own: the one that loses it is fenced, or joins again",
            first,
            last,
            plain(instance_id),
        )


def _wasted_instance_id(facts: Facts, now_ms: int, clock: Clock) -> Iterator[Finding]:
    """A static member that leaves for good gives up what static membership is for: its place while it is restarted."""
    for who, visits in facts.visits.items():
        left = [
            each
            for each in visits
            if each.removal.member.group_instance_id is not None
            and each.removal.cause is Cause.MEMBER_LEFT
            and each.removal.requested_by is None
            and each.back_ms is not None
        ]
        window = densest(left, WINDOW_MS, lambda each: each.removal.at_ms)
        if window:
            yield Finding(
                Kind.WASTED_INSTANCE_ID,
                f"{label(who)} is a static member, and left for good and came back"
                f" {counted(len(window), 'time')}: the group rebalances as if it had no group.instance.id",
                _newest(
                    f"{clock(each.removal.at_ms)} left, back {duration((each.back_ms or 0) - each.removal.at_ms)} later"
                    for each in window
                ),
                "let it stop without leaving: without LeaveGroup, or with member epoch -2 instead of -1 (KIP-848); look"
                " at the close options of its client, and at scripts that remove members",
                window[0].removal.at_ms,
                window[-1].back_ms or 0,
                label(who),
            )


def _taker(replacement: Replacement) -> Identity:
    return replacement.member.client_id, replacement.member.client_host


def _rejected_clients(facts: Facts, now_ms: int, clock: Clock) -> Iterator[Finding]:
    for each in rejected_now(facts.history, now_ms):
        who = label((each.member.client_id, each.member.client_host))
        last = each.events[-1]
        times = "" if last.count == 1 else f", {last.count:,} times so far"
        offers = tuple(offered_assignors(facts.history)) if each.error == INCONSISTENT else ()
        yield Finding(
            Kind.REJECTED_CLIENT,
            f"{who} cannot join: {each.reason}",
            (f"refused at {clock(last.time_ms)} with {last.error}{times}", *offers),
            advice_for_rejected(last),
            each.events[0].time_ms,
            last.time_ms,
            who,
        )


def _too_old_clients(facts: Facts, now_ms: int, clock: Clock) -> Iterator[Finding]:
    for member, events in too_old_now(facts.history, now_ms):
        who = label((member.client_id, member.client_host))
        last = events[-1]
        yield Finding(
            Kind.TOO_OLD_CLIENT,
            f"the client of {who} is too old {LACKS.get(last.api, 'for this server')}",
            (
                f"a client of this name and host asked for {plain(last.api)} v{last.refused_version} at"
                f" {clock(last.time_ms)}; the server has v{last.oldest_version} and later, and closed the connection",
            ),
            "use a newer client library: Kafka 4 refuses these versions, too (KIP-896)",
            events[0].time_ms,
            last.time_ms,
            f"{who} {last.api}",
        )


def _held_by_cluster(facts: Facts, now_ms: int, clock: Clock) -> Iterator[Finding]:
    """Of a group that nodes in front of a cluster are to coordinate: clients are in it at the cluster."""
    event = facts.history.held_by_cluster
    if event is None:
        return
    at_nodes = (f"{counted(len(facts.history.members), 'member')} at the nodes",) if event.is_owned else ()
    yield Finding(
        Kind.COORDINATED_TWICE if event.is_owned else Kind.HELD_BY_CLUSTER,
        held_groups.headline(event),
        (f"found at {clock(event.since_ms)}", f"{counted(event.member_count, 'member')} at the cluster", *at_nodes),
        held_groups.advice(event),
        event.since_ms,
        now_ms,
    )


_LOOKS: Final[tuple[Callable[[Facts, int, Clock], Iterator[Finding]], ...]] = (
    _flapping,
    _crash_loop,
    _storm,
    _rolling_restart,
    _rolling_deploy,
    _short_session_timeout,
    _slow_rejoiner,
    _holds_up_others,
    _eager_without_need,
    _idle_members,
    _no_commits,
    _shared_instance_id,
    _wasted_instance_id,
    _rejected_clients,
    _too_old_clients,
    _held_by_cluster,
)
