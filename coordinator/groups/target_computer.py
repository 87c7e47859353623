"""Computes the target assignments of large consumer groups in slices, beside the requests (KIP-848)."""

from collections.abc import Callable
from typing import Protocol

from coordinator.core.consumer.large_targets import ComputedTarget
from coordinator.core.consumer.target import target_steps
from coordinator.core.consumer.target_events import TargetComputationStarted
from coordinator.core.consumer.topic_partitions import TopicPartitions
from coordinator.core.decision import Topics
from coordinator.logger import logger
from coordinator.runtime.slices import SlicedWork, Steps

Targets = dict[str, TopicPartitions]


class StartWork(Protocol):
    """`Slices.start`."""

    def __call__(
        self,
        steps: Steps[Targets | None],
        done: Callable[[Targets | None], None],
        failed: Callable[[Exception], None],
        source: str | None = None,
    ) -> SlicedWork | None: ...


class ComputesTargets(Protocol):
    """Computes targets for the group coordinator, as `TargetComputer` does."""

    def compute(
        self,
        started: TargetComputationStarted,
        client_host: str,
        is_wanted: Callable[[], bool],
        done: Callable[[ComputedTarget], None],
    ) -> None: ...


class TargetComputer:
    """Computes targets in turns of the addresses of clients, so a large group lets only its own clients wait."""

    def __init__(self, topics: Topics, start: StartWork) -> None:
        self._topics = topics
        self._start = start

    def compute(
        self,
        started: TargetComputationStarted,
        client_host: str,
        is_wanted: Callable[[], bool],
        done: Callable[[ComputedTarget], None],
    ) -> None:
        """Compute the target that was asked for; `done` gets it, perhaps before this returns.

        `client_host` is the address that has its turn for it. When `is_wanted` says no, as the group is gone, the work
        ends, and `done` is not called. Topics that change meanwhile raise the group epoch at the next heartbeat.
        """

        def failed(problem: Exception) -> None:
            logger.error("a target assignment was not computed", group=started.group_id, exc_info=problem)
            done(ComputedTarget(started, None))

        def ended(targets: Targets | None) -> None:
            if targets is not None:
                done(ComputedTarget(started, targets))

        self._start(self._steps(started, is_wanted), ended, failed, client_host)

    def _steps(self, started: TargetComputationStarted, is_wanted: Callable[[], bool]) -> Steps[Targets | None]:
        steps = target_steps(started.asked, self._topics)
        while is_wanted():
            try:
                next(steps)
            except StopIteration as end:
                targets: Targets = end.value
                return targets
            yield
        return None
