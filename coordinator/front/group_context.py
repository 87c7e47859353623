"""The parts of a node that the handlers of groups use."""

import msgspec

from coordinator.config.settings import Config
from coordinator.front.pending_requests import PendingRequests
from coordinator.groups.coordinator import GroupCoordinator


class GroupContext(msgspec.Struct, frozen=True, kw_only=True):
    """What requests to groups need."""

    config: Config
    coordinator: GroupCoordinator
    pending: PendingRequests
