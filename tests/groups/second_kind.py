"""The kind of `epochs`, registered for a test alone."""

from typing import Final

import pytest

from coordinator.audit import projections
from coordinator.core.decision import Decision
from coordinator.core.groups.background_work import StartWork
from coordinator.core.groups.events import GroupCreated
from coordinator.core.kinds import stored
from coordinator.core.kinds.operations import OPERATIONS, results_of_work
from coordinator.core.kinds.table import KINDS
from coordinator.core.sessions import SessionStarted
from coordinator.groups import transition_log
from tests.groups.epochs.audit import AUDIT
from tests.groups.epochs.kind import COUNT, KIND, NAME, SESSION_TIMEOUT_MS, EpochMemberAdded, GroupConverted

__all__: Final = ["KIND", "NAME", "EpochMemberAdded", "GroupConverted", "add_members", "register"]


def register(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the kind to the tables, as its lines in `kinds.py` and `audit/projections.py` would."""
    monkeypatch.setitem(KINDS, NAME, KIND)
    for operation in results_of_work():
        monkeypatch.setitem(OPERATIONS, operation.name, operation)
    for event, records in KIND.records.of_events.items():
        monkeypatch.setitem(stored.EVENT_RECORDS, event, records)
        monkeypatch.setitem(stored.RECORD_MAKERS, event, records.make)
    for record_type in KIND.records.types:
        monkeypatch.setitem(stored.RECORD_TYPES, record_type.key_type, (NAME, record_type))
    for event, reason in KIND.events.transition_reasons.items():
        monkeypatch.setitem(transition_log.REASONS, event, reason)
    monkeypatch.setitem(projections.KIND_AUDITS, NAME, AUDIT)
    for event, several in AUDIT.projections.items():
        monkeypatch.setitem(projections.PROJECTIONS, event, several)


def add_members(group_id: str, now_ms: int, *member_ids: str) -> Decision:
    """The decision that creates a group with these members."""
    added = [EpochMemberAdded(group_id=group_id, at_ms=now_ms, member_id=member_id) for member_id in member_ids]
    sessions = [SessionStarted(member_id, None, SESSION_TIMEOUT_MS, SESSION_TIMEOUT_MS) for member_id in member_ids]
    return Decision(
        (GroupCreated(group_id=group_id, at_ms=now_ms, kind=NAME), *added),
        effects=(*sessions, StartWork(COUNT, member_ids)),
    )
