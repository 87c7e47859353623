"""Which processes and members have which tasks, so that no task runs twice, and no process has one twice.

Counterpart in Kafka: `currentActiveTaskToProcessId` and its like in `StreamsGroup`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from coordinator.core.streams.member import StreamsMember
from coordinator.core.streams.tasks import flat_tasks

TaskId = tuple[str, int]


def _add(owners: dict[TaskId, set[str]], tasks: Mapping[str, Iterable[int]], process_id: str) -> None:
    for task in flat_tasks(tasks):
        owners.setdefault(task, set()).add(process_id)


def _discard(owners: dict[TaskId, set[str]], tasks: Mapping[str, Iterable[int]], process_id: str) -> None:
    for task in flat_tasks(tasks):
        processes = owners.get(task)
        if processes is not None:
            processes.discard(process_id)
            if not processes:
                del owners[task]


@dataclass(slots=True)
class TaskOwners:
    """Task → processes that have it, assigned or pending revocation."""

    active: dict[TaskId, str] = field(default_factory=dict)
    """An active task has one process."""
    active_members: dict[TaskId, str] = field(default_factory=dict)
    """Active task → the member of that process that has it."""
    standby: dict[TaskId, set[str]] = field(default_factory=dict)
    warmup: dict[TaskId, set[str]] = field(default_factory=dict)

    def own(self, member: StreamsMember) -> None:
        process_id, member_id = member.metadata.process_id, member.member_id
        for tasks in (member.current.assigned, member.current.pending):
            for task in flat_tasks(tasks.active):
                self.active[task], self.active_members[task] = process_id, member_id
            _add(self.standby, tasks.standby, process_id)
            _add(self.warmup, tasks.warmup, process_id)

    def disown(self, member: StreamsMember) -> None:
        """Take the tasks from a member; an active one that another process has by now is left to that."""
        process_id = member.metadata.process_id
        for tasks in (member.current.assigned, member.current.pending):
            for task in flat_tasks(tasks.active):
                if self.active.get(task) == process_id:
                    del self.active[task], self.active_members[task]
            _discard(self.standby, tasks.standby, process_id)
            _discard(self.warmup, tasks.warmup, process_id)

    def is_active_free(self, task: TaskId, process_id: str) -> bool:
        """Whether nobody runs the task, and the process itself has it in no other kind."""
        return (
            task not in self.active
            and process_id not in self.standby.get(task, ())
            and process_id not in self.warmup.get(task, ())
        )

    def is_standby_free(self, task: TaskId, process_id: str) -> bool:
        """Whether the process has the task in no kind."""
        return (
            self.active.get(task) != process_id
            and process_id not in self.standby.get(task, ())
            and process_id not in self.warmup.get(task, ())
        )
