"""A heartbeat of a streams group that is rejected, with what it leaves in memory nevertheless, as on Kafka."""

from typing import Any

import msgspec

from coordinator.core.consumer.heartbeat_requests import Rejection
from coordinator.core.decision import OperationContext
from coordinator.core.event import Event
from coordinator.core.streams.events import StreamsShutdownRequested
from coordinator.core.streams.group import StreamsGroup


class Rejected(msgspec.Struct, frozen=True):
    """Why, and the events that hold although nothing is stored."""

    rejection: Rejection
    unstored: tuple[Event, ...] = ()


def shutdown_requested(
    group: StreamsGroup, request: Any, context: OperationContext
) -> tuple[StreamsShutdownRequested, ...]:
    """The event of the first request to shut the application down."""
    if not request.shutdown_application or group.shutdown_by is not None:
        return ()
    return (
        StreamsShutdownRequested(
            group_id=group.group_id,
            at_ms=context.wall_ms,
            member_id=request.member_id,
            client_id=context.client_id,
            client_host=context.client_host,
        ),
    )
