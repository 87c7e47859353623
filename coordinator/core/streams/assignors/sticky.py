"""The sticky task assignor of streams groups: members keep the tasks they had as far as the numbers allow.

Standby tasks are given to processes that do not have the task yet. Kafka's answer depends on the order of its hash
tables and queues; given the same order of members and processes, this one is equal to it.

Counterpart in Kafka: `StickyTaskAssignor` of the group coordinator (KIP-1071).
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from coordinator.core.streams.assignors.priority_queue import JavaPriorityQueue
from coordinator.core.streams.tasks import TaskAssignment, Tasks, utf16

NAME: Final = "sticky"
TASKS_AT_ONCE: Final = 150
"""So many tasks are handled in one step of about a millisecond."""

TaskId = tuple[str, int]
"""Subtopology id, and partition: the number of the task in it."""


class TaskSource(msgspec.Struct, frozen=True):
    """A subtopology, as the assignor sees it."""

    subtopology_id: str
    tasks: int
    is_stateful: bool
    """It has changelog topics, so its tasks may have standby tasks."""


class StreamsSubscriber(msgspec.Struct, frozen=True):
    """A member, as the assignor sees it: its process, and its target so far."""

    member_id: str
    process_id: str
    active: Mapping[str, Sequence[int]]
    standby: Mapping[str, Sequence[int]]


def by_partition(task: TaskId) -> tuple[int, bytes]:
    return task[1], utf16(task[0])


def by_subtopology(task: TaskId) -> tuple[bytes, int]:
    return utf16(task[0]), task[1]


class _Member:
    """A member and what it has been given; `count` is the number of its tasks."""

    __slots__ = ("active", "count", "member_id", "process", "standby")

    def __init__(self, member_id: str, process: "_Process") -> None:
        self.member_id, self.process, self.count = member_id, process, 0
        self.active: list[TaskId] = []
        self.standby: list[TaskId] = []


class _Process:
    """The members of one process, in the order in which its queue is filled, and the tasks that they have."""

    __slots__ = ("queue", "tasks", "threads")

    def __init__(self) -> None:
        self.threads: list[_Member] = []
        """Its members: a stream thread each."""
        self.tasks: set[TaskId] = set()
        self.queue: JavaPriorityQueue[_Member] | None = None
        """Its members by their number of tasks; None: the numbers have changed since it was filled."""

    def load(self) -> float:
        return len(self.tasks) / len(self.threads)

    def poll_member(self) -> _Member:
        if self.queue is None:
            self.queue = JavaPriorityQueue(lambda member: member.count)
            for member in self.threads:
                self.queue.add(member)
        return self.queue.poll()


class _Quota:
    """How many tasks a member may have: those that are left, shared among the members that have room."""

    __slots__ = ("_members", "_tasks", "per_member")

    def __init__(self, tasks: int, members: int) -> None:
        self._tasks, self._members = tasks, members
        self._divide()

    def count(self, member: _Member) -> None:
        """A member that is full no longer shares."""
        if member.count == self.per_member:
            self._members -= 1
            self._tasks -= member.count
            self._divide()

    def _divide(self) -> None:
        self.per_member = -(-self._tasks // self._members) if self._members > 0 else 0


class _Assignment:
    """One computation."""

    def __init__(
        self,
        subscribers: Sequence[StreamsSubscriber],
        processes: Mapping[str, Sequence[str]],
        sources: Sequence[TaskSource],
        standbys: int,
    ) -> None:
        self._standbys = standbys
        self.processes = {process_id: _Process() for process_id in processes}
        self.members = {
            subscriber.member_id: _Member(subscriber.member_id, self.processes[subscriber.process_id])
            for subscriber in subscribers
        }
        for process_id, member_ids in processes.items():
            self.processes[process_id].threads = [self.members[member_id] for member_id in member_ids]
        self.active = [(source.subtopology_id, task) for source in sources for task in range(source.tasks)]
        self.stateful = [
            (source.subtopology_id, task) for source in sources if source.is_stateful for task in range(source.tasks)
        ]
        self._active_quota = _Quota(len(self.active), len(subscribers))
        self._quota = _Quota(len(self.active) + standbys * len(self.stateful), len(subscribers))
        self._old_owner, self._old_standbys = self._previous(subscribers)

    def _previous(
        self, subscribers: Iterable[StreamsSubscriber]
    ) -> tuple[dict[TaskId, _Member], dict[TaskId, list[_Member]]]:
        owners: dict[TaskId, _Member] = {}
        standbys: dict[TaskId, list[_Member]] = {}
        for subscriber in subscribers:
            member = self.members[subscriber.member_id]
            for subtopology_id, tasks in subscriber.active.items():
                owners.update(((subtopology_id, task), member) for task in tasks)
            for subtopology_id, tasks in subscriber.standby.items():
                for task in tasks:
                    standbys.setdefault((subtopology_id, task), []).append(member)
        return owners, standbys

    def steps(self) -> Generator[None, None, dict[str, TaskAssignment]]:
        yield from self._assign_active()
        if self._standbys and self.stateful:
            yield from self._assign_standbys()
        return {
            member_id: TaskAssignment(_by_subtopology(member.active), _by_subtopology(member.standby))
            for member_id, member in self.members.items()
        }

    def _give(self, task: TaskId, member: _Member, *, is_active: bool, is_sticky: bool) -> None:
        member.count += 1
        (member.active if is_active else member.standby).append(task)
        member.process.tasks.add(task)
        if is_sticky:
            member.process.queue = None
        if is_active:
            self._active_quota.count(member)
        self._quota.count(member)

    # ---- active tasks

    def _assign_active(self) -> Generator[None, None, None]:
        left = []
        for number, task in enumerate(sorted(self.active, key=by_partition)):
            owner = self._old_owner.get(task)
            if owner is not None and owner.count < self._active_quota.per_member:
                self._give(task, owner, is_active=True, is_sticky=True)
            else:
                left.append(task)
            if number % TASKS_AT_ONCE == 0:
                yield
        remaining = []
        for number, task in enumerate(left):
            candidate = self._least_loaded_standby(task)
            if candidate is not None and candidate.count < self._active_quota.per_member:
                self._give(task, candidate, is_active=True, is_sticky=True)
            else:
                remaining.append(task)
            if number % TASKS_AT_ONCE == 0:
                yield
        yield from self._assign_remaining(remaining)

    def _assign_remaining(self, tasks: list[TaskId]) -> Generator[None, None, None]:
        """To the process of the least load, and there to the member with the fewest tasks, whatever the quota."""
        queue = self._process_queue()
        for number, task in enumerate(sorted(tasks, key=by_subtopology)):
            process = queue.poll()
            self._give_to(process, task, is_active=True)
            queue.add(process)
            if number % TASKS_AT_ONCE == 0:
                yield

    def _process_queue(self) -> JavaPriorityQueue[_Process]:
        queue: JavaPriorityQueue[_Process] = JavaPriorityQueue(_Process.load)
        for process in self.processes.values():
            queue.add(process)
        return queue

    def _give_to(self, process: _Process, task: TaskId, *, is_active: bool) -> None:
        member = process.poll_member()
        self._give(task, member, is_active=is_active, is_sticky=False)
        assert process.queue is not None
        process.queue.add(member)

    def _least_loaded_standby(self, task: TaskId, *, without_task: bool = False) -> _Member | None:
        """The first member that had a standby of the task, or a later one with both less load and fewer tasks."""
        found: _Member | None = None
        for member in self._old_standbys.get(task, ()):
            if without_task and task in member.process.tasks:
                if found is None:
                    return None
                continue
            if found is None or (member.process.load() < found.process.load() and member.count < found.count):
                found = member
        return found

    # ---- standby tasks

    def _assign_standbys(self) -> Generator[None, None, None]:
        put_aside: list[tuple[TaskId, int]] = []
        for number, task in enumerate(sorted(self.stateful, key=by_partition, reverse=True)):
            for replica in range(self._standbys):
                member = self._sticky_standby(task)
                if member is None:
                    put_aside.append((task, self._standbys - replica))
                    break
                self._give(task, member, is_active=False, is_sticky=True)
            if number % TASKS_AT_ONCE == 0:
                yield
        queue = self._process_queue()
        put_aside.sort(key=lambda entry: by_subtopology(entry[0]), reverse=True)
        for number, (task, replicas) in enumerate(put_aside):
            for _ in range(replicas):
                if not self._give_to_process_without(task, queue):
                    break
            if number % TASKS_AT_ONCE == 0:
                yield

    def _sticky_standby(self, task: TaskId) -> _Member | None:
        owner = self._old_owner.get(task)
        if owner is not None and task not in owner.process.tasks and owner.count < self._quota.per_member:
            return owner
        candidate = self._least_loaded_standby(task, without_task=True)
        return candidate if candidate is not None and candidate.count < self._quota.per_member else None

    def _give_to_process_without(self, task: TaskId, queue: JavaPriorityQueue[_Process]) -> bool:
        """Whether there was a process without the task; those that have it go back to the queue in reverse order."""
        passed: list[_Process] = []
        found = None
        while queue:
            process = queue.poll()
            if task not in process.tasks:
                found = process
                break
            passed.append(process)
        if found is not None:
            self._give_to(found, task, is_active=False)
            queue.add(found)
        for process in reversed(passed):
            queue.add(process)
        return found is not None


def _by_subtopology(tasks: list[TaskId]) -> Tasks:
    found: dict[str, list[int]] = {}
    for subtopology_id, task in tasks:
        found.setdefault(subtopology_id, []).append(task)
    return {subtopology_id: tuple(sorted(found[subtopology_id])) for subtopology_id in sorted(found, key=utf16)}


def assignment_steps(
    subscribers: Sequence[StreamsSubscriber],
    processes: Mapping[str, Sequence[str]],
    sources: Sequence[TaskSource],
    standbys: int,
) -> Generator[None, None, dict[str, TaskAssignment]]:
    """The tasks of each member, in steps.

    `processes`: process id → its members; both in the order in which Kafka's queues are filled. `standbys` is
    `num.standby.replicas`.
    """
    return (yield from _Assignment(subscribers, processes, sources, standbys).steps())
