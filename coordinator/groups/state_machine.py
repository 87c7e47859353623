"""The groups of one partition of `__consumer_offsets`. Counterpart in Kafka: `GroupCoordinatorShard`."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Final

from coordinator.audit.projector import AuditProjector
from coordinator.core.address_limits import AddressLimits, PendingMember
from coordinator.core.causes import Cause
from coordinator.core.classic.events import GroupCreated, GroupRemoved, PendingMemberAdded
from coordinator.core.classic.group import ClassicGroup
from coordinator.core.classic.members import sessions_of_loaded_group
from coordinator.core.classic.rebalance import advance, next_deadline_ms
from coordinator.core.classic.states import STABLE, GroupState
from coordinator.core.decision import NOTHING, Decision, OperationContext
from coordinator.core.event import Event
from coordinator.core.groups.group import Group
from coordinator.core.groups.stored import StoredGroups, records_of
from coordinator.core.offsets.events import OffsetsDeleted, TransactionalOffsetsCommitted, TransactionCompleted
from coordinator.core.offsets.groups_in_transaction import GroupsInTransaction, producers_of
from coordinator.core.offsets.records import CommittedOffset
from coordinator.core.operation import Scope
from coordinator.core.stored_batch import StoredBatch
from coordinator.groups.rebuild import GroupRebuild
from coordinator.groups.sessions import SessionTable
from coordinator.groups.timers import GroupTimers
from coordinator.groups.transition_log import log_transition
from coordinator.runtime.batch import AuditWrite, Batch, QueuedOperation
from coordinator.runtime.interfaces import AuditRecord, Store
from coordinator.wall_time import ONE_CLOCK, WallTime

GROUPS_PER_STEP: Final = 100
"""Loaded groups whose sessions begin in one step: half a millisecond if they have a few members each."""

PENDING_CHANGES: Final = frozenset({TransactionalOffsetsCommitted, TransactionCompleted, OffsetsDeleted})


class ClassicGroups(Mapping[str, ClassicGroup]):
    """The membership of groups, by group id."""

    def __init__(self, groups: Mapping[str, Group]) -> None:
        self._groups = groups

    def __getitem__(self, group_id: str) -> ClassicGroup:
        return self._groups[group_id].classic

    def __iter__(self) -> Iterator[str]:
        return iter(self._groups)

    def __len__(self) -> int:
        return len(self._groups)


class GroupStateMachine:
    """Groups by group id, with their sessions, their timers and their audit."""

    def __init__(
        self, audit: AuditProjector, sessions: SessionTable, timers: GroupTimers, wall: WallTime = ONE_CLOCK
    ) -> None:
        self._wall = wall
        self.groups: dict[str, Group] = {}
        self.audit = audit
        self._in_transaction = GroupsInTransaction()
        self._sessions = sessions
        self._timers = timers
        self._loading = StoredGroups()
        self._rebuild: GroupRebuild | None = None
        self.addresses: AddressLimits | None = None
        """Gets to know what the clients of each address create; None: nobody limits it."""
        self.on_applied: Callable[[Sequence[Event]], None] | None = None
        """Called with the events of each decision that has been applied; None: nobody wants them."""
        audit.world.committed_offsets = self._committed_offsets

    # ------------------------------------------------------------------------------------------------------- operations

    @property
    def key_count(self) -> int:
        return len(self.groups)

    def decide(self, queued: QueuedOperation) -> Decision:
        key = queued.key
        target = self._target_of_all(queued) if key is None else self.groups.get(key)
        return queued.operation.decide(target, queued.request, queued.context)

    def _target_of_all(self, queued: QueuedOperation) -> Mapping[str, Group]:
        """What an operation over the whole shard is about (`Scope`)."""
        if queued.operation.scope is Scope.TRANSACTION:
            producer_id = queued.request.producer.producer_id
            return self._in_transaction.of(producer_id, self.groups)
        return self.groups

    def decide_too_large(self, queued: QueuedOperation) -> Decision | None:
        decide = queued.operation.too_large
        return None if decide is None else decide(self.groups.get(queued.key or ""), queued.request, queued.context)

    def records(self, key: str, decision: Decision) -> list[StoredBatch]:
        return records_of(decision.events, self.groups.get(key))

    def apply(self, key: str, decision: Decision, now_ms: int, batch: Batch) -> None:
        for event in decision.events:
            group = self.groups.get(key)
            if group is None:
                assert isinstance(event, GroupCreated), (event, "of a group that does not exist")
                group = self.groups[key] = Group(key)
                if self.addresses is not None:
                    self.addresses.group_created(event.group_id, event.client_host)
            elif self.addresses is not None and type(event) is PendingMemberAdded:
                self.addresses.member_pending(PendingMember(event.group_id, event.member_id), event.client_host)
            classic = group.classic
            state, generation_id = classic.state, classic.generation_id
            if type(event) in PENDING_CHANGES:
                self._apply_to_pending(event, group)
            else:
                event.apply(group)
            self.audit.project(event, classic, state, generation_id, batch.audit)
            if classic.state is not state or classic.generation_id != generation_id:
                self._state_changed(event, classic, state, batch)
        # At once: an expiry later in the same batch finds the member alive. A batch that fails ends all sessions.
        for effect in decision.effects:
            effect.apply(self._sessions, key, now_ms)
        batch.replies.extend(decision.replies)
        if self.on_applied is not None and decision.events:
            self.on_applied(decision.events)

    def _apply_to_pending(self, event: Event, group: Group) -> None:
        """Apply an event that may change which transactions have offsets of the group pending."""
        if isinstance(event, TransactionalOffsetsCommitted):
            event.apply(group)
            self._in_transaction.add(event.producer.producer_id, group.group_id)
            return
        before = [event.producer.producer_id] if isinstance(event, TransactionCompleted) else producers_of(group)
        event.apply(group)
        gone = [producer_id for producer_id in before if not group.offsets.pending_of(producer_id)]
        self._in_transaction.discard_group(group.group_id, gone)

    def _committed_offsets(self, group_id: str) -> Mapping[str, Mapping[int, CommittedOffset]]:
        group = self.groups.get(group_id)
        return {} if group is None else group.offsets.by_topic

    def _state_changed(self, event: Event, group: ClassicGroup, before: GroupState, batch: Batch) -> None:
        log_transition(event, group, before)
        # The fast path closes at once; it opens again when a stable generation is stored.
        self._sessions.set_group(group.group_id, group.generation_id, False)
        if group.state is STABLE:
            batch.newly_stable[group.group_id] = group.generation_id
        else:
            batch.newly_stable.pop(group.group_id, None)
        if isinstance(event, GroupRemoved):
            del self.groups[group.group_id]
            self._sessions.end_all(group.group_id)
            if self.addresses is not None:
                self.addresses.group_removed(group.group_id)

    def advance(self, key: str, context: OperationContext) -> Decision:
        group = self.groups.get(key)
        return NOTHING if group is None else advance(group.classic, context)

    def settled(self, key: str) -> None:
        group = self.groups.get(key)
        self._timers.arm(key, None if group is None else next_deadline_ms(group.classic))

    def stored(self, batch: Batch) -> None:
        for group_id, generation_id in batch.newly_stable.items():
            self._sessions.set_group(group_id, generation_id, True)

    # ---------------------------------------------------------------------------------------------------------- loading

    def start_loading(self) -> None:
        self._loading = StoredGroups()

    def load(self, store: Store) -> Iterator[None]:
        yield from store.replay(self._loading)
        for from_offset in store.audit_replay_offsets():
            self.audit.start_replay(from_offset)
            for records in store.replay_audit(from_offset):
                yield from self.audit.apply(records)
                yield
            if self.audit.knows(self._loading.groups):
                break

    def finish_loading(
        self, now_ms: int, store: Store, cause: Cause | None
    ) -> Generator[None, None, list[AuditRecord]]:
        at_ms = self._wall.at(now_ms)
        return self.audit.resume(ClassicGroups(self._loading.groups), at_ms, store.audit_end_offset, cause)

    def write_audit(self, audit_write: AuditWrite, now_ms: int) -> list[AuditRecord]:
        return audit_write.write(ClassicGroups(self.groups), self._wall.at(now_ms))

    def activate(self, now_ms: int) -> Iterator[None]:
        self.groups, self._loading = self._loading.groups, StoredGroups()
        # Nothing else changes the groups meanwhile.
        for position, group in enumerate(self.groups.values(), 1):
            self._start_sessions(group.classic, now_ms)
            self._in_transaction.add_group(group)
            if position % GROUPS_PER_STEP == 0:
                yield

    def _start_sessions(self, group: ClassicGroup, now_ms: int) -> None:
        self._sessions.set_group(group.group_id, group.generation_id, group.state is STABLE)
        for started in sessions_of_loaded_group(group):
            started.apply(self._sessions, group.group_id, now_ms)

    def discard(self, key: str, batch: Batch, audited: int) -> list[int]:
        self.audit.discard(key, batch.audit, audited)
        batch.newly_stable.pop(key, None)
        self._sessions.end_all(key)
        self._timers.arm(key, None)
        group = self.groups.pop(key, None)
        if group is None:
            return []
        self._in_transaction.discard_group(key, producers_of(group))
        return _waiting_in(group)

    def wake(self, key: str, at_ms: int | None) -> None:
        self._timers.arm(key, at_ms)

    def rebuild(self, keys: Sequence[str], store: Store) -> Iterator[None]:
        self._rebuild = GroupRebuild(keys, self.audit, store)
        return self._rebuild.steps()

    def serve(self, key: str, now_ms: int, batch: Batch) -> None:
        assert self._rebuild is not None, key
        group = self._rebuild.group(key)
        if group is not None:
            self.groups[key] = group
            self._in_transaction.add_group(group)
            self._start_sessions(group.classic, now_ms)
        batch.audit.extend(self._rebuild.audit(key, self._wall.at(now_ms)))

    def end_rebuild(self) -> None:
        self._rebuild = None

    def unload(self) -> list[int]:
        waiting = [request_id for group in self.groups.values() for request_id in _waiting_in(group)]
        for group_id in self.groups:
            self._sessions.end_all(group_id)
            self._timers.arm(group_id, None)
        self.groups, self._loading, self._rebuild = {}, StoredGroups(), None
        self._in_transaction = GroupsInTransaction()
        self.audit.clear()
        return waiting


def _waiting_in(group: Group) -> list[int]:
    """The ids of the requests that wait in a group."""
    return [
        request_id
        for member in group.classic.members.values()
        for request_id in (member.awaiting_join, member.awaiting_sync)
        if request_id is not None
    ]
