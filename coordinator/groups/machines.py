"""Makes the state machines of shards: plain ones, or those that check themselves."""

import os
from typing import Final

from coordinator.core.decision import Environment
from coordinator.groups.background_work import GroupWork
from coordinator.groups.sessions import SessionTable
from coordinator.groups.state_machine import GroupObserver, GroupStateMachine, OnApplied
from coordinator.runtime.key_timers import KeyTimers

SWITCH: Final = "COORDINATOR_DEBUG"
"""The environment variable that arms the checks: 1 is on; 0, nothing or absent is off."""


def checks_are_armed() -> bool:
    return os.environ.get(SWITCH, "0") not in ("", "0")


def make_state_machine(
    sessions: SessionTable,
    observer: GroupObserver,
    timers: KeyTimers,
    environment: Environment,
    work: GroupWork,
    on_applied: OnApplied | None = None,
) -> GroupStateMachine:
    """The state machine of a shard; one that checks itself if the checks are armed. `timers` are those of the shard."""
    if checks_are_armed():
        from coordinator.groups.checked import CheckedStateMachine

        return CheckedStateMachine(sessions, environment, work, timers, observer, on_applied)
    return GroupStateMachine(sessions, environment, work, observer, on_applied)
