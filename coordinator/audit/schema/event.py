"""The fields that all events have."""

from typing import Final

import msgspec

SCHEMA_VERSION: Final = 1


class AuditEvent(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """The fields that every event has in addition to its own.

    `generation_id` and `state` are those after the event; `generation_id_before` and `state_before` are those before
    it. `time_ms` is wall-clock time in milliseconds since the epoch. `created_seq` is the `seq` of the first event of
    this incarnation of the group; each incarnation counts its generations from 0. `node_id` is the `node.id` of the
    coordinator that wrote the event, and `coordinator_epoch` grows each time that it starts.
    """

    schema_version: int = SCHEMA_VERSION
    group_id: str
    seq: int
    created_seq: int
    time_ms: int
    node_id: int
    coordinator_epoch: int
    generation_id_before: int
    generation_id: int
    state_before: str
    state: str


class CoordinatorEvent(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """The fields of every event about a coordinator itself; they mean what they mean in `AuditEvent`."""

    schema_version: int = SCHEMA_VERSION
    time_ms: int
    node_id: int
    coordinator_epoch: int
