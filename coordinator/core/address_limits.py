"""How many groups, and how many member ids that nobody uses yet, the clients of one address may have.

Both cost a client one small request, and live on when its connection is closed. Kafka has no such limits.
"""

from collections import Counter, OrderedDict
from typing import Final, NamedTuple

from coordinator.config import MAX_GROUPS_PER_IP, MAX_PENDING_MEMBERS_PER_IP, Config

ADDRESSES_MAX: Final = 10_000
"""Addresses with pending members that are remembered; of the one without news for the longest, all are given up."""


class PendingMember(NamedTuple):
    """A member id that was handed out with MEMBER_ID_REQUIRED (KIP-394)."""

    group_id: str
    member_id: str


class AddressLimits:
    """`max.groups.per.ip` and `max.pending.members.per.ip`, over all partitions of a node.

    Groups that were loaded from the log count for no address, because the log does not say who created them.
    """

    def __init__(self, config: Config) -> None:
        """The limits are those of the settings."""
        self._groups_max = config[MAX_GROUPS_PER_IP]
        self._pending_max = config[MAX_PENDING_MEMBERS_PER_IP]
        self._creators: dict[str, str] = {}
        self._groups: Counter[str] = Counter()
        self._pending: OrderedDict[str, OrderedDict[PendingMember, None]] = OrderedDict()
        self.excess: list[PendingMember] = []
        """Members that are to be given up."""

    def may_create_group(self, client_host: str) -> bool:
        return self._groups[client_host] < self._groups_max

    def group_created(self, group_id: str, client_host: str) -> None:
        self._creators[group_id] = client_host
        self._groups[client_host] += 1

    def group_removed(self, group_id: str) -> None:
        client_host = self._creators.pop(group_id, None)
        if client_host is not None:
            self._groups[client_host] -= 1
            if not self._groups[client_host]:
                del self._groups[client_host]

    def member_pending(self, member: PendingMember, client_host: str) -> None:
        """A member id was handed out. Above the limit, the oldest one of this address is due to be given up."""
        pending = self._pending.setdefault(client_host, OrderedDict())
        self._pending.move_to_end(client_host)
        pending[member] = None
        if len(pending) > self._pending_max:
            self.excess.append(pending.popitem(last=False)[0])
        if len(self._pending) > ADDRESSES_MAX:
            self.excess.extend(self._pending.popitem(last=False)[1])

    def take_excess(self) -> list[PendingMember]:
        """Return the members that are to be given up if they are pending still."""
        excess, self.excess = self.excess, []
        return excess
