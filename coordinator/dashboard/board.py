"""All groups that the page shows, and who has to be told that one of them changed."""

from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from coordinator.audit.schema import (
    AuditEvent,
    AuthorizationDenied,
    GroupHeldByCluster,
    ObservedEvent,
    RebalanceStarted,
)
from coordinator.core.causes import Cause
from coordinator.dashboard.lags import Lags, Sample, SampledGroup
from coordinator.explain.findings import Finding, findings
from coordinator.explain.generation import Generation
from coordinator.explain.history import GroupHistory
from coordinator.explain.makers.findings.progress import Denials, go_on
from coordinator.explain.positions import position_findings
from coordinator.explain.storms import GROWTH, Rebalances, Storm, all_storms
from coordinator.explain.words import utc_clock
from coordinator.observe.history import ObservedHistory

MS_PER_MINUTE: Final = 60_000
MINUTES_KEPT: Final = 7 * 24 * 60
"""How far back the rebalances of all groups are counted, before the newest one."""

MINUTES_PER_HOUR: Final = 60
HOUR_MS: Final = MINUTES_PER_HOUR * MS_PER_MINUTE
DENIALS_KEPT: Final = 1_000
"""The newest denials about topics that are remembered: those that go on have one each minute."""
BoardEvent = AuditEvent | ObservedEvent | GroupHeldByCluster | AuthorizationDenied
"""What the board is told: events of groups, also those seen of another Kafka, who is in a group at a cluster, and
denials about topics."""
STORM_HOURS: Final = 24
"""How far back storms are looked for, before the newest event."""


@dataclass(slots=True)
class Progress:
    """How much of what there was at the start has been read. `total` is in the unit of `read`: records or rows."""

    read: int = 0
    total: int = 0
    is_live: bool = False
    """All that there was at the start has been read."""
    is_following: bool = False
    """A server is followed, so that what has not happened by now will be heard of. Tables alone end with the past."""
    has_events: bool = True
    """False where the server has no audit topic, as Apache Kafka: then there is lag alone."""
    problem: str = ""
    """Why nothing more is read, in one line; empty while all is well."""


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A group in the list of groups. Times are wall-clock ms since the epoch."""

    group_id: str
    state: str
    members: int
    generation_id: int | None
    generations: int
    rebalances_last_hour: int
    last_rebalance_ms: int | None
    last_cause: str
    last_outcome: str
    findings: int
    unowned_partition_ms: int
    last_ms: int | None
    lag: int | None = None
    lag_ms: int | None = None


class Board:
    """The histories of all groups. Events are applied in the order of their topic partitions."""

    def __init__(self) -> None:
        self.groups: dict[str, GroupHistory] = {}
        self.progress = Progress()
        self.lags = Lags()
        self.newest_ms = 0
        """The time of the newest event: it counts as now when only tables are read."""
        self.rebalances_by_minute: Counter[int] = Counter()
        """Minute since the epoch → rebalances that started in it, over all groups."""
        self._rates: dict[int, Counter[tuple[str, str]]] = {}
        """Minute since the epoch → (group, cause) → rebalances that may be part of a storm."""
        self._storms: list[Storm] | None = None
        self._rows: dict[str, GroupRow] = {}
        self._findings: dict[str, tuple[Finding, ...]] = {}
        self._offset_findings: dict[str, tuple[Finding, ...]] = {}
        """Of the latest sample of lag."""
        self._denials: deque[AuthorizationDenied] = deque(maxlen=DENIALS_KEPT)
        """About topics, in the order in which they were told."""
        self._going_on: list[Denials] | None = None
        """Those of them that go on at the time of the latest sample; None: not looked up yet."""
        self._listeners: set[Callable[[set[str]], None]] = set()

    def listen(self, listener: Callable[[set[str]], None]) -> Callable[[], None]:
        """Call `listener` with the ids of groups that changed; the result ends that."""
        self._listeners.add(listener)
        return lambda: self._listeners.discard(listener)

    def apply(self, events: Iterable[BoardEvent]) -> None:
        """Apply events, and tell the listeners."""
        changed: set[str] = set()
        for board_event in events:
            if isinstance(board_event, AuthorizationDenied):
                self._denials.append(board_event)
                self._forget_offset_findings()
                continue
            observed, event = (
                (board_event, board_event.event) if isinstance(board_event, ObservedEvent) else (None, board_event)
            )
            history = self.groups.get(event.group_id)
            if history is None:
                kind = GroupHistory if observed is None else ObservedHistory
                history = self.groups[event.group_id] = kind(event.group_id)
            if observed is not None and isinstance(history, ObservedHistory):
                is_new = history.add(observed)
            elif isinstance(event, GroupHeldByCluster):
                history.note_coordinator(event)
                is_new = True
            else:
                is_new = history.apply(event)
            if is_new:
                changed.add(event.group_id)
                self.newest_ms = max(self.newest_ms, event.time_ms)
                if isinstance(event, RebalanceStarted):
                    self._count_rebalance(event.time_ms)
                    self._note_rate(event)
        self._storms = None
        for group_id in changed:
            self._rows.pop(group_id, None)
            self._findings.pop(group_id, None)
        self.notify(changed)

    def apply_lags(self, sample: Sample) -> None:
        """Take a sample of the lag of all groups, and tell the listeners."""
        self.lags.apply(sample)
        self._forget_offset_findings()
        self.notify(set())

    def note_lag_problem(self, problem: str) -> None:
        """Why there is no newer sample of lag."""
        self.lags.problem = problem
        self.notify(set())

    def history(self, group_id: str) -> GroupHistory | None:
        """The history of a group, an empty one for a group of which there is lag alone; None for an unknown one."""
        found = self.groups.get(group_id)
        return GroupHistory(group_id) if found is None and self.lags.group(group_id) is not None else found

    def notify(self, changed: set[str]) -> None:
        for listener in tuple(self._listeners):
            listener(changed)

    def findings_of(self, group_id: str) -> tuple[Finding, ...]:
        """Those of its events, and those of its offsets now."""
        found = self._findings.get(group_id)
        if found is None and group_id in self.groups:
            found = self._findings[group_id] = tuple(findings(self.groups[group_id], self.newest_ms))
        return (found or ()) + self._findings_of_offsets(group_id)

    def _findings_of_offsets(self, group_id: str) -> tuple[Finding, ...]:
        sampled = self.lags.group(group_id)
        if sampled is None:
            return ()
        found = self._offset_findings.get(group_id)
        if found is None:
            history, now_ms = self.groups.get(group_id), self.lags.latest.time_ms
            if self._going_on is None:
                self._going_on = go_on(self._denials, now_ms)
            found = tuple(position_findings(sampled.group, now_ms, utc_clock, history, self._going_on))
            self._offset_findings[group_id] = found
        return found

    def _forget_offset_findings(self) -> None:
        self._offset_findings.clear()
        self._going_on = None

    def storms(self) -> list[Storm]:
        """The storms of the last `STORM_HOURS` hours, of groups and of all together, the newest first."""
        if self._storms is None:
            since = (self.newest_ms - STORM_HOURS * HOUR_MS) // MS_PER_MINUTE
            for minute in [rate for rate in self._rates if rate < since]:
                del self._rates[minute]
            self._storms = all_storms(
                Rebalances(minute * MS_PER_MINUTE, group_id, cause, count, MS_PER_MINUTE)
                for minute, rates in self._rates.items()
                for (group_id, cause), count in rates.items()
            )
        return self._storms

    def row(self, group_id: str) -> GroupRow:
        """A group of which there are events, or lag."""
        sampled = self.lags.group(group_id)
        history = self.groups.get(group_id)
        if sampled is not None and (history is None or history.last_seq < 0):
            return replace(_row_of_lag(sampled), findings=len(self.findings_of(group_id)))
        row = self._rows.get(group_id)
        if row is None:
            row = self._rows[group_id] = self._make_row(self.groups[group_id])
        lag, lag_ms = (None, None) if sampled is None else (sampled.lag, sampled.lag_ms)
        count = len(self.findings_of(group_id))
        if (row.lag, row.lag_ms, row.findings) != (lag, lag_ms, count):
            row = self._rows[group_id] = replace(row, lag=lag, lag_ms=lag_ms, findings=count)
        return row

    def rows(self) -> list[GroupRow]:
        return [self.row(group_id) for group_id in dict.fromkeys([*self.groups, *self.lags.latest.groups])]

    def rebalances_since(self, history: GroupHistory, since_ms: int) -> int:
        count = 0
        for generation in reversed(history.generations):
            if generation.started_ms is None or generation.started_ms < since_ms:
                break
            count += generation.rebalance_started_ms is not None
        return count

    def _make_row(self, history: GroupHistory) -> GroupRow:
        latest = history.latest
        return GroupRow(
            group_id=history.group_id,
            state=history.state,
            members=len(history.members),
            generation_id=history.generation_id,
            generations=len(history.generations),
            rebalances_last_hour=self.rebalances_since(history, self.newest_ms - HOUR_MS),
            last_rebalance_ms=None if latest is None else latest.started_ms,
            last_cause=_cause(latest),
            last_outcome="" if latest is None else latest.outcome.value,
            findings=len(self.findings_of(history.group_id)),
            unowned_partition_ms=sum(generation.unowned_partition_ms or 0 for generation in history.generations),
            last_ms=history.last_ms,
        )

    def _note_rate(self, event: RebalanceStarted) -> None:
        is_named = isinstance(event.cause, Cause)  # of another Kafka it may be open
        if is_named and event.cause not in GROWTH and event.time_ms >= self.newest_ms - STORM_HOURS * HOUR_MS:
            rates = self._rates.setdefault(event.time_ms // MS_PER_MINUTE, Counter())
            rates[event.group_id, event.cause.value] += 1
            if len(self._rates) > STORM_HOURS * MINUTES_PER_HOUR:
                del self._rates[min(self._rates)]

    def _count_rebalance(self, time_ms: int) -> None:
        minute = time_ms // MS_PER_MINUTE
        self.rebalances_by_minute[minute] += 1
        if len(self.rebalances_by_minute) > MINUTES_KEPT:
            oldest = max(self.rebalances_by_minute) - MINUTES_KEPT
            for expired in [rebalance for rebalance in self.rebalances_by_minute if rebalance <= oldest]:
                del self.rebalances_by_minute[expired]


def _row_of_lag(sampled: SampledGroup) -> GroupRow:
    group = sampled.group
    return GroupRow(
        group_id=group.group_id,
        state=group.state,
        members=len(group.members),
        generation_id=None,
        generations=0,
        rebalances_last_hour=0,
        last_rebalance_ms=None,
        last_cause="",
        last_outcome="",
        findings=0,
        unowned_partition_ms=0,
        last_ms=None,
        lag=sampled.lag,
        lag_ms=sampled.lag_ms,
    )


def _cause(generation: Generation | None) -> str:
    return "" if generation is None or generation.cause is None else str(generation.cause)
