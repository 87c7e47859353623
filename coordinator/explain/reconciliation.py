"""How the members of a consumer group (KIP-848) get to the target assignment of a generation, and who holds up whom."""

from typing import Final

import msgspec

from coordinator.audit.schema import TASK_MOVES_NAMED_MAX, MemberReconciled, MemberRef, StreamsTasks, TopicPartitions

MEMBERS_KEPT_MAX: Final = 10_000

Partition = tuple[str, int]
Task = tuple[str, int]
"""Subtopology id and number."""


class Revocation(msgspec.Struct, gc=False):
    """Partitions that a member has to give up. Times are wall-clock ms since the epoch; None: not yet.

    It is asked in its next heartbeat, and others may wait for them before that.
    """

    member: MemberRef
    asked_ms: int | None
    partitions: TopicPartitions
    count: int
    gave_up_ms: int | None = None
    was_removed: bool = False
    """Whether the member was removed before it had given them up; `gave_up_ms` is when."""
    waiting: dict[str, MemberRef] = {}
    """Member id → a member that waits for some of these partitions."""

    waited_since_ms: int | None = None
    """Since when another member waits; None: nobody did."""
    tasks: dict[str, tuple[Task, ...]] = {}
    """In a streams group: member id → the tasks of these partitions that it waits for, as far as they are named."""

    @property
    def took_ms(self) -> int | None:
        """From when it was asked until it had given them up; None if one of them has not happened."""
        return (
            None if None in (self.asked_ms, self.gave_up_ms) else max(0, (self.gave_up_ms or 0) - (self.asked_ms or 0))
        )

    @property
    def waited_ms(self) -> int | None:
        """How long others waited; None: they still do, or nobody did."""
        if self.gave_up_ms is None or self.waited_since_ms is None:
            return None
        return max(0, self.gave_up_ms - self.waited_since_ms)

    @property
    def asked_after_ms(self) -> int:
        """How long others waited before it was asked."""
        if self.asked_ms is None or self.waited_since_ms is None:
            return 0
        return max(0, self.asked_ms - self.waited_since_ms)


class Reconciliations(msgspec.Struct, gc=False):
    """What the members of one generation were asked to give up, by member id."""

    revocations: dict[str, Revocation] = {}
    waits: dict[str, dict[str, MemberRef]] = {}
    """Member id → those who wait for it now, by member id."""
    waits_of: dict[str, list[str]] = {}
    """Member id → the members that it waits for now."""

    def apply(self, event: MemberReconciled) -> None:
        """Take in a step of a member."""
        member, member_id = event.member, event.member.member_id
        self._note_waits(event)
        found = self._open_revocation(member_id)
        if event.revoking_count:
            if found is None:
                found = self._begin(Revocation(member, event.time_ms, event.revoking, event.revoking_count))
            if found.asked_ms is None:
                found.asked_ms = event.time_ms
                found.partitions, found.count = event.revoking, event.revoking_count
        elif found is not None and (found.asked_ms is not None or event.lost):
            found.gave_up_ms = event.time_ms

    def note_tasks(self, event: StreamsTasks) -> None:
        """Whose tasks a member of a streams group waits for; its `MemberReconciled` comes before.

        An event that may leave out some of them is not used: the partitions are known.
        """
        if len(event.awaited) >= TASK_MOVES_NAMED_MAX:
            return
        awaited: dict[str, list[Task]] = {}
        for task in event.awaited:
            awaited.setdefault(task.holder.member_id, []).append((task.subtopology_id, task.task))
        for holder_id, tasks in awaited.items():
            found = self._open_revocation(holder_id)
            if found is not None:
                found.tasks[event.member.member_id] = tuple(tasks)

    def removed(self, member_id: str, at_ms: int) -> None:
        """A member is gone: it waits for nobody, and what it had not given up is free."""
        self._wait_no_more(member_id)
        found = self._open_revocation(member_id)
        if found is not None:
            found.gave_up_ms, found.was_removed = at_ms, True

    def ended(self) -> None:
        """Nobody waits any more."""
        self.waits, self.waits_of = {}, {}

    def slowest(self) -> Revocation | None:
        """The one that others waited for longest, as far as it is over; else the one that began first."""
        waited = [revocation for revocation in self.revocations.values() if revocation.waiting]
        unfinished = [wait_ms for wait_ms in waited if wait_ms.gave_up_ms is None]
        if unfinished:
            return min(unfinished, key=lambda revocation: revocation.waited_since_ms or 0)
        return max(waited, key=lambda revocation: revocation.waited_ms or 0, default=None)

    def slowest_alone(self) -> "Reconciliations":
        """What a finding asks of a generation that has a later one."""
        slowest = self.slowest()
        return Reconciliations({} if slowest is None else {slowest.member.member_id: slowest})

    def unfinished(self) -> "Reconciliations":
        """What goes on when the group epoch rises."""
        revocations = {}
        for member_id, revocation in self.revocations.items():
            waiting = self.waits.get(member_id)
            if revocation.gave_up_ms is None and (waiting or revocation.asked_ms is not None):
                since_ms = revocation.waited_since_ms if waiting else None
                tasks = {waiter_id: revocation.tasks.get(waiter_id, ()) for waiter_id in waiting or ()}
                revocations[member_id] = msgspec.structs.replace(
                    revocation, waiting=dict(waiting or {}), waited_since_ms=since_ms, tasks=tasks
                )
        waits = {holder_id: dict(waiting) for holder_id, waiting in self.waits.items()}
        return Reconciliations(revocations, waits, dict(self.waits_of))

    def _wait_no_more(self, waiter_id: str) -> None:
        for holder_id in self.waits_of.pop(waiter_id, ()):
            self.waits[holder_id].pop(waiter_id, None)

    def _open_revocation(self, member_id: str) -> Revocation | None:
        found = self.revocations.get(member_id)
        return None if found is None or found.gave_up_ms is not None else found

    def _begin(self, revocation: Revocation) -> Revocation:
        if len(self.revocations) < MEMBERS_KEPT_MAX:
            self.revocations[revocation.member.member_id] = revocation
        return revocation

    def _note_waits(self, event: MemberReconciled) -> None:
        waiter = event.member
        self._wait_no_more(waiter.member_id)
        if event.waits_for:
            self.waits_of[waiter.member_id] = [wait.member.member_id for wait in event.waits_for]
        for wait in event.waits_for:
            holder = wait.member
            self.waits.setdefault(holder.member_id, {})[waiter.member_id] = waiter
            found = self._open_revocation(holder.member_id)
            if found is None:
                count = sum(map(len, wait.partitions.values()))
                found = self._begin(Revocation(holder, None, wait.partitions, count))
            found.waiting = {**found.waiting, waiter.member_id: waiter}
            if found.waited_since_ms is None:
                found.waited_since_ms = event.time_ms
