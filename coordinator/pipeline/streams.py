"""The rows of streams groups (KIP-1071): which member has which task, active or standby."""

from collections.abc import Mapping
from typing import Final

from coordinator.audit.schema import AuditEvent, MemberRef, StreamsTasks
from coordinator.pipeline.names import STREAMS_TASKS
from coordinator.pipeline.rows import NewRows, Row, head

ACTIVE: Final = "active"
STANDBY: Final = "standby"
NONE: Final = "none"

Tasks = dict[str, str]
"""Task, as `0_3` → active or standby."""


def add_tasks(before: Tasks, event: StreamsTasks, rows: NewRows) -> Tasks:
    """Add a row for each task that a member has in another way than before; return those that it has now.

    If they are too many to be named, those that it had before are told as they were.
    """
    if event.unnamed_tasks:
        return before
    after = _named(event.active, ACTIVE) | _named(event.standby, STANDBY)
    gained = {_name(task.subtopology_id, task.task): task for task in event.gained}
    for name in sorted(before.keys() | after.keys()):
        kind = after.get(name, NONE)
        if before.get(name, NONE) == kind:
            continue
        row = _row(event, event.member, name, kind) | {"process_id": event.process_id}
        task = gained.get(name)
        if kind == ACTIVE and task is not None:
            row["before_member_id"] = None if task.before is None else task.before.member_id
            row["was_standby"] = task.was_standby
        rows[STREAMS_TASKS].append(row)
    return after


def end_tasks(before: Tasks, event: AuditEvent, member: MemberRef, rows: NewRows) -> None:
    """Add a row for each task of a member that is gone."""
    rows[STREAMS_TASKS] += [_row(event, member, name, NONE) for name in sorted(before)]


def _row(event: AuditEvent, member: MemberRef, name: str, kind: str) -> Row:
    subtopology_id, _, number = name.rpartition("_")
    return head(event) | {
        "subtopology_id": subtopology_id,
        "task": int(number),
        "member_id": member.member_id,
        "client_id": member.client_id,
        "since_ms": event.time_ms,
        "kind": kind,
    }


def _named(tasks: Mapping[str, list[int]], kind: str) -> Tasks:
    return {_name(subtopology_id, number): kind for subtopology_id, numbers in tasks.items() for number in numbers}


def _name(subtopology_id: str, number: int) -> str:
    return f"{subtopology_id}_{number}"
