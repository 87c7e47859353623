"""The work beside the requests of consumer groups, which is done when a test says so."""

from collections.abc import Collection

from coordinator.core.consumer.workers import COMPUTE_TARGET, RESOLVE_PATTERNS
from coordinator.groups.background_work import StartedWork
from tests.core.consumer.world import World


class DelayedWork:
    """Keeps work of these names until `finish`; other work is done at once."""

    def __init__(self, world: World, names: Collection[str] = (COMPUTE_TARGET, RESOLVE_PATTERNS)) -> None:
        self._world = world
        self._work = world.coordinator.work
        self._start = self._work.start
        self._names = names
        self.asked: list[StartedWork] = []
        self._work.start = self._start_later  # type: ignore[method-assign]

    def _start_later(self, started: StartedWork) -> None:
        if started.work.name in self._names:
            self.asked.append(started)
        else:
            self._start(started)

    def finish(self, *, fails: bool = False) -> None:
        """The oldest one is done, or fails; those of groups that are gone come to nothing."""
        started = self.asked.pop(0)
        if not started.is_needed:
            return
        if fails:
            assert started.worker.failed is not None
            result = started.worker.failed(started.work.request, ValueError("told to fail"))
            self._work.bring_back(started, result)
        else:
            self._start(started)
        self._world.coordinator.drain(self._world.now_ms)

    def end(self) -> None:
        """From now on all work is done at once."""
        self._work.start = self._start  # type: ignore[method-assign]


class DelayedTargets(DelayedWork):
    """The targets of large groups alone."""

    def __init__(self, world: World) -> None:
        super().__init__(world, (COMPUTE_TARGET,))
