"""Reports what the authorizer denies: counts, log lines in the form of Kafka's, and events of the audit.

Who is denied may ask again as often as it likes. So each principal, operation and resource has one line and one event
at once, then one for each minute with the number of those that were suppressed. The end of a minute may have a thousand
of them to tell, so it is work in slices, during which more may be denied. Names may be invented: a principal has a
share of what is told, and so has an address, however many principals it speaks for.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from coordinator.audit.schema import AuthorizationDenied
from coordinator.front.authorization import Authorizer
from coordinator.front.loop_scheduler import LoopScheduler
from coordinator.front.request_context import RequestContext
from coordinator.logger import logger
from coordinator.printable import printable
from coordinator.runtime.slices import Slices, Steps
from coordinator.security.acls.model import AclOperation, ResourceType
from coordinator.security.principal import Principal

if TYPE_CHECKING:
    from coordinator.metrics.histogram import Samples
    from coordinator.metrics.metric import Metric

INTERVAL_MS: Final = 60_000
DENIALS_MAX: Final = 1_000
"""Principals, operations and resources that have lines and events of their own in a minute."""
DENIALS_OF_PRINCIPAL_MAX: Final = 100
DENIALS_OF_ADDRESS_MAX: Final = 500
"""Of one client address. Behind a proxy or NAT all clients have the same."""
NAME_CHARACTERS_MAX: Final = 256
"""How much of a name, a principal or a client id is reported: requests may bring 32 KiB."""
RESOURCE_WORDS: Final = {
    ResourceType.TOPIC: "Topic",
    ResourceType.GROUP: "Group",
    ResourceType.CLUSTER: "Cluster",
    ResourceType.TRANSACTIONAL_ID: "TransactionalId",
    ResourceType.DELEGATION_TOKEN: "DelegationToken",
    ResourceType.USER: "User",
}
"""As the log of Kafka's authorizer writes types of resources (`SecurityUtils.resourceTypeName`)."""


class DenialLogKey(msgspec.Struct, frozen=True):
    """The timer key at the end of a minute."""


class _Denial(NamedTuple):
    """What was denied to whom. One of each kind has a line in a minute."""

    principal: Principal
    operation: AclOperation
    resource_type: ResourceType
    name: str


class _Last:
    """The request that was denied last, and how many were since the last line."""

    __slots__ = ("api", "client_host", "client_id", "count", "counted_host")

    def __init__(self, call: RequestContext) -> None:
        self.count = 0
        self.counted_host = call.client_host
        """In whose share it is."""
        self.set(call)

    def set(self, call: RequestContext) -> None:
        self.api, self.client_id, self.client_host = call.route.api.name, call.client_id, call.client_host


class DenialLog:
    """Belongs to the event loop."""

    def __init__(
        self,
        authorizer: Authorizer,
        scheduler: LoopScheduler,
        slices: Slices,
        now_ms: Callable[[], int],
        *,
        report: Callable[[AuthorizationDenied], None],
        node_id: int,
        coordinator_epoch: int,
    ) -> None:
        """`authorizer` says which rule it was; `report` writes an event to the audit."""
        self.counts: Final[Counter[tuple[str, str]]] = Counter()
        """Operation and type of resource → how often it was denied."""
        self._authorizer = authorizer
        self._scheduler = scheduler
        self._slices = slices
        self._now_ms = now_ms
        self._report = report
        self._node_id = node_id
        self._coordinator_epoch = coordinator_epoch
        self._last: dict[_Denial, _Last] = {}
        self._shares: Counter[Principal | str] = Counter()
        """Principal, or client address → how many of `_last` it has."""
        self._others = 0
        self._number = 0
        self._is_watching = False
        """Whether there is a timer for the end of the minute, or that is being told."""

    def samples(self) -> "Iterator[tuple[Metric, Samples]]":
        """The values of its metric."""
        from coordinator.metrics.declarations import requests as d

        yield d.AUTHORIZATION_DENIED, [(names, count) for names, count in self.counts.items()]

    def denied(self, call: RequestContext, operation: AclOperation, resource_type: ResourceType, name: str) -> None:
        """An operation was denied to the client of a request."""
        if resource_type is ResourceType.GROUP and call.connection.client_connection is not None:
            call.connection.client_connection.deny(
                call.route.api.name, operation.name, resource_type.name, name, self._now_ms()
            )
        self.counts[operation.name, resource_type.name] += 1
        denial = _Denial(call.principal, operation, resource_type, name[:NAME_CHARACTERS_MAX])
        last = self._last.get(denial)
        if last is not None:
            last.count += 1
            last.set(call)
        elif self._has_room(call.principal, call.client_host):
            last = self._last[denial] = _Last(call)
            self._shares[call.principal] += 1
            self._shares[call.client_host] += 1
            self._report_denial(denial, last, 0)
            self._watch()
        else:
            self._others += 1
            self._watch()

    def _has_room(self, principal: Principal, client_host: str) -> bool:
        """Whether one more is told at once."""
        return (
            len(self._last) < DENIALS_MAX
            and self._shares[principal] < DENIALS_OF_PRINCIPAL_MAX
            and self._shares[client_host] < DENIALS_OF_ADDRESS_MAX
        )

    def _forget(self, denial: _Denial) -> None:
        last = self._last.pop(denial)
        for share in (denial.principal, last.counted_host):
            self._shares[share] -= 1
            if not self._shares[share]:
                del self._shares[share]

    timer_keys = (DenialLogKey,)

    def due(self, key: object, now_ms: int) -> None:
        if isinstance(key, DenialLogKey):
            self._slices.start(self._end_interval(), self._interval_ended, self._interval_failed)

    def _end_interval(self) -> Steps[None]:
        for denial, last in list(self._last.items()):
            if last.count:
                suppressed, last.count = last.count - 1, 0
                self._report_denial(denial, last, suppressed)
                yield
            else:
                self._forget(denial)
        others, self._others = self._others, 0
        if others:
            logger.info("further operations were denied", count=others)

    def _interval_ended(self, _: None = None) -> None:
        self._is_watching = False
        if self._last:
            self._watch()

    def _interval_failed(self, problem: Exception) -> None:
        """A defect of the server, which the event loop logs; the next minute is told none the less."""
        self._interval_ended()
        raise problem

    def _report_denial(self, denial: _Denial, last: _Last, suppressed: int) -> None:
        principal, operation, resource_type, name = denial
        rule = str(self._authorizer.rule(principal, last.client_host, operation, resource_type, name))
        whom = str(principal)[:NAME_CHARACTERS_MAX]
        others = {"suppressed": suppressed} if suppressed else {}
        logger.info(
            f"Principal = {printable(whom)} is Denied operation = {operation.name} "
            f"from host = {last.client_host[1:]} on resource = {RESOURCE_WORDS[resource_type]}:LITERAL:"
            f"{printable(name)} for request = {last.api} with resourceRefCount = 1 based on rule {printable(rule)}",
            **others,
        )
        self._number += 1
        self._report(
            AuthorizationDenied(
                time_ms=0,
                node_id=self._node_id,
                coordinator_epoch=self._coordinator_epoch,
                number=self._number,
                principal=whom,
                client_id=last.client_id[:NAME_CHARACTERS_MAX],
                client_host=last.client_host,
                api=last.api,
                operation=operation.name,
                resource_type=resource_type.name,
                resource_name=name,
                rule=rule,
                suppressed=suppressed,
            )
        )

    def _watch(self) -> None:
        if not self._is_watching:
            self._is_watching = True
            self._scheduler.start(DenialLogKey(), self._now_ms() + INTERVAL_MS)
