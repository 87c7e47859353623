"""What really happened: who lived, processed, sent and did what when. Nothing here is read from events.

Times are those of the virtual clock, which is the wall clock, too: ms since the epoch.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import Final, NamedTuple

from tests.world.clients import ClientKind
from tests.world.spans import FOREVER, Span, Spans, without
from tests.world.topics import Partition, TopicChange, Topics


class Fate(StrEnum):
    """What became of a request that arrived at the server's machine."""

    HANDLED = "handled"
    REFUSED = "refused"
    """Its client has no right, so nobody asked the coordinator."""
    UNREAD = "unread"
    """It waits in the socket: the coordinator is paused, or reads nothing from this connection."""
    NOBODY = "nobody"
    """There is no coordinator."""


class Arrival(NamedTuple):
    """A request of a process reached the coordinator's machine."""

    at_ms: int
    api: str
    member_id: str
    fate: Fate


class Answer(NamedTuple):
    """What the coordinator answered a process; `name` of an error code."""

    at_ms: int
    api: str
    member_id: str
    generation_id: int
    error: str


class Subscribed(NamedTuple):
    """What a member asked for in JoinGroup, or in a heartbeat that says it."""

    at_ms: int
    topics: tuple[str, ...]
    protocols: tuple[str, ...]
    reason: str
    pattern: str = ""


class Ended(StrEnum):
    """How a process came to its end."""

    KILLED = "killed"
    POWER = "power"
    """Its host: nobody closes its connection."""
    CLOSED = "closed"
    """In order."""
    FAILED = "failed"
    """Its client gave up by itself: fenced, or refused for good."""


class Way(StrEnum):
    """Why a member left by a request of its own."""

    CLOSED = "closed"
    UNSUBSCRIBED = "unsubscribed"
    POLL_TIMEOUT = "poll_timeout"
    FOR_A_MOMENT = "for_a_moment"


class Departure(NamedTuple):
    """A process asked to let its member go. It may not have arrived."""

    at_ms: int
    member_id: str
    way: Way
    said: str


class ProcessTruth:
    """One process of a client, from its start to its end."""

    def __init__(
        self,
        number: int,
        consumer: int,
        kind: ClientKind,
        client_id: str,
        host: str,
        instance_id: str | None,
        at_ms: int,
    ) -> None:
        self.number, self.consumer, self.kind = number, consumer, kind
        self.client_id, self.host, self.instance_id = client_id, host, instance_id
        self.started_ms = at_ms
        self.ended_ms = FOREVER
        self.ended: Ended | None = None
        self.suspended, self.starved, self.cut, self.blocked = Spans(), Spans(), Spans(), Spans()
        self.proxied = Spans()
        """Something between closed its connections, and lets it open none."""
        self.refused, self.muted = Spans(), Spans()
        self.out = Spans()
        """Its client has left by itself, whether it said so or not: as a static member it does not."""
        self.disconnections: list[int] = []
        """When a connection of it was closed from its side: by itself, its system, or something between."""
        self.arrivals: list[Arrival] = []
        self.answers: list[Answer] = []
        self.subscriptions: list[Subscribed] = []
        self.departures: list[Departure] = []

    @property
    def lived(self) -> Span:
        return self.started_ms, self.ended_ms

    def lived_at(self, at_ms: int) -> bool:
        return self.started_ms <= at_ms < self.ended_ms

    def ran(self, spans: Iterable[Span]) -> list[Span]:
        """When it could do anything at all."""
        spans = without(spans, [(self.ended_ms, FOREVER)])
        return without(spans, [*self.suspended.all, *self.starved.all])


class Holding(NamedTuple):
    """A process believed a partition to be its own."""

    partition: Partition
    process: ProcessTruth
    member_id: str
    span: Span


class Plan(NamedTuple):
    """The coordinator accepted the assignment of a leader; or it told a member of KIP-848 what it may use."""

    at_ms: int
    generation_id: int
    protocol: str
    assigned: dict[str, frozenset[Partition]]
    """Member id → partitions, of all members; in a consumer group of one."""
    is_whole: bool

    @property
    def is_synced(self) -> bool:
        """It is the answer to a SyncGroup, in which the protocol has a name."""
        return bool(self.protocol)


class Membership(NamedTuple):
    """A member of the group, as the coordinator has it."""

    member_id: str
    process: ProcessTruth | None
    from_ms: int
    until_ms: int


class AwayKind(StrEnum):
    """Why nobody coordinated."""

    KILLED = "killed"
    STOPPED = "stopped"
    PAUSED = "paused"


class Away(NamedTuple):
    """The coordinator was not there."""

    kind: AwayKind
    from_ms: int
    until_ms: int
    next_node_id: int | None = None
    """The node that took over, if it is another one."""


class AdminAct(NamedTuple):
    """What an administrator did to the group."""

    at_ms: int
    what: str
    member_ids: tuple[str, ...] = ()


class StateChange(NamedTuple):
    """The group came into a state; `state` is empty where there is no group."""

    at_ms: int
    state: str
    generation_id: int
    members: int
    protocol: str
    is_consumer_group: bool


RIGHTFUL_SLACK_MS: Final = 1
"""A member is gone at the end of the ms in which it was removed."""


class Truth:
    """All that happened in a world."""

    def __init__(self) -> None:
        self.processes: list[ProcessTruth] = []
        self.holdings: list[Holding] = []
        self.by_partition: dict[Partition, list[Holding]] = defaultdict(list)
        self.plans: list[Plan] = []
        self.conversions: list[tuple[int, dict[str, frozenset[Partition]]]] = []
        """When the group became one of another type, and what its members had in it then."""
        self.memberships: list[Membership] = []
        self.present: dict[str, tuple[ProcessTruth | None, int]] = {}
        """Member id → its process and since when, of the members that there are."""
        self.away: list[Away] = []
        self.full = Spans()
        """When its disk was full."""
        self.acts: list[AdminAct] = []
        self.topic_changes: list[TopicChange] = []
        self.log_end_at: Callable[[Partition, int], int | None] = lambda partition, at_ms: None
        self.topics: Topics | None = None
        """When it is over: what producers wrote, in transactions, too."""
        self.stuck: dict[Partition, tuple[int, int]] = {}
        """Partition → offset of a record that nobody can process, and since when."""
        self.refused_commits: list[int] = []
        """When a commit was refused, or a part of it; those of administrators, too."""
        self.commits: list[tuple[int, int, Partition, int]] = []
        """When, by which request, and which offset of which partition."""
        self.states: list[StateChange] = []
        self.ended_ms = FOREVER
        self.by_member: dict[str, ProcessTruth] = {}
        self.replaced: set[tuple[str, str]] | None = None
        """The id that a static member had, and that with which another process took its place; None: not known."""
        self._memberships_of: dict[str, list[Span]] = defaultdict(list)
        """When it is over: member id → when there was a member with it."""

    # ---- members

    def removed(self, member_id: str, at_ms: int) -> None:
        """A member is gone."""
        process, since_ms = self.present.pop(member_id)
        self.memberships.append(Membership(member_id, process, since_ms, at_ms))

    def process_of(self, member_id: str) -> ProcessTruth | None:
        return self.by_member.get(member_id)

    def membership(self, member_id: str) -> Membership | None:
        """The last one with this id."""
        if member_id in self.present:
            process, since_ms = self.present[member_id]
            return Membership(member_id, process, since_ms, FOREVER)
        return next(
            (membership for membership in reversed(self.memberships) if membership.member_id == member_id), None
        )

    def removal(self, member_id: str, by_ms: int) -> Membership | None:
        """The last membership with this id that had ended by a time."""
        found = (
            membership
            for membership in reversed(self.memberships)
            if membership.member_id == member_id and membership.until_ms <= by_ms
        )
        return next(found, None)

    def removal_after(self, member_id: str, at_ms: int, by_ms: int) -> Membership | None:
        """The first membership with this id that ended after a time, and by another one.

        A member of KIP-848 that was removed comes again by the id that it had, and may be removed again.
        """
        found = (
            membership
            for membership in self.memberships
            if membership.member_id == member_id and at_ms < membership.until_ms <= by_ms
        )
        return next(found, None)

    def all_memberships(self) -> Iterator[Membership]:
        yield from self.memberships
        for member_id, (process, since_ms) in self.present.items():
            yield Membership(member_id, process, since_ms, FOREVER)

    def last_arrival(self, member_id: str, before_ms: int, *fates: Fate) -> int | None:
        """When the last request of a member arrived before a time."""
        process = self.process_of(member_id)
        if process is None:
            return None
        wanted = fates or tuple(Fate)
        found = (
            arrival.at_ms
            for arrival in reversed(process.arrivals)
            if arrival.at_ms < before_ms and arrival.fate in wanted and self.is_of(arrival, member_id)
        )
        return next(found, None)

    def arrivals(self, member_id: str, from_ms: int, until_ms: int) -> list[Arrival]:
        """What of a member arrived after a time and before another one."""
        process = self.process_of(member_id)
        if process is None:
            return []
        return [
            arrival
            for arrival in process.arrivals
            if from_ms < arrival.at_ms < until_ms and self.is_of(arrival, member_id)
        ]

    def is_of(self, arrival: Arrival, member_id: str) -> bool:
        """A first join has no id yet, or names the instance alone: it is of the member that it made."""
        if arrival.member_id:
            return arrival.member_id == member_id
        return any(from_ms == arrival.at_ms for from_ms, _ in self._membership_spans(member_id))

    # ---- offsets

    def lags_at(self, at_ms: int) -> list[int]:
        """What was behind the committed offsets of the group in a ms, after each commit in it; none: it had none."""
        last: dict[Partition, int] = {}
        found: list[int | None] = []
        since_ms = max((state.at_ms for state in self.states if not state.state and state.at_ms <= at_ms), default=0)
        commits = [commit for commit in sorted(self.commits) if since_ms <= commit[0] <= at_ms]
        for _, _, partition, offset in (commit for commit in commits if commit[0] < at_ms):
            last[partition] = offset
        found.append(self._lag_of(last, at_ms))
        for _, _, partition, offset in (commit for commit in commits if commit[0] == at_ms):
            last[partition] = offset
            found.append(self._lag_of(last, at_ms))
        return [each for each in found if each is not None]

    def _lag_of(self, committed: dict[Partition, int], at_ms: int) -> int | None:
        ends = [(self.log_end_at(each, at_ms), offset) for each, offset in committed.items()]
        known = [end - offset for end, offset in ends if end is not None]
        return sum(known) if known else None

    # ---- the coordinator

    def was_away(self, from_ms: int, until_ms: int) -> int:
        """For how many ms of a time nobody coordinated."""
        return sum(max(0, min(each.until_ms, until_ms) - max(each.from_ms, from_ms)) for each in self.away)

    def went_on_at(self, at_ms: int) -> bool:
        """Whether a pause ended in a ms: what waited comes and goes in it, in an order that nobody saw."""
        return any(each.kind is AwayKind.PAUSED and each.until_ms == at_ms for each in self.away)

    def disk_failed_within(self, from_ms: int, until_ms: int) -> bool:
        """Whether nothing could be written at some time."""
        return self.full.within(from_ms, until_ms) > 0

    def starts(self, from_ms: int, until_ms: int) -> list[int]:
        """When the coordinator started after an end, in a time."""
        return [
            each.until_ms
            for each in self.away
            if each.kind is not AwayKind.PAUSED and from_ms <= each.until_ms <= until_ms
        ]

    # ---- partitions

    def rightful(self, holding: Holding) -> list[Span]:
        """When it was a member by right: none is from when the coordinator has removed it."""
        start, end = holding.span
        found: list[Span] = []
        for from_ms, until_ms in self._membership_spans(holding.member_id):
            first, last = max(start, from_ms), min(end, until_ms + RIGHTFUL_SLACK_MS)
            if first < last:
                found.append((first, last))
        return found

    def _membership_spans(self, member_id: str) -> list[Span]:
        if not self._memberships_of:
            for membership in self.all_memberships():
                self._memberships_of[membership.member_id].append((membership.from_ms, membership.until_ms))
        return self._memberships_of.get(member_id, [])

    def is_member(self, member_id: str, at_ms: int) -> bool:
        """Whether there was a member with this id at a time."""
        return any(start <= at_ms < end for start, end in self._membership_spans(member_id))

    def gone_between(self, from_ms: int, until_ms: int) -> bool:
        """Whether the group itself was gone at some time."""
        return any(not state.state and from_ms <= state.at_ms <= until_ms for state in self.states)

    def was_removed(self, member_id: str, from_ms: int, until_ms: int) -> bool:
        """Whether a member with this id was removed in a time; one of KIP-848 comes back with the same."""
        return any(from_ms <= end_ms <= until_ms for _, end_ms in self._membership_spans(member_id))

    def surely_processed(self, partition: Partition) -> list[Span]:
        """When a member by right ran, was connected, and its application was not amid one long batch."""
        found: list[Span] = []
        for holding in self.by_partition.get(partition, ()):
            process = holding.process
            spans = process.ran(self.rightful(holding))
            gaps = [*process.cut.all, *process.blocked.all, *process.proxied.all, *process.refused.all]
            found += without(spans, [*gaps, *process.muted.all])
        return found

    def was_taken(self, partition: Partition, member_id: str, until_ms: int) -> bool:
        """Whether the group became one of another type, in which a member had a partition no more, and nobody else."""
        return any(
            at_ms < until_ms and partition not in had.get(member_id, frozenset([partition]))
            for at_ms, had in self.conversions
        )

    def perhaps_processed(self, partition: Partition) -> list[Span]:
        """When a member by right lived, ran, and was not cut off: amid a long batch it processes that."""
        found: list[Span] = []
        for holding in self.by_partition.get(partition, ()):
            process = holding.process
            found += without(process.ran(self.rightful(holding)), process.cut.all)
        return found

    def is_same_member(self, before: str, now: str) -> bool:
        """Whether a member is the other one, or took its place as the same static member."""
        if before == now:
            return True
        if self.identity(before) != self.identity(now):
            return False
        if self.replaced is not None:
            ids = {before}
            while more := {new for old, new in self.replaced if old in ids} - ids:
                ids |= more
            return now in ids
        same = [
            membership
            for membership in self.all_memberships()
            if self.identity(membership.member_id) == self.identity(before)
        ]
        ends = {each.until_ms for each in same if each.member_id == before}
        while ends:  # each place is taken in the ms in which it was given up
            taken = [each for each in same if each.from_ms in ends and each.until_ms not in ends]
            if any(each.member_id == now for each in same if each.from_ms in ends):
                return True
            ends = {each.until_ms for each in taken}
        return False

    def identity(self, member_id: str) -> str:
        """What a member keeps when it is restarted: its instance id, if it has one."""
        process = self.process_of(member_id)
        return member_id if process is None or process.instance_id is None else process.instance_id

    def topic_at(self, name: str, at_ms: int) -> tuple[bytes, int]:
        """Id and number of partitions of a topic at a time."""
        found = [
            topic_change
            for topic_change in self.topic_changes
            if topic_change.name == name and topic_change.at_ms <= at_ms
        ]
        return (found[-1].topic_id, found[-1].partitions) if found else (b"", 0)
