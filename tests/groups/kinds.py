"""Rows of kinds of groups that a test changes."""

from typing import Any

import pytest
from msgspec.structs import replace

from coordinator.core.kinds.table import KINDS
from coordinator.groups.state_machine import GroupStateMachine


def change_kind(monkeypatch: pytest.MonkeyPatch, machine: GroupStateMachine, **changes: Any) -> None:
    """Change fields of the row of classic groups, for the groups that the machine has and gets."""
    row = replace(KINDS["classic"], **changes)
    monkeypatch.setitem(KINDS, "classic", row)
    for group in machine.groups.values():
        monkeypatch.setattr(group, "kind", row)
