"""The type of an operation: a name, a pure decision function and the response that reports an error.

Counterpart in Kafka: the read and write operations of `CoordinatorRuntime`.
"""

from collections.abc import Callable
from enum import Enum, auto
from typing import Any, Final

import msgspec

from _wire.errors import ErrorCode
from coordinator.core.decision import NOTHING, Decision, OperationContext


class Scope(Enum):
    """What a decision is about."""

    GROUP = auto()
    """One group: the decision gets the group, or None when there is none of that id."""
    SHARD = auto()
    """All groups of a shard: the decision gets them by group id. Its events may be those of several groups."""
    TRANSACTION = auto()
    """As SHARD, but only the groups with pending offsets of the transaction whose marker is the request."""
    PASSED_OVER = auto()
    """One group that an operation over all of them passed over because it was not served; as GROUP."""


class Answer(msgspec.Struct, frozen=True):
    """A response that needs no group. `rejected` is its error, if the audit of the group is to tell of it."""

    response: Any
    rejected: ErrorCode | None = None


class Operation(msgspec.Struct, frozen=True):
    """One kind of operation.

    `decide(group or groups, request, context)` reads and changes nothing. `error_response(request, error, api_version)`
    makes the response that reports an error; None if there is no response. `prepare(request, context)` runs before the
    operation is queued, so also where the group is not coordinated or not loaded yet: it returns the request to
    queue, or an Answer, or for a very long request a generator, whose steps end with the request to queue. `too_large`
    decides instead of `decide` when the records of a decision are larger than the log takes.

    What nobody waits for, and a group does, has `failed`: it decides when the operation fails in any way, and gets the
    reason (`str` of it is what to tell). Its events are not stored.
    """

    name: str
    decide: Callable[[Any, Any, OperationContext], Decision]
    error_response: Callable[[Any, ErrorCode, int], Any] | None = None
    prepare: Callable[[Any, OperationContext], Any] | None = None
    too_large: Callable[[Any, Any, OperationContext], Decision] | None = None
    scope: Scope = Scope.GROUP
    failed: Callable[[Any, Any, OperationContext, object], Decision] | None = None
    check: "Operation | None" = None
    """Decides the same and stores nothing: it replies whether the operation may be done where others keep what it
    changes."""
    is_divisible: bool = False
    """Whether its records may be stored in several batches: the group is sound with the first of them alone."""

    def on_one_group(self) -> "Operation":
        """This operation over all groups of a shard, for one group that it passed over. Nobody waits for it."""

        def decide(group: Any, request: Any, context: OperationContext) -> Decision:
            return self.decide({} if group is None else {group.group_id: group}, request, context)

        return Operation(self.name, decide, scope=Scope.PASSED_OVER)


def _advance_only(state: Any, request: None, context: OperationContext) -> Decision:
    return NOTHING


ADVANCE: Final = Operation("advance", _advance_only)
"""A timer of a key is due: its state advances, and nothing else happens."""
