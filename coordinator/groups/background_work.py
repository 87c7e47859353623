"""Does the work beside requests that decisions start, and brings back its results."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

import msgspec

from coordinator.core.decision import Environment
from coordinator.core.groups.background_work import StartWork, Worker, WorkSteps
from coordinator.core.groups.group import Group
from coordinator.core.groups.membership import Membership
from coordinator.core.kinds.operations import OPERATIONS
from coordinator.core.operation import Operation
from coordinator.runtime.slices import SlicedWork, Steps


class StartSteps(Protocol):
    """`Slices.start`."""

    def __call__(
        self,
        steps: Steps[Any],
        done: Callable[[Any], None],
        failed: Callable[[Exception], None],
        source: str | None = None,
    ) -> SlicedWork | None: ...


def run_at_once(
    steps: Steps[Any], done: Callable[[Any], None], failed: Callable[[Exception], None], source: str | None = None
) -> None:
    """Take all steps: for a coordinator without a loop, as in tests."""
    try:
        while True:
            next(steps)
    except StopIteration as end:
        result = end.value
    except Exception as problem:
        failed(problem)
        return
    done(result)


class HasGroups(Protocol):
    """The state machine of a shard."""

    @property
    def groups(self) -> Mapping[str, Group[Any]]: ...


class StartedWork(msgspec.Struct, frozen=True, eq=False):
    """Work that a decision started, for the membership that its group had then."""

    machine: HasGroups
    group_id: str
    membership: Membership
    worker: Worker
    work: StartWork

    @property
    def is_needed(self) -> bool:
        """Whether the group has the same membership: it is not gone, unloaded, failed, or of another kind by now."""
        group = self.machine.groups.get(self.group_id)
        return group is not None and group.membership is self.membership

    def steps(self, environment: Environment) -> WorkSteps:
        """The steps of the worker, as long as the work is needed."""
        assert self.worker.steps is not None
        steps = self.worker.steps(self.work.request, environment)
        while self.is_needed:
            try:
                step = next(steps)
            except StopIteration as end:
                return end.value
            yield step


class GroupWork:
    """The work beside the requests of all groups of a coordinator.

    The addresses of clients have turns, so the work of a large group delays only groups of its own clients.
    """

    def __init__(
        self,
        environment: Environment,
        start_steps: StartSteps | None,
        submit: Callable[[Operation, str, Any], None],
    ) -> None:
        """`submit` queues an operation on a group. Without `start_steps` all work is done at once."""
        self._environment = environment
        self._start_steps = start_steps or run_at_once
        self._submit = submit
        self.started: list[StartedWork] = []
        """What decisions started, and `start_all` has not begun yet."""

    def start_all(self) -> None:
        """Begin with what was started since the last call."""
        started, self.started = self.started, []
        for started_work in started:
            self.start(started_work)

    def start(self, started: StartedWork) -> None:
        """Begin with one; its operation is queued at its end, perhaps before this returns."""
        worker, request = started.worker, started.work.request

        def failed(problem: Exception) -> None:
            assert worker.failed is not None
            self.bring_back(started, worker.failed(request, problem))

        done = partial(self.bring_back, started)
        if worker.steps is None:
            done(request)
        else:
            self._start_steps(started.steps(self._environment), done, failed, started.work.client_host)

    def bring_back(self, started: StartedWork, result: Any) -> None:
        """Queue the operation that gets the result, unless nobody needs it any more."""
        if started.is_needed:
            self._submit(OPERATIONS[started.worker.operation], started.group_id, result)
