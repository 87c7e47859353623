"""The groups of one partition of `__consumer_offsets`. Counterpart in Kafka: `GroupCoordinatorShard`."""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, Final, Protocol

from coordinator.core.address_limits import AddressLimits, PendingMember
from coordinator.core.decision import Decision, Environment
from coordinator.core.event import Event
from coordinator.core.groups.background_work import StartWork
from coordinator.core.groups.events import GroupCreated
from coordinator.core.groups.group import Group
from coordinator.core.groups.states import STABLE, GroupState
from coordinator.core.kinds.stored import StoredGroups
from coordinator.core.kinds.table import KINDS, new_group
from coordinator.core.offsets.events import (
    OffsetsCommitted,
    OffsetsDeleted,
    TransactionalOffsetsCommitted,
    TransactionCompleted,
)
from coordinator.core.offsets.groups_in_transaction import GroupsInTransaction, producers_of
from coordinator.core.offsets.records import CommittedOffset
from coordinator.core.operation import Scope
from coordinator.core.stored_batch import StoredBatch
from coordinator.groups.background_work import GroupWork, StartedWork
from coordinator.groups.decided_groups import DecidedGroups
from coordinator.groups.offsets_stream import GroupReplay
from coordinator.groups.sessions import SessionTable
from coordinator.groups.steady_commits import SteadyCommit
from coordinator.runtime.batch import QueuedOperation, RecordsTooLarge
from coordinator.runtime.interfaces import Store
from coordinator.runtime.slices import Steps

GROUPS_PER_STEP: Final = 100
"""Loaded groups whose sessions begin in one step: half a millisecond if they have a few members each."""

EVENTS_PER_STEP: Final = 50
"""Events of a decision that are applied in one step: up to a millisecond."""
EFFECTS_PER_STEP: Final = 1_000
"""Sessions that end in one step: about as long."""
OPERATIONS_PER_STEP: Final = 30
"""As many operations take as long."""

PENDING_MEMBER_ADDED: Final[frozenset[type]] = frozenset(
    event for kind in KINDS.values() for event in kind.events.pending_member_added
)

LOGGED: Final[dict[type, Callable[[Any], None]]] = {
    event: log for kind in KINDS.values() for event, log in kind.events.logged.items()
}

OFFSET_EVENTS: Final[frozenset[type]] = frozenset({TransactionalOffsetsCommitted, TransactionCompleted, OffsetsDeleted})
"""Those that may change which groups have offsets pending of a transaction."""

RARE_EVENTS: Final[frozenset[type]] = OFFSET_EVENTS | PENDING_MEMBER_ADDED | frozenset(LOGGED)


class GroupObserver(Protocol):
    """Gets to know each event of the groups of a shard."""

    def project(self, event: Event, group: Group[Any], state_before: GroupState, generation_before: int) -> None:
        """The event was just applied to the group."""

    def project_commit(
        self, group_id: str, member_id: str, offsets: Mapping[str, Mapping[int, CommittedOffset]], at_ms: int
    ) -> None:
        """As `project`, of an OffsetsCommitted with these fields that nobody has made."""


OnApplied = Callable[[Sequence[Event], GroupState], None]
"""(events of a decision, state that they left their group in)."""


class GroupStateMachine(DecidedGroups):
    """Groups by group id, with their sessions."""

    def __init__(
        self,
        sessions: SessionTable,
        environment: Environment,
        work: GroupWork,
        observer: GroupObserver | None = None,
        on_applied: OnApplied | None = None,
    ) -> None:
        """`observer` is called after each event, `on_applied` with the events of each decision that was applied,
        and the state of its group then. `work` does what decisions start beside the requests.
        """
        super().__init__(sessions, observer, on_applied, RARE_EVENTS)
        self._in_transaction = GroupsInTransaction()
        self._loading = StoredGroups()
        self._rebuilding = StoredGroups()
        self._environment = environment
        self._addresses = environment.addresses
        self._work = work

    # ------------------------------------------------------------------------------------------------------- operations

    @property
    def states(self) -> Mapping[str, Group[Any]]:
        return self.groups

    def _target_of_all(self, queued: QueuedOperation) -> Mapping[str, Group[Any]]:
        """What an operation over the whole shard is about (`Scope`)."""
        if queued.operation.scope is Scope.TRANSACTION:
            producer_id = queued.request.producer.producer_id
            return self._in_transaction.of(producer_id, self.groups)
        return self.groups

    def decide_failed(self, queued: QueuedOperation, problem: Exception) -> Decision | None:
        operation, group = queued.operation, self.groups.get(queued.key or "")
        if operation.failed is not None:
            reason = problem if isinstance(problem, RecordsTooLarge) else "an unexpected error, which the log has"
            return operation.failed(group, queued.request, queued.context, reason)
        if operation.too_large is not None and isinstance(problem, RecordsTooLarge):
            return operation.too_large(group, queued.request, queued.context)
        return None

    def _removed(self, key: str) -> None:
        """The group was removed by an event."""
        del self.groups[key]
        self.sessions.end_all(key)
        if self._addresses is not None:
            self._addresses.group_removed(key)

    def _create(self, key: str, event: Event) -> Group[Any]:
        assert isinstance(event, GroupCreated), (event, "of a group that does not exist")
        group = self.groups[key] = new_group(key, event.kind)
        if self._addresses is not None:
            self._addresses.group_created(event.group_id, event.client_host)
        return group

    def committed(
        self,
        commit: SteadyCommit,
        offsets: Mapping[str, Mapping[int, CommittedOffset]],
        stored: StoredBatch,
        at_ms: int,
    ) -> None:
        """A steady commit was applied to its group, as `apply` would have applied its OffsetsCommitted.

        `offsets` are topic → partition → offset, and `stored` the records of them.
        """
        group_id, member_id = commit.key, commit.member_id
        if self._observer is not None:
            self._observer.project_commit(group_id, member_id, offsets, at_ms)
        if self._on_applied is not None:
            event = OffsetsCommitted(group_id=group_id, at_ms=at_ms, offsets=offsets, member_id=member_id)
            self._on_applied((event,), self.groups[group_id].membership.state)

    def apply_in_steps(self, key: str, decision: Decision, now_ms: int) -> Generator[int, None, None]:
        events, effects = decision.events, decision.effects
        at_once, operations = EVENTS_PER_STEP, OPERATIONS_PER_STEP
        if len(events) <= EVENTS_PER_STEP:  # then each of them has much to change
            at_once, operations = 1, max(decision.weight // max(len(events), 1), OPERATIONS_PER_STEP)
        for start in range(0, len(events), at_once):
            self.apply(key, Decision(events[start : start + at_once]), now_ms)
            yield operations
            group = self.groups.get(key)
            if group is not None:
                for _ in group.kind.steps_left(group.membership):
                    yield OPERATIONS_PER_STEP
        for start in range(0, len(effects), EFFECTS_PER_STEP):
            self.apply(key, Decision(effects=effects[start : start + EFFECTS_PER_STEP]), now_ms)
            yield OPERATIONS_PER_STEP

    def start_work(self, group_id: str, work: StartWork) -> None:
        group = self.groups.get(group_id)
        if group is not None:
            worker = group.kind.workers[work.name]
            self._work.started.append(StartedWork(self, group_id, group.membership, worker, work))

    def _count_pending_member(self, event: Any, addresses: AddressLimits) -> None:
        addresses.member_pending(PendingMember(event.group_id, event.member_id), event.client_host)

    def _apply_and_note(self, event: Event, group: Group[Any]) -> None:
        """Apply an event that is logged, counts at an address, or may change the offsets pending of transactions."""
        if type(event) in PENDING_MEMBER_ADDED:
            event.apply(group)
            if self._addresses is not None:
                self._count_pending_member(event, self._addresses)
            return
        log = LOGGED.get(type(event))
        if log is not None:
            event.apply(group)
            log(event)
            return
        if isinstance(event, TransactionalOffsetsCommitted):
            event.apply(group)
            self._in_transaction.add(event.producer.producer_id, group.group_id)
            return
        before = [event.producer.producer_id] if isinstance(event, TransactionCompleted) else producers_of(group)
        event.apply(group)
        gone = [producer_id for producer_id in before if not group.offsets.pending_of(producer_id)]
        self._in_transaction.discard_group(group.group_id, gone)

    # ---------------------------------------------------------------------------------------------------------- loading

    def load(self, store: Store) -> Steps[None]:
        self._loading = StoredGroups()
        yield from store.replay(GroupReplay(self._loading))
        if self._environment.look_up is not None:
            yield from self._environment.look_up(self._loading.groups.values())

    @property
    def loaded(self) -> Mapping[str, Group[Any]]:
        return self._loading.groups

    def activate(self, now_ms: int) -> Steps[None]:
        self.groups, self._loading = self._loading.groups, StoredGroups()
        # Nothing else changes the groups meanwhile.
        for position, group in enumerate(self.groups.values(), 1):
            self._start_sessions(group, now_ms)
            self._in_transaction.add_group(group)
            if position % GROUPS_PER_STEP == 0:
                yield

    def _start_sessions(self, group: Group[Any], now_ms: int) -> None:
        self.sessions.set_group(group.group_id, group.membership.generation_id, has_fast_heartbeats(group))
        for effect in group.kind.effects_of_loaded(group.membership, self._environment):
            effect.apply(self, group.group_id, now_ms)

    def discard(self, key: str) -> list[int]:
        self._newly_stable.pop(key, None)
        self.sessions.end_all(key)
        group = self.groups.pop(key, None)
        if group is None:
            return []
        self._in_transaction.discard_group(key, producers_of(group))
        return _waiting_in(group)

    def start_rebuild(self, keys: Sequence[str]) -> None:
        self._rebuilding = StoredGroups(frozenset(keys))

    def read_again(self, store: Store, from_offset: int) -> Steps[None]:
        return store.replay(GroupReplay(self._rebuilding), from_offset)

    @property
    def rebuilt(self) -> Mapping[str, Group[Any]]:
        return self._rebuilding.groups

    def serve(self, key: str, now_ms: int) -> None:
        group = self._rebuilding.groups.get(key)
        if group is not None:
            self.groups[key] = group
            self._in_transaction.add_group(group)
            self._start_sessions(group, now_ms)

    def end_rebuild(self) -> None:
        self._rebuilding = StoredGroups()

    def unload(self) -> list[int]:
        waiting = [request_id for group in self.groups.values() for request_id in _waiting_in(group)]
        for group_id in self.groups:
            self.sessions.end_all(group_id)
        self.groups, self._loading, self._rebuilding = {}, StoredGroups(), StoredGroups()
        self._in_transaction = GroupsInTransaction()
        self._newly_stable = {}
        return waiting


def has_fast_heartbeats(group: Group[Any]) -> bool:
    """Whether a Heartbeat of this generation does nothing but renew a session."""
    return group.kind.has_fast_heartbeats and group.membership.state is STABLE


def _waiting_in(group: Group[Any]) -> list[int]:
    """The ids of the requests that wait in a group."""
    return [waiting.request_id for waiting in group.kind.waiting_requests(group.membership)]
