"""A group state machine that checks itself at every step: the one of `machines.py` when COORDINATOR_DEBUG is set.

The core keeps its rules by construction: only events change a group, records are made before the events are applied,
timers and sessions follow from decisions. These checks look at the result instead, so that a defect is found where it
happens, and not later by a client or a restart. They raise and are no `assert` statements: `python -O` keeps them.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any, cast

import msgspec

from coordinator.core.decision import Decision, Environment, OperationContext
from coordinator.core.event import Event
from coordinator.core.groups.group import Group
from coordinator.core.groups.states import EMPTY, GroupState
from coordinator.core.kinds.stored import StoredGroups, is_group_key, stores_group
from coordinator.core.offsets.records import CommittedOffset
from coordinator.core.stored import Stored
from coordinator.core.stored_batch import StoredBatch
from coordinator.groups.background_work import GroupWork
from coordinator.groups.offsets_stream import GroupReplay
from coordinator.groups.sessions import SessionTable
from coordinator.groups.state_machine import GroupObserver, GroupStateMachine, OnApplied
from coordinator.groups.steady_commits import SteadyCommit
from coordinator.runtime.batch import QueuedOperation
from coordinator.runtime.interfaces import Replay, Store
from coordinator.runtime.key_timers import KeyTimers
from coordinator.runtime.slices import Awaited, Steps


class CheckFailed(AssertionError):
    """A defect of the coordinator, never a client's: the state after a step is not what the step should leave."""


class CheckedStateMachine(GroupStateMachine):
    """Checks that decisions change nothing, and that records, sessions and timers fit the group after each of them."""

    def __init__(
        self,
        sessions: SessionTable,
        environment: Environment,
        work: GroupWork,
        timers: KeyTimers,
        observer: GroupObserver | None = None,
        on_applied: OnApplied | None = None,
    ) -> None:
        super().__init__(sessions, environment, work, observer, on_applied)
        self._timers = timers
        self._stored_groups = StoredGroups()
        """What a restart would load if all records were appended by now."""
        self._stored_again = StoredGroups()
        """As `_stored_groups`, for the groups that were rebuilt last."""
        self._encoded: tuple[Decision, list[StoredBatch]] | None = None
        """The decision that was encoded last, and its records."""

    # ------------------------------------------------------------------------------------------------------- operations

    def decide(self, queued: QueuedOperation) -> Decision:
        if queued.key is not None:
            self._check_timer_before(queued.key, queued.context.now_ms)
        with self._unchanged(queued.key, queued.operation.name):
            return super().decide(queued)

    def decide_failed(self, queued: QueuedOperation, problem: Exception) -> Decision | None:
        with self._unchanged(queued.key, queued.operation.name):
            return super().decide_failed(queued, problem)

    def advance(self, key: str, context: OperationContext) -> Decision:
        with self._unchanged(key, "advance"):
            return super().advance(key, context)

    def records(self, key: str, decision: Decision) -> list[StoredBatch]:
        with self._unchanged(key, "encode"):
            records = super().records(key, decision)
        # Copies of the lists: a batch extends the first one by the records of later decisions.
        self._encoded = decision, [StoredBatch(record.producer, list(record.records)) for record in records]
        return records

    def apply(self, key: str, decision: Decision, now_ms: int) -> None:
        encoded, self._encoded = self._encoded, None
        records = encoded[1] if encoded is not None and encoded[0] is decision else []
        touched = dict.fromkeys((*(event.key for event in decision.events), key))
        waiting = {group_id: waiting_requests(self.groups.get(group_id)) for group_id in touched}
        memberships = {group_id: membership_of(self.groups.get(group_id)) for group_id in touched}
        # One event at a time, so that each state on the way can be compared with the records.
        described = DescribedStates(records)
        for event in decision.events:
            group, before, kind = self.groups.get(event.key), EMPTY, None
            if group is not None:
                before, kind = group.membership.state, group.kind
            super().apply(key, msgspec.structs.replace(decision, events=(event,), effects=()), now_ms)
            group = group or self.groups[event.key]
            if kind is None or kind is group.kind:
                check_transition(event, before, group)
            described.event_applied(event, group, exists=event.key in self.groups)
        super().apply(key, Decision(effects=decision.effects), now_ms)
        described.check_all_found()
        self._store(records, decision)
        for group_id in touched:
            if decision.no_step_follows:
                check_membership_kept(group_id, memberships[group_id], membership_of(self.groups.get(group_id)))
            check_answered(group_id, waiting[group_id], waiting_requests(self.groups.get(group_id)), decision)
            self._check_group(group_id)

    def committed(
        self,
        commit: SteadyCommit,
        offsets: Mapping[str, Mapping[int, CommittedOffset]],
        stored: StoredBatch,
        at_ms: int,
    ) -> None:
        super().committed(commit, offsets, stored, at_ms)
        self._stored_groups.apply(stored)
        self._check_group(commit.key)

    def apply_in_steps(self, key: str, decision: Decision, now_ms: int) -> Generator[int, None, None]:
        """In one step: what is checked are the states before the decision and after it."""
        yield 1
        self.apply(key, decision, now_ms)

    # ---------------------------------------------------------------------------------------------------------- loading

    def load(self, store: Store) -> Steps[None]:
        self._stored_groups = StoredGroups()
        return super().load(cast(Store, _ReadTwice(store, self._stored_groups)))

    def activate(self, now_ms: int) -> Steps[None]:
        yield from super().activate(now_ms)
        for group_id in self.groups:
            self._check_group(group_id)

    def discard(self, key: str) -> list[int]:
        self._stored_groups.groups.pop(key, None)
        return super().discard(key)

    def start_rebuild(self, keys: Sequence[str]) -> None:
        super().start_rebuild(keys)
        self._stored_again = StoredGroups(frozenset(keys))

    def read_again(self, store: Store, from_offset: int) -> Steps[None]:
        return super().read_again(cast(Store, _ReadTwice(store, self._stored_again)), from_offset)

    def serve(self, key: str, now_ms: int) -> None:
        super().serve(key, now_ms)
        if key in self._stored_again.groups:
            self._stored_groups.groups[key] = self._stored_again.groups.pop(key)
        self._check_group(key)

    def unload(self) -> list[int]:
        self._stored_groups, self._encoded = StoredGroups(), None
        return super().unload()

    # ----------------------------------------------------------------------------------------------------------- checks

    @contextmanager
    def _unchanged(self, key: str | None, doing: str) -> Iterator[None]:
        """Within the block no group changes (`key`: only this one is looked at), also when it raises."""
        before = self._values(key)
        try:
            yield
        finally:
            after = self._values(key)
            if before != after:
                changed = [group_id for group_id in before if before[group_id] != after.get(group_id)]
                raise CheckFailed(f"{doing} changed groups {changed or list(after)}: {before} became {after}")

    def _values(self, key: str | None) -> dict[str, Any]:
        if key is None:
            return {group_id: values_of(group) for group_id, group in self.groups.items()}
        return {key: values_of(self.groups.get(key))}

    def _store(self, records: Sequence[StoredBatch], decision: Decision) -> None:
        stored: list[Stored] = [*records]
        if decision.marker is not None:
            stored.append(decision.marker)
        for batch in stored:
            self._stored_groups.apply(batch)
        if decision.is_partial:
            # The marker follows with the last part.
            for event in decision.events:
                event.apply(self._stored_groups.groups[event.key])

    def _check_group(self, group_id: str) -> None:
        group = self.groups.get(group_id)
        check_offsets(group_id, group, self._stored_groups.groups.get(group_id))
        expected = set() if group is None else set(group.kind.session_ids(group.membership))
        found = set(self.sessions.members(group_id))
        if found != expected:
            raise CheckFailed(f"group {group_id} has sessions of {found}, its members and pending ones are {expected}")
        if group is not None:
            check_derived_fields(group)

    def _check_timer_before(self, key: str, now_ms: int) -> None:
        """Before an operation the timer is as the last one left it, or it fired and the group is to advance soon."""
        required, armed = self.deadline_ms(key), self._timers.deadline_ms(key)
        has_fired = armed is None and required is not None and required <= now_ms
        if armed != required and not has_fired:
            raise CheckFailed(f"the timer of group {key} is armed for {armed}, its state requires {required}")


class DescribedStates:
    """Compares the group records of one decision with the states that the group goes through as its events are applied.

    Each record has to describe one of them, in their order, and reading it has to give that state back. An event has
    such records exactly if `stores_group` says so.
    """

    def __init__(self, records: Sequence[StoredBatch]) -> None:
        self._left = [record for stored in records for record in stored.records if is_group_key(record[0])]
        self._mismatches: list[str] = []
        """Events that `stores_group` is wrong about."""

    def event_applied(self, event: Event, group: Group[Any], *, exists: bool) -> None:
        """Look for the records of the state that an event left; `exists` is false if it removed the group."""
        kind, membership = group.kind, group.membership
        if exists and membership.state not in kind.stored_states:
            return
        expected = dict(kind.records.of_state(membership)) if exists and self._left else {}
        found = False
        while self._left and (expected.get(self._left[0][0]) == self._left[0][1] or self._is_made_again()):
            del self._left[0]
            found = True
        if not exists:
            return
        if found != stores_group(event):
            self._mismatches.append(f"group {group.group_id} is {'' if found else 'not '}stored by {event}")
        if found:
            check_reads_back(group)

    def _is_made_again(self) -> bool:
        """Whether the next record is a tombstone, and a later one of the decision has its key again."""
        key, value = self._left[0]
        return value is None and any(later == key for later, _ in self._left[1:])

    def check_all_found(self) -> None:
        if self._left:
            raise CheckFailed(f"records were written that describe no state of their group: {self._left}")
        if self._mismatches:
            raise CheckFailed(", ".join(self._mismatches))


class _ReadTwice:
    """A store whose records are also applied to a second set of groups as they are read."""

    def __init__(self, store: Store, groups: StoredGroups) -> None:
        self._store = store
        self._groups = groups

    def replay(self, replay: Replay[Any], from_offset: int = 0) -> Steps[None]:
        yield from self._store.replay(replay, from_offset)
        # On this node in the same turn as the last step, so nothing was appended since.
        for waits_for in self._store.replay(GroupReplay(self._groups), from_offset):
            if isinstance(waits_for, Awaited):
                yield waits_for

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def values_of(value: Any) -> Any:
    """The value as nested tuples that a later change of the original leaves as they are; the order of dicts counts.

    Without what only explains a member: a commit notes when it came, and that has no consequence.
    """
    if isinstance(value, msgspec.Struct):
        return type(value), *(values_of(getattr(value, name)) for name in value.__struct_fields__)
    if is_dataclass(value):
        return type(value), *(values_of(getattr(value, field.name)) for field in fields(value) if field.compare)
    if isinstance(value, dict):
        return dict, *((key, values_of(element)) for key, element in value.items())
    return frozenset(value) if isinstance(value, set) else value


def check_transition(event: Event, before: GroupState, group: Group[Any]) -> None:
    """An event leaves the state as it is, or changes it as the table of states allows, whatever guards it."""
    after = group.membership.state
    if before is not after and before not in group.kind.checks.legal_predecessors[after]:
        raise CheckFailed(f"{before} became {after}: {event}")


def membership_of(group: Group[Any] | None) -> Any:
    """All values of a group but its offsets."""
    return None if group is None else values_of(group.membership)


def check_membership_kept(group_id: str, before: Any, after: Any) -> None:
    """A decision that says so changes offsets alone, so that no step of the group can follow from it."""
    if before != after:
        raise CheckFailed(f"group {group_id} keeps its membership, but {before} became {after}")


def waiting_requests(group: Group[Any] | None) -> dict[tuple[str, str], int]:
    """(member id, API) → request id of what waits in the group."""
    waiting = [] if group is None else group.kind.waiting_requests(group.membership)
    return {(waiting_request.member_id, waiting_request.api): waiting_request.request_id for waiting_request in waiting}


def check_answered(
    group_id: str, before: dict[tuple[str, str], int], after: dict[tuple[str, str], int], decision: Decision
) -> None:
    """A request that waits no longer was answered by the decision, or a newer one of its member took its place."""
    answered = {reply.request_id for reply in decision.replies}
    for who, request_id in before.items():
        if who not in after and request_id not in answered:
            raise CheckFailed(f"group {group_id} forgot {who}, request {request_id}: {decision}")
    for who, request_id in after.items():
        if request_id in answered:
            raise CheckFailed(f"group {group_id}: {who}, request {request_id} was answered and waits: {decision}")


def check_offsets(group_id: str, group: Group[Any] | None, stored: Group[Any] | None) -> None:
    """The records of a group that were written so far say what the group in memory says of its offsets."""
    if (group is None) != (stored is None):
        raise CheckFailed(f"group {group_id} is {group} in memory, and {stored} by its records")
    if group is None or stored is None:
        return
    for in_memory, in_records in (
        (group.offsets.by_topic, stored.offsets.by_topic),
        (group.offsets.pending, stored.offsets.pending),
    ):
        if in_memory != in_records:
            raise CheckFailed(f"group {group_id} has offsets {in_memory}, its records say {in_records}")


def check_reads_back(group: Group[Any]) -> None:
    """Loading the records of the state gives the group back, as far as it is stored."""
    loaded = StoredGroups()
    loaded.apply(StoredBatch(None, group.kind.records.of_state(group.membership)))
    durable_part = group.kind.checks.durable_part
    found, expected = durable_part(loaded.groups[group.group_id].membership), durable_part(group.membership)
    if found != expected:
        raise CheckFailed(f"group {group.group_id} is stored as {expected} and loaded as {found}")


def check_derived_fields(group: Group[Any]) -> None:
    """The fields that follow from others do."""
    for what, found, expected in group.kind.checks.derived_fields(group.membership):
        if found != expected:
            raise CheckFailed(f"group {group.group_id}, {what}: {found}, should be {expected}")
