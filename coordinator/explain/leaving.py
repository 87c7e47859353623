"""What members say when they leave or rejoin, and which way of leaving the events of a member show."""

from typing import Final

import msgspec

from coordinator.explain.changes import Removal

# What Kafka's own consumer says when it leaves or rejoins (KIP-800; AbstractCoordinator.maybeLeaveGroup).
POLL_TIMEOUT: Final = "consumer poll timeout has expired"
CLOSED: Final = "the consumer is being closed"
UNSUBSCRIBED: Final = "the consumer unsubscribed from all topics"
MEMBER_ID_REQUIRED: Final = "need to re-join with the given member-id"
"""What Java's consumer says with every first join (KIP-394): no reason of its own."""
REVOKES: Final = "need to revoke partitions"
"""What Java's consumer says when it has got its assignment, and joins again for what it has to give up (KIP-429)."""
OWN_REJOINS: Final = ("cached metadata has changed", "subscription has changed")
"""What Java's consumer says when it begins a rebalance for a reason of its own."""
OTHER_REJOINS: Final = (*OWN_REJOINS, "group is already rebalancing")
"""What Java's consumer says when it rejoins for another reason than that it gave up partitions (KIP-429)."""
SYNC_FAILED: Final = "rebalance failed due to"
"""What Java's consumer says when its SyncGroup was answered with an error, so that it has no assignment."""
REMOVED_BY_ADMIN: Final = "member was removed by an admin"


class Leaving(msgspec.Struct, frozen=True, gc=False):
    """Which way of leaving the events show."""

    removal: Removal

    @property
    def by_administrator(self) -> bool:
        return self.removal.requested_by is not None or self._says(REMOVED_BY_ADMIN)

    @property
    def by_poll_timeout(self) -> bool:
        return self._says(POLL_TIMEOUT)

    @property
    def is_closed(self) -> bool:
        return self._says(CLOSED)

    @property
    def is_unsubscribed(self) -> bool:
        return self._says(UNSUBSCRIBED)

    @property
    def is_unknown(self) -> bool:
        return not self.removal.reason and self.removal.requested_by is None

    @property
    def idle_ms(self) -> int | None:
        """The time since its last JoinGroup or OffsetCommit; None if neither is known."""
        signs = [at for at in (self.removal.last_joined_ms, self.removal.last_committed_ms) if at is not None]
        return max(0, self.removal.at_ms - max(signs)) if signs else None

    @property
    def unanswered_ms(self) -> int | None:
        """As `idle_ms`, since the answer to its JoinGroup, which clients wait for in poll(), or may have got there."""
        if self.idle_ms is None or self.removal.answered_ms is None:
            return self.idle_ms
        return min(self.idle_ms, max(0, self.removal.at_ms - self.removal.answered_ms))

    def _says(self, text: str) -> bool:
        return self.removal.reason.lower().startswith(text.lower())
