"""One partition of `__consumer_offsets` led here: its groups, and the serial queue of what is asked of them."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

import structlog

from _wire.errors import ErrorCode, MalformedMessage
from coordinator.config import Config
from coordinator.core.decision import (
    NEW_MEMBER_JOIN_TIMEOUT_MS,
    Decision,
    Reply,
    session_timeout_ms,
    wanted_timers,
)
from coordinator.core.events import Event, MemberIdReleased, MemberJoined, MemberRemoved, StaticMemberReplaced
from coordinator.core.group import Group
from coordinator.core.rebalance import settle
from coordinator.core.states import GroupState
from coordinator.core.stored import StoredGroups, StoredRecord, records_of
from coordinator.runtime.group_timers import GroupTimers
from coordinator.runtime.leases import LeaseTable

log = structlog.get_logger()

LOAD_RETRY_MS_AT_FIRST: Final = 100
LOAD_RETRY_MS_AT_MOST: Final = 10_000

AuditRecord = tuple[bytes, bytes, tuple[tuple[str, bytes | None], ...]]
"""Key, value and headers of a record of the audit topic."""

GroupDecision = Callable[[Group, int], Decision]
ShardDecision = Callable[[Mapping[str, Group], int], Decision]


class StoreError(OSError):
    """The log behind a shard could not be written or read; nothing of the batch counts as stored."""


class Store(Protocol):
    """The log behind a shard."""

    def append(self, audit: list[AuditRecord], stored: list[StoredRecord], now_ms: int) -> None:
        """Append a batch: to the audit topic first, then to `__consumer_offsets`. Raises StoreError."""

    def replay(self) -> Iterator[StoredRecord]:
        """The records of `__consumer_offsets`, in order. Raises StoreError."""

    def replay_audit(self) -> Iterator[AuditRecord]:
        """The records of the audit topic, in order. Raises StoreError."""


class Trail(Protocol):
    """Tells the audit topic what happened, in its own words."""

    def observe(
        self, event: Event, group: Group, state_before: GroupState, generation_before: int
    ) -> list[AuditRecord]:
        """The audit records for an event that was just applied to `group`."""

    def load(self, audited: Iterator[AuditRecord], groups: Mapping[str, Group], now_ms: int) -> list[AuditRecord]:
        """Take up where the topic ends; returns what has to be said about groups that are not as audited."""


class Answers(Protocol):
    """Where replies go. An id that nobody waits for any more is passed over."""

    def reply(self, request_id: int, response: object) -> None: ...

    def fail(self, request_id: int, error: ErrorCode) -> None: ...


class GroupAsk(NamedTuple):
    """Something asked of one group; `request_id` is None when nobody waits for an answer."""

    request_id: int | None
    group_id: str
    decide: GroupDecision


class ShardAsk(NamedTuple):
    """Something asked of all groups of the shard."""

    request_id: int | None
    decide: ShardDecision


@dataclass(slots=True)
class Batch:
    """What one drained queue comes to: appended first, released after."""

    audit: list[AuditRecord] = field(default_factory=list)
    stored: list[StoredRecord] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    failures: list[int] = field(default_factory=list)
    """Requests that could not be decided, by a defect of ours."""
    opened: dict[str, int] = field(default_factory=dict)
    """Group id → generation that became stable: from its append on, heartbeats need not come to the shard."""


class Shard:
    """Decides, applies, settles, appends, releases; nothing else changes its groups."""

    def __init__(
        self,
        partition: int,
        store: Store,
        trail: Trail,
        answers: Answers,
        leases: LeaseTable,
        timers: GroupTimers,
        config: Config,
    ) -> None:
        self.partition = partition
        self.groups: dict[str, Group] = {}
        self.loaded = False
        self.retry_ms = LOAD_RETRY_MS_AT_FIRST
        self._queue: deque[GroupAsk | ShardAsk] = deque()
        self._store = store
        self._trail = trail
        self._answers = answers
        self._leases = leases
        self._timers = timers
        self._config = config

    def submit(self, ask: GroupAsk | ShardAsk) -> None:
        self._queue.append(ask)

    def load(self, now_ms: int) -> bool:
        """Replay the log: members get a fresh session. False when the log cannot be read; the caller retries."""
        stored = StoredGroups()
        try:
            stored.apply_all(self._store.replay())
            said = self._trail.load(self._store.replay_audit(), stored.groups, now_ms)
            if said:
                self._store.append(said, [], now_ms)
        except (StoreError, MalformedMessage) as problem:
            log.error("cannot load groups", partition=self.partition, problem=str(problem), retry_ms=self.retry_ms)
            return False
        self.groups = stored.groups
        for group in self.groups.values():
            self._leases.set_group(group.group_id, group.generation_id, group.state is GroupState.STABLE)
            for member in group.members.values():
                self._renew(group, member.member_id, now_ms)
        self.loaded, self.retry_ms = True, LOAD_RETRY_MS_AT_FIRST
        return True

    def drain(self, now_ms: int) -> None:
        """Handle all that is queued as one batch: one append, then the answers."""
        if not self.loaded:
            self._refuse_all()
            return
        batch = Batch()
        asked: list[int] = []
        try:
            while self._queue:
                ask = self._queue.popleft()
                if ask.request_id is not None:
                    asked.append(ask.request_id)
                self._handle(ask, now_ms, batch)
            if batch.audit or batch.stored:
                self._store.append(batch.audit, batch.stored, now_ms)
        except StoreError as problem:
            log.error("cannot store groups; they are loaded anew", partition=self.partition, problem=str(problem))
            self._give_up(asked, batch)
            return
        except Exception:
            log.exception("a group broke a rule of ours; its partition is loaded anew", partition=self.partition)
            self._give_up(asked, batch)
            return
        for group_id, generation_id in batch.opened.items():
            self._leases.set_group(group_id, generation_id, True)
        for reply in batch.replies:
            self._answers.reply(reply.request_id, reply.response)
        for request_id in batch.failures:
            self._answers.fail(request_id, ErrorCode.UNKNOWN_SERVER_ERROR)

    def _handle(self, ask: GroupAsk | ShardAsk, now_ms: int, batch: Batch) -> None:
        group = Group("") if isinstance(ask, ShardAsk) else self.groups.get(ask.group_id) or Group(ask.group_id)
        try:
            decision = ask.decide(self.groups, now_ms) if isinstance(ask, ShardAsk) else ask.decide(group, now_ms)
        except Exception:
            # Deciding changes nothing, so only this request is lost.
            log.exception("a request failed for a reason of ours", group=group.group_id)
            if ask.request_id is not None:
                batch.failures.append(ask.request_id)
            return
        if decision.events:
            self.groups[group.group_id] = group
        self._take(group, decision, now_ms, batch)
        if ask.request_id is not None and not decision.events:
            return
        while (followed := settle(group, now_ms, self._config)).events:
            self._take(group, followed, now_ms, batch)
        self._timers.arm(group.group_id, wanted_timers(group))

    def _take(self, group: Group, decision: Decision, now_ms: int, batch: Batch) -> None:
        for event in decision.events:
            state, generation_id = group.state, group.generation_id
            event.apply(group)
            batch.audit.extend(self._trail.observe(event, group, state, generation_id))
            batch.stored.extend(records_of(event, group))
            self._begin_and_end_sessions(event, now_ms)
            if group.state is not state or group.generation_id != generation_id:
                self._note_state(group, batch)
        for member_id in decision.renewed:
            self._renew(group, member_id, now_ms)
        batch.replies.extend(decision.replies)

    def _note_state(self, group: Group, batch: Batch) -> None:
        """Close the fast path at once; it opens when the batch is appended."""
        batch.opened.pop(group.group_id, None)
        if group.state is GroupState.DEAD:
            self.groups.pop(group.group_id, None)
            self._leases.drop_group(group.group_id)
            return
        self._leases.set_group(group.group_id, group.generation_id, False)
        if group.state is GroupState.STABLE:
            batch.opened[group.group_id] = group.generation_id

    def _begin_and_end_sessions(self, event: Event, now_ms: int) -> None:
        if isinstance(event, MemberJoined):
            who = (event.group_id, event.member_id, event.group_instance_id)
            self._leases.renew(*who, NEW_MEMBER_JOIN_TIMEOUT_MS, now_ms)
        elif isinstance(event, MemberRemoved | MemberIdReleased):
            self._leases.drop(event.group_id, event.member_id)
        elif isinstance(event, StaticMemberReplaced):
            self._leases.drop(event.group_id, event.old_member_id)

    def _renew(self, group: Group, member_id: str, now_ms: int) -> None:
        """At once: an expiry later in the same batch finds the member alive. A batch that fails ends all sessions."""
        timeout_ms = session_timeout_ms(group, member_id)
        assert timeout_ms is not None, (group.group_id, member_id)
        member = group.members.get(member_id)
        instance_id = None if member is None else member.group_instance_id
        self._leases.renew(group.group_id, member_id, instance_id, timeout_ms, now_ms)

    def _refuse_all(self) -> None:
        while self._queue:
            ask = self._queue.popleft()
            if ask.request_id is not None:
                self._answers.fail(ask.request_id, ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def _give_up(self, asked: list[int], batch: Batch) -> None:
        """Nothing of the batch counts: all it would have answered, and all that wait, are told to come again."""
        self.loaded = False
        waiting = [
            request_id
            for group in self.groups.values()
            for member in group.members.values()
            for request_id in (member.awaiting_join, member.awaiting_sync)
            if request_id is not None
        ]
        for group_id in self.groups:
            self._leases.drop_group(group_id)
            self._timers.arm(group_id, {})
        self.groups = {}
        answered = (reply.request_id for reply in batch.replies)
        for request_id in dict.fromkeys((*waiting, *answered, *asked)):
            self._answers.fail(request_id, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        self._refuse_all()
