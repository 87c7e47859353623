"""Groups that nobody uses any more are given back to the cluster, which deletes what is left of them by its own rules.

Without this a group that somebody made by mistake, or for a minute, would have a sentinel for ever.
"""

from collections.abc import Callable
from typing import Final

from _wire.errors import ErrorCode
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from coordinator.cluster.brokers.connection import LongResponse
from coordinator.cluster.brokers.errors import BrokerError
from coordinator.cluster.brokers.tasks import Tasks, completed
from coordinator.cluster.ownership import GroupOwnership
from coordinator.cluster.ownership_changes import OwnershipChanges
from coordinator.cluster.sentinels.forwarding import Forwarder
from coordinator.core.causes import Cause
from coordinator.core.groups.states import EMPTY
from coordinator.groups.coordinator import GroupCoordinator
from coordinator.logger import logger
from coordinator.runtime.slices import Steps

OFFSET_FETCH_VERSION: Final = 8


class UnusedGroups:
    """Looks for them now and then."""

    def __init__(
        self,
        coordinator: GroupCoordinator,
        ownership: GroupOwnership,
        changes: OwnershipChanges,
        forwarder: Forwarder,
        *,
        check_ms: int,
        retention_ms: int,
        now_ms: Callable[[], int],
    ) -> None:
        """A group without members and without committed offsets is given back when it was found so in two checks,
        `check_ms` apart; one with offsets when it had no members for `retention_ms` (offsets.retention.minutes)."""
        self._coordinator = coordinator
        self._ownership = ownership
        self._changes = changes
        self._forwarder = forwarder
        self._check_ms = check_ms
        self._retention_ms = retention_ms
        self._now_ms = now_ms
        self._unused_since: dict[str, int] = {}
        """Group → since when it was found without members."""
        self._tasks = Tasks()

    def start(self) -> None:
        self._tasks.every(self._check_ms / 1000, lambda: completed(self.check()))

    def stop(self) -> None:
        self._tasks.cancel()

    def check(self) -> Steps[None]:
        """Give back what is unused for long enough."""
        now_ms = self._now_ms()
        unused = [group_id for group_id in self._ownership.owned_groups() if self._has_no_members(group_id)]
        self._unused_since = {group_id: self._unused_since.get(group_id, now_ms) for group_id in unused}
        for group_id, since_ms in list(self._unused_since.items()):
            if now_ms - since_ms >= self._retention_ms:
                yield from self._give_back(group_id, Cause.OFFSETS_EXPIRED)
            elif since_ms < now_ms and (yield from self._has_no_offsets(group_id)):
                yield from self._give_back(group_id, Cause.NO_OFFSETS)

    def _has_no_members(self, group_id: str) -> bool:
        group = self._coordinator.shard_of(group_id).machine.groups.get(group_id)
        return group is None or group.membership.state is EMPTY

    def _has_no_offsets(self, group_id: str) -> Steps[bool]:
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group_id, topics=None)])
        response = yield from self._forwarder.fetch_offsets(group_id, request, OFFSET_FETCH_VERSION)
        if isinstance(response, ErrorCode | LongResponse):
            return False
        (group,) = response.groups
        return group.error_code == ErrorCode.NONE and not group.topics

    def _give_back(self, group_id: str, cause: Cause) -> Steps[None]:
        if not self._has_no_members(group_id):
            return
        logger.info("group given back to the cluster", group=group_id, cause=cause.value)
        self._unused_since.pop(group_id, None)
        try:
            yield from self._changes.release(group_id, cause)
        except BrokerError as problem:
            logger.warning("group cannot be given back now", group=group_id, problem=str(problem))
