"""The records of the events about a coordinator itself: they are not among the events of a group, and have no key."""

from datetime import UTC, datetime

import msgspec

from coordinator.audit.schema import (
    AuthorizationDenied,
    CoordinatorEvent,
    CoordinatorPaused,
    CoordinatorUnavailable,
    GroupHeldByCluster,
    LeadershipTaken,
    Record,
    encode_event,
)


def coordinator_record(event: CoordinatorEvent, now_ms: int) -> Record:
    """Key, value and headers of the record. The event happens now, whatever its `time_ms` is.

    The same event in several partitions has the same id.
    """
    event = msgspec.structs.replace(event, time_ms=now_ms)
    kind = str(event.__struct_config__.tag)
    number = ""
    if isinstance(event, CoordinatorPaused | CoordinatorUnavailable):
        number = f"/{event.from_ms}"
    elif isinstance(event, AuthorizationDenied):
        number = f"/{event.number}"
    elif isinstance(event, LeadershipTaken):
        number = f"/{event.partition}/{event.producer_id}/{event.producer_epoch}"
    elif isinstance(event, GroupHeldByCluster):
        number = f"/{event.group_id}/{now_ms}"
    time = datetime.fromtimestamp(now_ms / 1000, UTC).isoformat(timespec="milliseconds")
    headers = (
        ("ce_specversion", b"1.0"),
        ("ce_id", f"nodes/{event.node_id}/{event.coordinator_epoch}/{kind}{number}".encode()),
        ("ce_type", kind.encode()),
        ("ce_source", f"/kafka-group-coordinator/nodes/{event.node_id}".encode()),
        ("ce_time", time.encode()),
        ("content-type", b"application/json"),
    )
    return None, encode_event(event), headers
