"""What is wrong with a group beyond one rebalance: each finding with its evidence and one advice."""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from typing import Final, TypeVar

from coordinator.audit.schema import MemberRef
from coordinator.core.causes import Cause
from coordinator.explain.advice import EAGER_ASSIGNORS, SLOW_REJOIN_MS, STATIC_MEMBERSHIP
from coordinator.explain.generation import Generation, Outcome, Removal
from coordinator.explain.history import GroupHistory
from coordinator.explain.reasons import Leaving
from coordinator.explain.storms import UNKNOWN, Rebalances, storms_of_group
from coordinator.explain.words import Clock, Names, counted, duration, host_of, plain, utc_clock

T = TypeVar("T")

WINDOW_MS: Final = 10 * 60_000
"""Departures within this time of each other belong together."""

FLAPS: Final = 3
"""How often a member comes and goes in `WINDOW_MS` until it flaps."""

RETURN_MS: Final = 60_000
"""A member that joins within this time after it left or was removed is taken for the same one."""

SILENCES: Final = 2
SLOW_REJOINS: Final = 3
"""In so many rebalances a member joins `SLOW_REJOIN_MS` later than all others until it is slow."""

IDLE_REBALANCES: Final = 3
"""How many rebalances that stopped all members and moved nothing make a finding."""

COMMITS_AWAITED_MS: Final = 10 * 60_000
"""After this time in one generation without a commit, a group does not commit."""


class Kind(StrEnum):
    FLAPPING_MEMBER = "flapping_member"
    REBALANCE_STORM = "rebalance_storm"
    ROLLING_RESTART = "rolling_restart"
    SHORT_SESSION_TIMEOUT = "short_session_timeout"
    SLOW_REJOINER = "slow_rejoiner"
    EAGER_WITHOUT_NEED = "eager_without_need"
    IDLE_MEMBERS = "idle_members"
    NO_COMMITS = "no_commits"


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


@dataclass(frozen=True, slots=True)
class _Visit:
    """A removal, and the next join of a client of the same identity within `RETURN_MS`."""

    removal: Removal
    back_ms: int | None


Identity = tuple[str, ...]
"""What a client keeps when it is restarted: its instance id, else its client id and host."""


def identity(member: MemberRef) -> Identity:
    if member.group_instance_id is not None:
        return (member.group_instance_id,)
    return member.client_id, member.client_host


def findings(history: GroupHistory, now_ms: int, clock: Clock = utc_clock) -> list[Finding]:
    """All findings of a group at a wall-clock time, in ms since the epoch."""
    facts = _Facts(history)
    return [finding for look in _LOOKS for finding in look(facts, now_ms, clock)]


class _Facts:
    """What several findings rest on, found once."""

    def __init__(self, history: GroupHistory) -> None:
        self.history = history

    @cached_property
    def complete(self) -> list[Generation]:
        """The generations that counted, each with a known start."""
        known = self.history.generations
        return [each for each in known if each.rebalance_started_ms is not None and not each.is_void]

    @cached_property
    def stable(self) -> list[Generation]:
        return [each for each in self.complete if each.outcome is Outcome.STABLE]

    @cached_property
    def visits(self) -> dict[Identity, list[_Visit]]:
        """Identity → its removals in order; by an administrator or a rebalance timeout too."""
        joins: dict[Identity, deque[int]] = defaultdict(deque)
        for generation in self.history.generations:
            for joined in generation.changes.joined:
                joins[identity(joined.member)].append(joined.at_ms)
        visits: dict[Identity, list[_Visit]] = defaultdict(list)
        for generation in self.history.generations:
            for removal in generation.changes.removed:
                waiting = joins[identity(removal.member)]
                while waiting and waiting[0] < removal.at_ms:
                    waiting.popleft()
                is_back = waiting and waiting[0] - removal.at_ms <= RETURN_MS
                back_ms = waiting.popleft() if is_back else None
                visits[identity(removal.member)].append(_Visit(removal, back_ms))
        return visits

    @cached_property
    def most_at_once(self) -> dict[Identity, int]:
        """Identity → how many members had it in one generation: clients on one host often share a client id."""
        most: dict[Identity, int] = defaultdict(int)
        for generation in self.history.generations:
            count = Counter(identity(part.member) for part in generation.members.values())
            for each, number in count.items():
                most[each] = max(most[each], number)
        return most


def _label(found: Identity) -> str:
    name = plain(found[0]) if found[0] else "a client without a client id"
    host = host_of(found[1]) if len(found) > 1 else ""
    return f"{name} ({host})" if host else name


def _flapping(facts: _Facts, now_ms: int, clock: Clock) -> Iterator[Finding]:
    for who, visits in facts.visits.items():
        came_back = [each for each in visits if each.back_ms is not None]
        window = _densest(came_back, WINDOW_MS, lambda each: each.removal.at_ms)
        if len(window) < FLAPS or len(window) < FLAPS * facts.most_at_once[who]:
            continue
        causes = {each.removal.cause.value.replace("_", " ") for each in window}
        first, last = window[0].removal.at_ms, window[-1].removal.at_ms
        yield Finding(
            Kind.FLAPPING_MEMBER,
            f"{_label(who)} comes and goes: it was removed and came back {len(window)} times in"
            f" {duration(last - first)}",
            tuple(f"{clock(each.removal.at_ms)} {each.removal.cause.value.replace('_', ' ')}" for each in window[-5:]),
            f"look at this client first ({', '.join(sorted(causes))}): each time, all members rebalance twice",
            first,
            last,
            _label(who),
        )


def _storm(facts: _Facts, now_ms: int, clock: Clock) -> Iterator[Finding]:
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
        "remove the most frequent cause first; until then, stop what keeps changing the group",
        storm.from_ms,
        storm.until_ms,
    )


def _rolling_restart(facts: _Facts, now_ms: int, clock: Clock) -> Iterator[Finding]:
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
    window = _densest(left, WINDOW_MS, lambda each: each.removal.at_ms)
    sizes = [each.member_count or 0 for each in facts.stable]
    if len(window) < 2 or len(window) * 2 < max(sizes, default=0):
        return
    if len(window) >= FLAPS * max(sizes, default=1):
        return  # each client several times: that is flapping
    first, last = window[0].removal.at_ms, max(each.back_ms or 0 for each in window)
    count = sum(1 for each in facts.complete if first <= (each.rebalance_started_ms or 0) <= last)
    yield Finding(
        Kind.ROLLING_RESTART,
        f"a rolling restart without static membership: {len(window)} members left and came back in"
        f" {duration(last - first)}",
        (f"it took {counted(count, 'rebalance')}", "no member has a group.instance.id"),
        STATIC_MEMBERSHIP,
        first,
        last,
    )


def _short_session_timeout(facts: _Facts, now_ms: int, clock: Clock) -> Iterator[Finding]:
    """A member that is back at once after its session expired was alive: it paused."""
    for who, visits in facts.visits.items():
        pauses = [
            each
            for each in visits
            if each.removal.cause is Cause.SESSION_EXPIRED
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
        yield Finding(
            Kind.SHORT_SESSION_TIMEOUT,
            f"{_label(who)} pauses longer than its session timeout of {duration(timeout_ms)}, and comes back",
            tuple(
                f"{clock(each.removal.at_ms)} removed, back {duration((each.back_ms or 0) - each.removal.at_ms)} later:"
                f" silent for {duration(pause)}"
                for each, pause in list(zip(pauses, pauses_ms, strict=True))[-5:]
            ),
            f"raise session.timeout.ms above {duration(max(pauses_ms))}, or shorten the pauses (garbage collection, CPU"
            " limits)",
            pauses[0].removal.at_ms,
            pauses[-1].removal.at_ms,
            _label(who),
        )


def _slow_rejoiner(facts: _Facts, now_ms: int, clock: Clock) -> Iterator[Finding]:
    held: dict[Identity, list[tuple[Generation, int]]] = defaultdict(list)
    for generation in facts.stable:
        found = generation.held_up()
        if found is not None and found[1] >= SLOW_REJOIN_MS:
            held[identity(found[0])].append((generation, found[1]))
    rebalances = sum(1 for each in facts.stable if (each.member_count or 0) > 1)
    for who, times in held.items():
        if len(times) >= SLOW_REJOINS and len(times) * 2 > rebalances:
            yield Finding(
                Kind.SLOW_REJOINER,
                f"{_label(who)} held up {len(times)} of {rebalances} rebalances, by up to"
                f" {duration(max(ms for _, ms in times))}",
                tuple(f"generation {each.generation_id}: {duration(ms)}" for each, ms in times[-5:]),
                "all others wait for it: process less per poll() there (max.poll.records), or look at what slows it",
                times[0][0].rebalance_started_ms or 0,
                times[-1][0].ended_ms or 0,
                _label(who),
            )


def _eager_without_need(facts: _Facts, now_ms: int, clock: Clock) -> Iterator[Finding]:
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
        "use cooperative-sticky: members keep consuming what they keep (KIP-429)",
        idle[0].rebalance_started_ms or 0,
        idle[-1].ended_ms or 0,
    )


def _idle_members(facts: _Facts, now_ms: int, clock: Clock) -> Iterator[Finding]:
    history = facts.history
    latest = history.latest
    if latest is None or latest.outcome is not Outcome.STABLE or not latest.partitions or not history.exists:
        return
    idle = [part.member for part in latest.members.values() if part.is_assigned and not _owns_any(history, part.member)]
    if latest.protocol_type != "consumer" or not idle or len(latest.members) <= latest.partitions:
        return
    names = Names(part.member for part in latest.members.values())
    count = latest.member_count or len(latest.members)
    yield Finding(
        Kind.IDLE_MEMBERS,
        f"{counted(len(idle), 'member')} of {count:,} {'has' if len(idle) == 1 else 'have'} nothing to do: there"
        f" {'is' if latest.partitions == 1 else 'are'} only {counted(latest.partitions, 'partition')}",
        (names.listed(idle, 10),),
        "add partitions, or run fewer members",
        latest.ended_ms or 0,
        now_ms,
    )


def _owns_any(history: GroupHistory, member: MemberRef) -> bool:
    known = history.members.get(member.member_id)
    return known is None or bool(known.partitions) or known.unnamed_partitions > 0


def _no_commits(facts: _Facts, now_ms: int, clock: Clock) -> Iterator[Finding]:
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
            f"generation {latest.generation_id} has been stable since {clock(latest.ended_ms)} with"
            f" {counted(latest.partitions, 'partition')}",
            "the lag is unknown" if latest.lag_after is None else f"the lag was {latest.lag_after:,}",
        ),
        "check enable.auto.commit and the code that commits; if offsets are kept elsewhere or there are no records,"
        " ignore this",
        latest.ended_ms,
        now_ms,
    )


def _densest(items: Iterable[T], window_ms: int, time_of: Callable[[T], int]) -> list[T]:
    """The longest run of items, in order of time, that lies within a window."""
    best: list[T] = []
    run: deque[T] = deque()
    for item in items:
        run.append(item)
        while time_of(item) - time_of(run[0]) > window_ms:
            run.popleft()
        if len(run) > len(best):
            best = list(run)
    return best


_LOOKS: Final[tuple[Callable[[_Facts, int, Clock], Iterator[Finding]], ...]] = (
    _flapping,
    _storm,
    _rolling_restart,
    _short_session_timeout,
    _slow_rejoiner,
    _eager_without_need,
    _idle_members,
    _no_commits,
)
