"""Every step of these tests is checked: records against state, sessions and timers against members."""

import pytest

from coordinator.groups.machines import SWITCH


@pytest.fixture(autouse=True)
def _checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "1")
