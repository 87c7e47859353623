"""The targets of large groups, which are there when a test says so."""

from collections.abc import Callable

from coordinator.core.consumer.large_targets import ComputedTarget
from coordinator.core.consumer.target import compute_target
from coordinator.core.consumer.target_events import TargetComputationStarted
from tests.core.consumer.world import World


class DelayedTargets:
    """Computes the targets of a world when it is told to."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.asked: list[tuple[TargetComputationStarted, Callable[[], bool], Callable[[ComputedTarget], None]]] = []
        world.coordinator.target_computer = self

    def compute(
        self,
        started: TargetComputationStarted,
        client_host: str,
        is_wanted: Callable[[], bool],
        done: Callable[[ComputedTarget], None],
    ) -> None:
        self.asked.append((started, is_wanted, done))

    def finish(self, *, fails: bool = False) -> None:
        """The oldest one is there, or failed; those of groups that are gone are nothing."""
        started, is_wanted, done = self.asked.pop(0)
        if is_wanted():
            done(ComputedTarget(started, None if fails else compute_target(started.asked, self._world.fixed)))
            self._world.coordinator.drain(self._world.now_ms)
