"""Work beside the requests of groups: what a decision starts, who does it, and which operation gets the result.

Kafka runs such work in an executor (`CoordinatorExecutor`), for the regular expressions of consumer groups.
"""

from collections.abc import Callable, Generator
from typing import Any, Protocol

import msgspec

from coordinator.core.decision import Environment
from coordinator.core.sessions import HasSessions

WorkSteps = Generator[Any, Any, Any]
"""Steps of about a millisecond, some of which may wait for an answer. They end with the request of the operation that
gets the result."""


class Worker(msgspec.Struct, frozen=True):
    """Who does the work of one name for the groups of a kind (`GroupKind.workers`)."""

    operation: str
    """The name of the operation that gets the result. The group waits for it, so it has `failure_handlers`."""
    steps: Callable[[Any, Environment], WorkSteps] | None = None
    """(request, environment) → the steps; None: there is nothing to do before the operation, which gets the request."""
    failed: Callable[[Any, Exception], Any] | None = None
    """(request, exception of a step) → the request of the operation after a failure. With `steps` it is needed."""
    is_divisible: bool = False
    """Whether the records of the operation may be stored in several batches (`Operation.is_divisible`)."""


class GroupEffects(HasSessions, Protocol):
    """What the effects of a decision about a group change."""

    def start_work(self, group_id: str, work: "StartWork") -> None:
        """Have work begin when the current requests are answered, if the group still has the same membership."""


class StartWork(msgspec.Struct, frozen=True):
    """A worker begins. Its result comes back as an operation, unless the group is gone by then, or has failed."""

    name: str
    """That of the worker."""
    request: Any
    client_host: str = ""
    """The address that has its turn for the work."""

    def apply(self, groups: GroupEffects, group_id: str, now_ms: int) -> None:
        groups.start_work(group_id, self)
