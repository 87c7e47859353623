"""The next step of a member towards its target assignment.

Counterpart in Kafka: `CurrentAssignmentBuilder` of the package `streams`.
"""

from collections.abc import Callable, Iterable, Mapping

import msgspec

from coordinator.core.streams.member import CurrentTasks, TasksState
from coordinator.core.streams.task_owners import TaskOwners
from coordinator.core.streams.tasks import (
    NOTHING_ASSIGNED,
    EpochsByTask,
    TaskAssignment,
    TaskEpochs,
    Tasks,
    has_any,
    utf16,
)


class OwnedTasks(msgspec.Struct, frozen=True):
    """What a member says it has: all three lists."""

    active: Tasks
    standby: Tasks
    warmup: Tasks

    def __bool__(self) -> bool:
        return bool(self.active or self.standby or self.warmup)


class Reconciliation(msgspec.Struct):
    """What the next step of a member depends on."""

    target_epoch: int
    target: TaskAssignment
    owners: TaskOwners
    """As they were before the request."""
    process_id: str
    owned: OwnedTasks | None
    """None: the member does not say what it has."""

    def still_owns(self, tasks: TaskEpochs) -> bool:
        """Whether the member has not shown that it gave up these tasks, each in its kind."""
        if self.owned is None:
            return True
        return (
            has_any(self.owned.active, tasks.active)
            or has_any(self.owned.standby, tasks.standby)
            or has_any(self.owned.warmup, tasks.warmup)
        )


def reconcile(current: CurrentTasks, asked: Reconciliation) -> CurrentTasks | None:
    """The next assignment of the member; None if it is in a state of a later version and has to rejoin."""
    match current.state:
        case TasksState.STABLE:
            return current if current.epoch == asked.target_epoch else _next(current, current.epoch, asked)
        case TasksState.UNREVOKED_TASKS:
            # What has been given up ends its epoch, whether or not more has to be given up.
            return current if asked.still_owns(current.pending) else _next(current, current.epoch + 1, asked)
        case TasksState.UNRELEASED_TASKS:
            return _next(current, current.epoch, asked)
        case TasksState.UNKNOWN:
            if asked.owned is None or asked.owned:
                return None
            return _next(current, current.epoch, asked)


def _next(current: CurrentTasks, epoch_while_revoking: int, asked: Reconciliation) -> CurrentTasks:
    """The assignment on the way to the target: first give up, then get what is free."""
    assigned, target = current.assigned, asked.target
    kept_active, revoked_active = _split(assigned.active, target.active)
    kept = TaskEpochs(kept_active, _common(assigned.standby, target.standby), _common(assigned.warmup, target.warmup))
    revoked = TaskEpochs(
        revoked_active, _without(assigned.standby, target.standby), _without(assigned.warmup, target.warmup)
    )
    if revoked and asked.still_owns(revoked):
        return CurrentTasks(epoch_while_revoking, current.epoch, TasksState.UNREVOKED_TASKS, kept, revoked)
    return _with_free_tasks(current, kept, asked)


def _split(assigned: EpochsByTask, target: Tasks) -> tuple[EpochsByTask, EpochsByTask]:
    """Divide active tasks into those that the member keeps and those that it gives up."""
    kept: dict[str, dict[int, int]] = {}
    revoked: dict[str, dict[int, int]] = {}
    for subtopology_id, epochs in assigned.items():
        target_tasks = set(target.get(subtopology_id, ()))
        for task, epoch in epochs.items():
            (kept if task in target_tasks else revoked).setdefault(subtopology_id, {})[task] = epoch
    return kept, revoked


def _with_free_tasks(current: CurrentTasks, kept: TaskEpochs, asked: Reconciliation) -> CurrentTasks:
    target, owners, process_id = asked.target, asked.owners, asked.process_id
    free_active = _free(_without(target.active, kept.active), lambda task: owners.is_active_free(task, process_id))
    free_standby = _free(_without(target.standby, kept.standby), lambda task: owners.is_standby_free(task, process_id))
    free_warmup = _free(_without(target.warmup, kept.warmup), lambda task: owners.is_standby_free(task, process_id))
    active = {subtopology_id: dict(tasks) for subtopology_id, tasks in kept.active.items()}
    for subtopology_id, tasks in free_active.items():
        active.setdefault(subtopology_id, {}).update(dict.fromkeys(tasks, asked.target_epoch))
    assigned = TaskEpochs(
        {subtopology_id: active[subtopology_id] for subtopology_id in sorted(active, key=utf16)},
        _union(kept.standby, free_standby),
        _union(kept.warmup, free_warmup),
    )
    has_all = (
        _count(assigned.active) == _count(target.active)
        and _count(assigned.standby) == _count(target.standby)
        and _count(assigned.warmup) == _count(target.warmup)
    )
    state = TasksState.STABLE if has_all else TasksState.UNRELEASED_TASKS
    return CurrentTasks(asked.target_epoch, current.epoch, state, assigned or NOTHING_ASSIGNED, NOTHING_ASSIGNED)


def _free(missing: Tasks, is_free: Callable[[tuple[str, int]], bool]) -> Tasks:
    return {
        subtopology_id: free
        for subtopology_id, tasks in missing.items()
        if (free := tuple(task for task in tasks if is_free((subtopology_id, task))))
    }


def _count(tasks: Mapping[str, object]) -> int:
    return sum(map(len, tasks.values()))  # type: ignore[arg-type]


def _common(tasks: Tasks, others: Tasks) -> Tasks:
    return {
        subtopology_id: tuple(sorted(both))
        for subtopology_id, numbers in tasks.items()
        if (both := set(numbers).intersection(others.get(subtopology_id, ())))
    }


def _without(tasks: Tasks, others: Mapping[str, Iterable[int]]) -> Tasks:
    return {
        subtopology_id: tuple(sorted(left))
        for subtopology_id, numbers in tasks.items()
        if (left := set(numbers).difference(others.get(subtopology_id, ())))
    }


def _union(tasks: Tasks, others: Tasks) -> Tasks:
    ids = sorted({*tasks, *others}, key=utf16)
    return {
        subtopology_id: tuple(sorted({*tasks.get(subtopology_id, ()), *others.get(subtopology_id, ())}))
        for subtopology_id in ids
    }
