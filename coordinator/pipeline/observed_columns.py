"""What the tables have of events that `coordinator watch` saw of another Kafka, beside what their structs say.

The history of a group is made of the same structs as that of a coordinator's own events. Causes that leave something
open are no causes of the audit: the history has none in their place, and the columns have them.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from coordinator.audit import schema
from coordinator.audit.schema import AuditEvent
from coordinator.audit.schema.observed import ObservedEvent, Source
from coordinator.core.causes import Cause
from coordinator.explain.generation import OF_EPOCHS
from coordinator.pipeline.generations import Row, text_of_triggers
from coordinator.pipeline.inferred_columns import UNREPORTED

NOBODY: Final = schema.MemberRef("")


def cause_of(observed: ObservedEvent) -> str | None:
    """Why it happened, as the tables have it."""
    cause = getattr(observed.event, "cause", None)
    return None if cause is None else str(cause)


def for_history(event: AuditEvent) -> AuditEvent:
    """The event with causes of the audit alone."""
    own: dict[str, Any] = {}
    triggers = getattr(event, "triggers", None)
    if triggers:
        own["triggers"] = [trigger for trigger in triggers if isinstance(trigger.cause, Cause)]
    cause = getattr(event, "cause", None)
    if cause is not None and not isinstance(cause, Cause):
        own["cause"] = None if isinstance(event, schema.RebalanceStarted) else Cause.MEMBER_LEFT
    return msgspec.structs.replace(event, **own) if own else event


def columns_of(observed: ObservedEvent, group_type: str, before: Row) -> Row:
    """The columns of the latest generation after this event, and `before` it."""
    before = before or dict.fromkeys(UNREPORTED)
    make = _MAKERS.get(type(observed.event))
    return before if make is None else make(observed, group_type, before)


def _rebalance_started(observed: ObservedEvent, group_type: str, before: Row) -> Row:
    event = observed.event
    assert isinstance(event, schema.RebalanceStarted)
    member = event.member or NOBODY
    names = ("member_id", "client_id", "client_host", "group_instance_id")
    return {
        **dict.fromkeys(UNREPORTED),
        "cause": cause_of(observed),
        "cause_is_inferred": observed.is_inferred,
        "triggers": text_of_triggers(event.triggers),
        "rebalance_started_ms": event.time_ms if _is_timed(observed, group_type) else None,
        **{f"cause_{name}": getattr(member, name) or None for name in names},
    }


def _is_timed(observed: ObservedEvent, group_type: str) -> bool:
    """Whether it is known when it happened: a line says so, or the record of an epoch, which is written at its begin.

    The record of a generation of a classic group is written when it is over, and a poll is some time after it.
    """
    sources = {place.source for place in observed.places}
    return Source.BROKER_LOG in sources or (Source.RECORD in sources and group_type in OF_EPOCHS)


def _generation_started(observed: ObservedEvent, group_type: str, before: Row) -> Row:
    found = _with_triggers(observed, group_type, before)
    return found if _is_timed(observed, group_type) else {**found, "generation_started_ms": None}


def _with_triggers(observed: ObservedEvent, group_type: str, before: Row) -> Row:
    """A classic group tells more of them when its generation has started."""
    text = text_of_triggers(getattr(observed.event, "triggers", ()))
    return before if text is None else {**before, "triggers": text}


_MAKERS: Final[dict[type[AuditEvent], Callable[[ObservedEvent, str, Row], Row]]] = {
    schema.RebalanceStarted: _rebalance_started,
    schema.GenerationStarted: _generation_started,
    schema.GroupEmptied: _with_triggers,
}
