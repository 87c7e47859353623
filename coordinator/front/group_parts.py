"""What a node needs to coordinate groups, whatever has their logs."""

from typing import TYPE_CHECKING

import msgspec

from coordinator.core.decision import Environment
from coordinator.core.pauses import Pauses
from coordinator.front.pending_requests import PendingRequests
from coordinator.groups.coordinator import GroupCoordinator
from coordinator.groups.sessions import SessionTable

if TYPE_CHECKING:
    from coordinator.metrics.timing import DrainMeter


class GroupParts(msgspec.Struct, frozen=True, kw_only=True):
    """The group coordinator of a node, and what it shares with the transaction coordinator and with connections."""

    coordinator: GroupCoordinator
    coordinator_epoch: int
    """The number of this start of the node, for the audit."""
    environment: Environment
    sessions: SessionTable
    pauses: Pauses
    pending: PendingRequests
    drain_meter: "DrainMeter | None"
