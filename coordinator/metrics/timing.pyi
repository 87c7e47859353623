from collections.abc import Callable, Mapping, Sequence
from typing import Any

from coordinator.core.event import Event
from coordinator.core.groups.states import GroupState

class TimeHistogram:
    """Times in ranges, given by up to 31 upper bounds in ms."""

    bounds_ms: tuple[float, ...]

    def __init__(self, bounds_ms: Sequence[float]) -> None: ...
    def observe(self, time_ms: float) -> None: ...
    @property
    def range_counts(self) -> list[int]:
        """The observations in each range, and those above the last bound."""
    @property
    def sum_ms(self) -> float: ...

class AppendMeter:
    """Times and counts the appends of all stores; one is under way at a time."""

    failures: int
    audit_events: int
    """Of appends that did not fail."""

    def __init__(self, times: TimeHistogram) -> None: ...
    def begin(self) -> None: ...
    def end(self, audit_events: int, failed: bool) -> None: ...

class DrainMeter:
    """Times the drains of the coordinator. Stands between it and the scheduler."""

    def __init__(
        self, request_iteration: Callable[[], None], queue_times: TimeHistogram, processing_times: TimeHistogram
    ) -> None: ...
    def request_iteration(self) -> None: ...
    def timed(self, drain: Callable[[int], None]) -> Callable[[int], None]:
        """Return what the scheduler calls instead of `drain`. Only drains that were requested are observed."""

class EventMeter:
    """Counts committed offsets, and passes all other events to the function of their class, if there is one."""

    offset_commits: int

    def __init__(self, counted: Mapping[type, Callable[[Any, Any, GroupState], None]]) -> None: ...
    def applied(self, events: Sequence[Event], state: GroupState) -> None:
        """The events of a decision that has changed a group, and the state that it left the group in."""
