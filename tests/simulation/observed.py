"""The group coordinator and the pending requests of the product; the history learns what transactions do to groups."""

from collections.abc import Callable
from typing import Any

from _wire.errors import ErrorCode
from coordinator.core.decision import OperationContext
from coordinator.core.kinds import operations
from coordinator.core.operation import Operation
from coordinator.front.pending_requests import PendingRequests
from coordinator.groups.coordinator import GroupCoordinator

Observer = Callable[[Any], None]
"""Gets the response to a request, or the ErrorCode with which it failed."""


class ObservedRequests(PendingRequests):
    """Tells observers of responses, before those who asked: in the order in which they leave the coordinators."""

    def __init__(self) -> None:
        super().__init__()
        self.observers: dict[int, Observer] = {}

    def reply(self, request_id: int, response: object) -> None:
        self._observe(request_id, response)
        super().reply(request_id, response)

    def fail(self, request_id: int, error: ErrorCode) -> None:
        self._observe(request_id, error)
        super().fail(request_id, error)

    def _observe(self, request_id: int, response: object) -> None:
        observer = self.observers.pop(request_id, None)
        if observer is not None:
            observer(response)


class ObservedCoordinator(GroupCoordinator):
    """Has offsets of transactions and their markers observed, which reach groups by way of other requests."""

    observe_commit: Callable[[str, Any, int], Observer]
    """Group id, request and version of a TxnOffsetCommit → who gets the response."""
    observe_marker: Callable[[int, Any], Observer]
    """Partition of `__consumer_offsets` and marker → who gets the result."""
    requests: ObservedRequests

    def enqueue(self, operation: Operation, group_id: str, prepared: Any, context: OperationContext) -> None:
        if operation is operations.TXN_OFFSET_COMMIT and context.request_id is not None:
            self.requests.observers[context.request_id] = self.observe_commit(group_id, prepared, context.api_version)
        super().enqueue(operation, group_id, prepared, context)

    def enqueue_for_shard(self, operation: Operation, partition: int, request: Any, context: OperationContext) -> None:
        if operation is operations.COMPLETE_TRANSACTION and context.request_id is not None:
            self.requests.observers[context.request_id] = self.observe_marker(partition, request)
        super().enqueue_for_shard(operation, partition, request, context)
