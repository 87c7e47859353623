"""The faults of one node: injected, counted and removed by number. All of it runs in the loop of the node."""

from collections.abc import Callable
from typing import Any, Final, Protocol

import msgspec

from coordinator.faults.group_faults import EndUnavailabilityKey, FillFault, UnavailableFault, inject, membership_of
from coordinator.faults.interception import Interception
from coordinator.faults.matching import Matcher
from coordinator.faults.request_faults import FAULTS, DelayedAnswerKey, HoldFault, RequestFault, Surroundings
from coordinator.faults.specs import (
    AnySpec,
    FaultError,
    Fill,
    RequestSpec,
    Unavailable,
    fields_of,
    parse_spec,
)
from coordinator.front.request_chain import RequestChain

FAULTS_MAX: Final = 10_000
"""The most faults that one node is given."""


class FaultReport(msgspec.Struct, frozen=True):
    """A fault and what has become of it. `waiting` counts the requests at a barrier."""

    fault_id: int
    spec: AnySpec
    hits: int
    waiting: int = 0
    is_removed: bool = False

    def as_json(self) -> dict[str, Any]:
        state = {"hits": self.hits, "waiting": self.waiting, "is_removed": self.is_removed}
        return {"id": self.fault_id, **state, "fault": fields_of(self.spec)}

    def in_words(self) -> str:
        """`answer api=Heartbeat error=UNKNOWN_MEMBER_ID group=g`."""
        fields = fields_of(self.spec)
        return " ".join([fields.pop("do"), *(f"{name}={value}" for name, value in fields.items())])


class Installed(Protocol):
    """A fault that can be removed. `hits` counts how often it took effect."""

    @property
    def hits(self) -> int: ...
    @property
    def waiting(self) -> int: ...

    def remove(self) -> None: ...


class _Done:
    """A fault that changed something at once."""

    hits: Final = 1
    waiting: Final = 0

    def remove(self) -> None:
        """It is over already."""


class _OfRequests:
    def __init__(self, interception: Interception, fault: RequestFault) -> None:
        self._interception = interception
        self.fault = fault
        interception.install(fault.spec.api, self)

    @property
    def hits(self) -> int:
        return self.fault.matcher.hits

    @property
    def waiting(self) -> int:
        return self.fault.waiting if isinstance(self.fault, HoldFault) else 0

    def applies_to(self, request: Any, context: Any) -> bool:
        return self.fault.matcher.applies_to(request, context)

    def act(self, request: Any, context: Any, proceed: Callable[[], Any]) -> Any:
        return self.fault.act(request, context, proceed)

    def remove(self) -> None:
        self._interception.remove(self.fault.spec.api, self)
        self.fault.end()


class _Filled:
    waiting: Final = 0

    def __init__(self, interception: Interception, fault: FillFault) -> None:
        self._interception = interception
        self._fault = fault
        for api in fault.apis:
            interception.install(api, self)

    @property
    def hits(self) -> int:
        return self._fault.hits

    def applies_to(self, request: Any, context: Any) -> bool:
        return self._fault.applies_to(request, context)

    def act(self, request: Any, context: Any, proceed: Callable[[], Any]) -> Any:
        return self._fault.act(request, context, proceed)

    def remove(self) -> None:
        for api in self._fault.apis:
            self._interception.remove(api, self)


class _Unavailable:
    hits: Final = 1
    waiting: Final = 0

    def __init__(self, fault: UnavailableFault) -> None:
        self.remove = fault.end


class Faults:
    """Injects faults into a node.

    They are no state that is stored: all end with the node. After a restart they are known as removed ones, with their
    hits, and no number is given twice.
    """

    def __init__(self, around: Surroundings, chain: RequestChain, before: "Faults | None" = None) -> None:
        """`before` are the faults of the same node before a restart."""
        self._around = around
        self._interception = Interception(chain)
        self._specs: dict[int, AnySpec] = {}
        self._installed: dict[int, Installed] = {}
        self._removed: dict[int, int] = {}
        """Number of a removed fault → how often it was hit."""
        self._next_id = 1
        if before is not None:
            self._specs, self._next_id = dict(before._specs), before._next_id
            self._removed = {report.fault_id: report.hits for report in before.reports()}
        around.scheduler.on_due(_due)

    def add(self, fields: dict[str, Any]) -> FaultReport:
        """Inject a fault.

        Raises:
            FaultError: it cannot be; nothing has changed.
        """
        if len(self._specs) >= FAULTS_MAX:
            raise FaultError(f"there are {FAULTS_MAX} faults already: clear them")
        spec = parse_spec(fields)
        installed = self._install(spec)
        fault_id, self._next_id = self._next_id, self._next_id + 1
        self._specs[fault_id], self._installed[fault_id] = spec, installed
        return self.report(fault_id)

    def _install(self, spec: AnySpec) -> Installed:
        groups, now_ms = self._around.groups, self._around.now_ms
        if isinstance(spec, RequestSpec):
            matcher = Matcher(spec, lambda group_id: membership_of(groups, group_id), now_ms)
            self._interception.check(spec.api)
            return _OfRequests(self._interception, FAULTS[type(spec)](spec, matcher, self._around))
        if isinstance(spec, Fill):
            return _Filled(self._interception, FillFault(spec, groups))
        if isinstance(spec, Unavailable):
            return _Unavailable(UnavailableFault(spec, self._around))
        inject(spec, groups)
        return _Done()

    def remove(self, fault_id: int) -> FaultReport:
        """Take a fault out; what a barrier holds goes on. Raises FaultError: there is no such fault."""
        self.report(fault_id)
        installed = self._installed.pop(fault_id, None)
        if installed is not None:
            self._removed[fault_id] = installed.hits
            installed.remove()
        return self.report(fault_id)

    def release(self, fault_id: int, count: int | None = None) -> int:
        """Let requests at a barrier go on (`HoldFault.release`).

        Raises:
            FaultError: there is no such fault, it is no barrier, or the count is no positive number.
        """
        self.report(fault_id)
        if count is not None and (not isinstance(count, int) or count < 1):
            raise FaultError(f"count={count!r}: expected a whole number from 1 on, or none for all requests")
        installed = self._installed.get(fault_id)
        if not isinstance(installed, _OfRequests) or not isinstance(installed.fault, HoldFault):
            raise FaultError(f"fault {fault_id} is no barrier, or it was removed")
        return installed.fault.release(count)

    def report(self, fault_id: int) -> FaultReport:
        """Raises FaultError: there is no such fault."""
        if fault_id not in self._specs:
            raise FaultError(f"there is no fault {fault_id}")
        installed = self._installed.get(fault_id)
        if installed is None:
            return FaultReport(fault_id, self._specs[fault_id], self._removed[fault_id], is_removed=True)
        return FaultReport(fault_id, self._specs[fault_id], installed.hits, installed.waiting)

    def reports(self) -> list[FaultReport]:
        """Of all faults since the last `clear`, also of those that were removed."""
        return [self.report(spec) for spec in self._specs]

    def clear(self) -> None:
        """Remove all faults and forget them."""
        for fault_id in list(self._installed):
            self.remove(fault_id)
        self._specs.clear()
        self._removed.clear()


def _due(key: object, now_ms: int) -> None:
    match key:
        case DelayedAnswerKey(send):
            send()
        case EndUnavailabilityKey(end=end):
            end()
