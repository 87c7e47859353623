"""The kinds of groups of this coordinator, and how an operation finds the handler for the kind of its group."""

from typing import Any, Final

from coordinator.core.classic.kind import CLASSIC
from coordinator.core.consumer.kind import CONSUMER
from coordinator.core.decision import NOTHING, Decision, OperationContext
from coordinator.core.groups.group import Group
from coordinator.core.groups.kind import CLASSIC_NAME, FailureHandler, GroupKind, Handler
from coordinator.core.share.kind import SHARE
from coordinator.core.streams.kind import STREAMS

KINDS: Final[dict[str, GroupKind]] = {kind.name: kind for kind in (CLASSIC, CONSUMER, SHARE, STREAMS)}
"""Name → kind. Each kind of the coordinator has one line here; all tables of events and records are made from it."""


def new_group(group_id: str, kind: str = CLASSIC_NAME) -> Group[Any]:
    """A group without members or offsets."""
    row = KINDS[kind]
    return Group(group_id, row, row.new_membership(group_id))


def by_kind(name: str, owner: GroupKind, of_other_kind: Handler | None = None) -> Handler:
    """The decision of an operation that each kind of group makes in its own way (`GroupKind.handlers`).

    The `owner` is the kind that the operation belongs to: it decides where there is no group. For a group whose kind
    has no handler `of_other_kind` decides; None: as if there were no such group.
    """
    without_group = owner.handlers[name]

    def decide(group: Group[Any] | None, request: Any, context: OperationContext) -> Decision:
        if group is None:
            return without_group(None, request, context)
        handler = group.kind.handlers.get(name)
        if handler is not None:
            return handler(group, request, context)
        if of_other_kind is not None:
            return of_other_kind(group, request, context)
        return without_group(None, request, context)

    return decide


def failed_by_kind(name: str) -> FailureHandler:
    """What follows from the failure of an operation that one kind alone has (`GroupKind.failure_handlers`)."""

    def decide(group: Group[Any] | None, request: Any, context: OperationContext, problem: object) -> Decision:
        handler = None if group is None else group.kind.failure_handlers.get(name)
        return NOTHING if handler is None else handler(group, request, context, problem)

    return decide


def too_large_by_kind(name: str, owner: GroupKind) -> Handler:
    """The same for records that are larger than the log takes (`GroupKind.too_large_handlers`)."""
    without_group = owner.too_large_handlers[name]

    def decide(group: Group[Any] | None, request: Any, context: OperationContext) -> Decision:
        handler = without_group if group is None else group.kind.too_large_handlers.get(name)
        if handler is None:
            return without_group(None, request, context)
        return handler(group, request, context)

    return decide
