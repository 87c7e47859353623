from collections.abc import Callable
from typing import Any

from coordinator.audit.group_trail import GroupTrail
from coordinator.audit.records import RecordWriter
from coordinator.audit.schema import AuditEvent, Record
from coordinator.core.classic_group import ClassicGroup
from coordinator.core.events import Event
from coordinator.core.states import GroupState

class Observer:
    """Hands each event to what says it, and writes what is said."""

    def __init__(
        self,
        node_id: int,
        coordinator_epoch: int,
        sayers: dict[type, tuple[tuple[type[AuditEvent], Callable[..., dict[str, Any] | None]], ...]],
    ) -> None:
        """`sayers`: class of core events → kinds it is told as, each with what says its fields (None: not now)."""

    @property
    def trails(self) -> dict[str, GroupTrail]:
        """Group id → what is remembered of the group."""

    @property
    def writer(self) -> RecordWriter: ...
    def observe(
        self, event: Event, group: ClassicGroup, state_before: GroupState, generation_before: int, into: list[Record]
    ) -> None:
        """Append the audit records for an event that was just applied to `group`; most have one, some none."""
