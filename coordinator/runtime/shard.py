"""One partition of `__consumer_offsets` led here: its groups, and the serial queue of what is asked of them."""

from collections import deque
from collections.abc import Iterator
from enum import Enum, auto
from itertools import islice, repeat
from typing import Final

import structlog

from _wire.errors import ErrorCode, MalformedMessage
from coordinator.config import Config
from coordinator.core.causes import Cause
from coordinator.core.decision import (
    NEW_MEMBER_JOIN_TIMEOUT_MS,
    Decision,
    Reply,
    next_deadline_ms,
)
from coordinator.core.events import (
    Event,
    MemberJoined,
    MemberRemoved,
    PendingMemberRemoved,
    StaticMemberReplaced,
    TransactionalOffsetsCommitted,
)
from coordinator.core.group import Group
from coordinator.core.rebalance import advance
from coordinator.core.states import DEAD, STABLE
from coordinator.core.stored import Stored, StoredBatch, StoredGroups, records_of
from coordinator.core.transactional_offsets import end
from coordinator.runtime.asks import Ask, AuditAsk, GroupAsk, MarkerAsk, ShardAsk
from coordinator.runtime.group_timers import GroupTimers
from coordinator.runtime.interfaces import Answers, AuditProjector, AuditRecord, Store, StoreError
from coordinator.runtime.sessions import SessionTable

log = structlog.get_logger()

LOAD_RETRY_MS_AT_FIRST: Final = 100
LOAD_RETRY_MS_AT_MOST: Final = 10_000

LOAD_STEPS_AT_ONCE: Final = 2_000
"""Batches of `__consumer_offsets` or records of the audit topic that are read before other work has its turn."""


class ShardState(Enum):
    """Whether the groups of a partition can be asked here."""

    INACTIVE = auto()
    """Another node leads the partition, or none."""
    LOADING = auto()
    ACTIVE = auto()
    FAILED = auto()
    """The log could not be read or written; it is loaded anew after a while."""


STEPS_AT_ONCE_MAX: Final = 16
"""Steps that may follow from one request without time passing; a rebalance that nobody comes to has four."""

BEGIN_OR_END_SESSIONS: Final = frozenset({MemberJoined, MemberRemoved, PendingMemberRemoved, StaticMemberReplaced})

REFUSALS: Final = {
    ShardState.INACTIVE: ErrorCode.NOT_COORDINATOR,
    ShardState.LOADING: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ShardState.FAILED: ErrorCode.COORDINATOR_NOT_AVAILABLE,
}


class Batch:
    """What one drained queue comes to: appended first, released after."""

    __slots__ = ("asked", "audit", "failures", "opened", "replies", "stored")

    def __init__(self) -> None:
        self.asked: list[int] = []
        """The requests it is about."""
        self.audit: list[AuditRecord] = []
        self.stored: list[Stored] = []
        self.replies: list[Reply] = []
        self.failures: list[int] = []
        """Requests that could not be decided, by a defect of ours."""
        self.opened: dict[str, int] = {}
        """Group id → generation that became stable: from its append on, heartbeats need not come to the shard."""

    def store(self, event: Event, group: Group) -> None:
        """Take in the records of an event that was just applied; those of one transaction, or of none, go together."""
        records = records_of(event, group)
        if not records:
            return
        producer = event.producer if isinstance(event, TransactionalOffsetsCommitted) else None
        last = self.stored[-1] if self.stored else None
        if isinstance(last, StoredBatch) and last.producer == producer:
            last.records.extend(records)
        else:
            self.stored.append(StoredBatch(producer, records))


class Shard:
    """Decides, applies, settles, appends, releases; nothing else changes its groups."""

    def __init__(
        self,
        partition: int,
        store: Store,
        audit: AuditProjector,
        answers: Answers,
        sessions: SessionTable,
        timers: GroupTimers,
        config: Config,
    ) -> None:
        self.partition = partition
        self.groups: dict[str, Group] = {}
        self.state = ShardState.INACTIVE
        self.retry_ms = LOAD_RETRY_MS_AT_FIRST
        self._replay: Iterator[None] = iter(())
        self._stored = StoredGroups()
        self._queue: deque[Ask] = deque()
        self._appended: Batch | None = None
        self._store = store
        self.audit = audit
        self._load_cause: Cause | None = None
        """Why the next load happens, for the audit; None: for no failure."""
        self._answers = answers
        self._sessions = sessions
        self._timers = timers
        self._config = config

    @property
    def loaded(self) -> bool:
        """Whether its groups can be asked."""
        return self.state is ShardState.ACTIVE

    def submit(self, ask: Ask) -> None:
        self._queue.append(ask)

    def submit_first(self, ask: AuditAsk) -> None:
        """Queue something that goes before the events of the next batch."""
        self._queue.appendleft(ask)

    @property
    def offsets_end_offset(self) -> int:
        """The end of the partition of `__consumer_offsets`."""
        return self._store.offsets_end_offset

    def note_audit_checkpoint(self) -> bool:
        """Let later starts read the audit from its last checkpoint on; False if they do already."""
        return self._store.note_audit_checkpoint(self.audit.checkpoint_offset)

    def start_loading(self) -> None:
        """This node leads the partition from now on, or tries again to read it."""
        self.state, self._stored = ShardState.LOADING, StoredGroups()
        self._replay = self._replay_all(self._stored)

    def _replay_all(self, stored: StoredGroups) -> Iterator[None]:
        """Read both topics, a step at a time."""
        for batch in self._store.replay():
            stored.apply(batch)
            yield
        for from_offset in self._store.audit_replay_offsets():
            self.audit.start_replay(from_offset)
            for records in self._store.replay_audit(from_offset):
                self.audit.apply(records)
                yield from repeat(None, len(records))
            if self.audit.starts_at_checkpoint:
                break

    def load_next_slice(self, now_ms: int) -> bool:
        """Some steps of the replay. False when there are more: other work goes between, so that a long log stalls none.

        At the end the members get a fresh session and the state is ACTIVE; FAILED when the log cannot be read or what
        the audit has to be told not be stored; the caller retries that.
        """
        try:
            for _ in islice(self._replay, LOAD_STEPS_AT_ONCE):
                continue
            if next(self._replay, self) is not self:
                return False
            end_offset = self._store.audit_end_offset
            records = self.audit.resume(self._stored.groups, now_ms, end_offset, self._load_cause)
            if records:
                self._store.append(records, [], now_ms)
        except (StoreError, MalformedMessage) as problem:
            log.error("cannot load groups", partition=self.partition, problem=str(problem), retry_ms=self.retry_ms)
            self.state = ShardState.FAILED
        else:
            self._activate(self._stored.groups, now_ms)
            self._load_cause = None
        self._replay, self._stored = iter(()), StoredGroups()
        return True

    def _activate(self, groups: dict[str, Group], now_ms: int) -> None:
        self.groups = groups
        for group in groups.values():
            self._sessions.set_group(group.group_id, group.generation_id, group.state is STABLE)
            for member in group.members.values():
                self._renew(group, member.member_id, now_ms)
        self.state, self.retry_ms = ShardState.ACTIVE, LOAD_RETRY_MS_AT_FIRST

    def unload(self) -> None:
        """Another node leads the partition now: everybody who waits is sent to it, and nothing is kept."""
        waiting = self._forget_groups()
        self.state, self._replay, self._stored = ShardState.INACTIVE, iter(()), StoredGroups()
        self.audit.clear()
        self._load_cause = None
        for request_id in waiting:
            self._answers.fail(request_id, ErrorCode.NOT_COORDINATOR)
        self._refuse_all()

    def drain(self, now_ms: int) -> bool:
        """Handle all that is queued as one batch, and append it; `release` does the rest.

        False when that failed: the state is FAILED then, and the caller loads the groups anew after a while.
        """
        if not self.loaded:
            self._refuse_all()
            return True
        batch = Batch()
        try:
            while self._queue:
                self._handle(self._queue.popleft(), now_ms, batch)
            if batch.audit or batch.stored:
                self._store.append(batch.audit, batch.stored, now_ms)
        except StoreError as problem:
            log.error("cannot store groups; they are loaded anew", partition=self.partition, problem=str(problem))
            self._load_cause = Cause.STORE_FAILED
            self._give_up(batch)
            return False
        except Exception:
            log.exception("a group broke a rule of ours; its partition is loaded anew", partition=self.partition)
            self._give_up(batch)
            return False
        self._appended = batch
        return True

    def release(self) -> None:
        """Answer what the last batch has to, and open its stable groups for heartbeats; nothing if it failed."""
        batch, self._appended = self._appended, None
        if batch is None:
            return
        for group_id, generation_id in batch.opened.items():
            self._sessions.set_group(group_id, generation_id, True)
        for reply in batch.replies:
            try:
                self._answers.reply(reply.request_id, reply.response)
            except Exception:
                log.exception("an answer could not be given for a reason of ours", partition=self.partition)
        for request_id in batch.failures:
            self._answers.fail(request_id, ErrorCode.UNKNOWN_SERVER_ERROR)

    def _handle(self, ask: Ask, now_ms: int, batch: Batch) -> None:
        if ask.request_id is not None:
            batch.asked.append(ask.request_id)
        if isinstance(ask, GroupAsk):
            self._ask_group(ask, now_ms, batch)
        elif isinstance(ask, ShardAsk):
            self._ask_all(ask, now_ms, batch)
        elif isinstance(ask, AuditAsk):
            batch.audit.extend(ask.write(self.groups, now_ms))
        else:
            self._end_transaction(ask, now_ms, batch)

    def _ask_group(self, ask: GroupAsk, now_ms: int, batch: Batch) -> None:
        group = self.groups.get(ask.group_id) or Group(ask.group_id)
        try:
            decision = ask.decide(group, now_ms)
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
        steps = 0
        while (followed := advance(group, now_ms, self._config)).events:
            steps += 1
            assert steps <= STEPS_AT_ONCE_MAX, f"group {group.group_id} does not come to rest: {followed.events}"
            self._take(group, followed, now_ms, batch)
        self._timers.arm(group.group_id, next_deadline_ms(group))

    def _ask_all(self, ask: ShardAsk, now_ms: int, batch: Batch) -> None:
        try:
            batch.replies.extend(ask.decide(self.groups, now_ms))
        except Exception:
            log.exception("a request failed for a reason of ours", partition=self.partition)
            if ask.request_id is not None:
                batch.failures.append(ask.request_id)

    def _take(self, group: Group, decision: Decision, now_ms: int, batch: Batch) -> None:
        for event in decision.events:
            state, generation_id = group.state, group.generation_id
            event.apply(group)
            self.audit.project(event, group, state, generation_id, batch.audit)
            batch.store(event, group)
            if type(event) in BEGIN_OR_END_SESSIONS:
                self._begin_or_end_session(event, now_ms)
            if group.state is not state or group.generation_id != generation_id:
                self._note_state(group, batch)
        for member_id in decision.renewed:
            self._renew(group, member_id, now_ms)
        batch.replies.extend(decision.replies)

    def _end_transaction(self, ask: MarkerAsk, now_ms: int, batch: Batch) -> None:
        """Stored as one marker: what it means for each group follows from what that group holds back."""
        marker = ask.marker
        for group in [group for group in self.groups.values() if group.pending_offsets]:
            self._take(group, Decision(end(group, marker.producer, marker.committed, now_ms)), now_ms, batch)
        batch.stored.append(marker)
        if ask.request_id is not None:
            batch.replies.append(Reply(ask.request_id, ErrorCode.NONE))

    def _note_state(self, group: Group, batch: Batch) -> None:
        """Close the fast path at once; it opens when the batch is appended."""
        batch.opened.pop(group.group_id, None)
        if group.state is DEAD:
            self.groups.pop(group.group_id, None)
            self._sessions.drop_group(group.group_id)
            return
        self._sessions.set_group(group.group_id, group.generation_id, False)
        if group.state is STABLE:
            batch.opened[group.group_id] = group.generation_id

    def _begin_or_end_session(self, event: Event, now_ms: int) -> None:
        if isinstance(event, MemberJoined):
            who = (event.group_id, event.member_id, event.group_instance_id)
            self._sessions.renew(*who, NEW_MEMBER_JOIN_TIMEOUT_MS, now_ms)
        elif isinstance(event, MemberRemoved | PendingMemberRemoved):
            self._sessions.drop(event.group_id, event.member_id)
        elif isinstance(event, StaticMemberReplaced):
            who = (event.group_id, event.old_member_id, event.new_member_id)
            self._sessions.transfer(*who, event.session_timeout_ms, now_ms)

    def _renew(self, group: Group, member_id: str, now_ms: int) -> None:
        """At once: an expiry later in the same batch finds the member alive. A batch that fails ends all sessions."""
        member = group.members.get(member_id)
        if member is None:
            self._sessions.reserve(group.group_id, member_id, group.pending_members[member_id], now_ms)
        else:
            instance_id, timeout_ms = member.group_instance_id, member.session_timeout_ms
            self._sessions.renew(group.group_id, member_id, instance_id, timeout_ms, now_ms)

    def _refuse_all(self) -> None:
        while self._queue:
            ask = self._queue.popleft()
            if ask.request_id is not None:
                self._answers.fail(ask.request_id, REFUSALS[self.state])

    def _give_up(self, batch: Batch) -> None:
        """Nothing of the batch counts: all it would have answered, and all that wait, are told to come again."""
        self.state = ShardState.FAILED
        waiting = self._forget_groups()
        answered = (reply.request_id for reply in batch.replies)
        for request_id in dict.fromkeys((*waiting, *answered, *batch.asked)):
            self._answers.fail(request_id, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        self._refuse_all()

    def _forget_groups(self) -> list[int]:
        """Drop all groups with their sessions and timers; returns the requests that waited in them."""
        waiting = [
            request_id
            for group in self.groups.values()
            for member in group.members.values()
            for request_id in (member.awaiting_join, member.awaiting_sync)
            if request_id is not None
        ]
        for group_id in self.groups:
            self._sessions.drop_group(group_id)
            self._timers.arm(group_id, None)
        self.groups = {}
        return waiting
