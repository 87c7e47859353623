"""Work beside the requests of groups, done in the slices of an event loop whose iterations a test makes."""

from collections.abc import Callable
from typing import Any, Final

import msgspec
import pytest

from coordinator.core.decision import Environment, Topics
from coordinator.core.groups.background_work import StartWork
from coordinator.core.groups.group import Group
from coordinator.core.kinds.table import KINDS, new_group
from coordinator.core.operation import Operation
from coordinator.core.topic_listing import TopicListing
from coordinator.groups.background_work import GroupWork, StartedWork
from coordinator.runtime import slices
from coordinator.runtime.slices import Slices
from tests.core.deciding import environment_with

HOST: Final = "10.0.0.1"
STEP_SECONDS: Final = 0.0005


class Loop:
    """Iterations of an event loop, in which each look at the clock takes half a millisecond."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.callbacks: list[Callable[[], None]] = []
        self.now = 100.0
        monkeypatch.setattr(slices, "seconds", self._seconds)
        self.slices = Slices(self.callbacks.append)

    def _seconds(self) -> float:
        self.now += STEP_SECONDS
        return self.now

    def next_iteration(self) -> float:
        """Returns how long it took."""
        began = self.now
        callbacks, self.callbacks[:] = list(self.callbacks), []
        for callback in callbacks:
            callback()
        return self.now - began

    def finish(self) -> int:
        """Returns how many iterations there were."""
        count = 0
        while self.callbacks:
            self.next_iteration()
            count += 1
        return count


class Working:
    """Consumer groups and their work. It is also what `StartedWork` takes for the state machine of a shard."""

    def __init__(
        self, loop: Loop | None = None, topics: Topics | None = None, listing: TopicListing | None = None
    ) -> None:
        changes: dict[str, Any] = {} if topics is None else {"topics": topics}
        environment: Environment = msgspec.structs.replace(environment_with(), listing=listing, **changes)
        self.work = GroupWork(environment, None if loop is None else loop.slices.start, self._submitted)
        self.groups: dict[str, Group[Any]] = {}
        self.submitted: list[tuple[str, str, Any]] = []
        """(operation, group, request) of what was queued."""
        self.last: StartedWork | None = None
        """The work that was started last."""

    def _submitted(self, operation: Operation, group_id: str, request: Any) -> None:
        self.submitted.append((operation.name, group_id, request))

    @property
    def results(self) -> dict[str, Any]:
        """Group → what its last operation gets."""
        return {group_id: request for _, group_id, request in self.submitted}

    def start(self, name: str, request: Any, group_id: str = "g", host: str = HOST) -> None:
        """As a decision does, and the end of its batch."""
        group = self.groups.setdefault(group_id, new_group(group_id, "consumer"))
        work = StartWork(name, request, host)
        started = StartedWork(self, group_id, group.membership, KINDS["consumer"].workers[name], work)
        self.last = started
        self.work.started.append(started)
        self.work.start_all()
