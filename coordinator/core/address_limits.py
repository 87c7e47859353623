"""How many groups, transactional ids, and member ids that nobody uses yet, the clients of one address may have.

All of them cost a client one small request, and live on when its connection is closed. Kafka has no such limits.
"""

from collections import Counter, OrderedDict
from typing import Final, NamedTuple

from coordinator.config.group_keys import MAX_GROUPS_PER_IP, MAX_PENDING_MEMBERS_PER_IP
from coordinator.config.settings import Config
from coordinator.config.transaction_keys import MAX_TRANSACTIONAL_IDS_PER_IP

ADDRESSES_MAX: Final = 10_000
"""Addresses with pending members that are remembered; of the one without news for the longest, all are given up."""


class PendingMember(NamedTuple):
    """A member id that was handed out with MEMBER_ID_REQUIRED (KIP-394)."""

    group_id: str
    member_id: str


class Creations:
    """What the clients of each address have created and what still exists, by name."""

    def __init__(self, per_address_max: int) -> None:
        self._per_address_max = per_address_max
        self._creators: dict[str, str] = {}
        self._counts: Counter[str] = Counter()

    def is_allowed(self, client_host: str) -> bool:
        return self._counts[client_host] < self._per_address_max

    def add(self, name: str, client_host: str) -> None:
        self._creators[name] = client_host
        self._counts[client_host] += 1

    def remove(self, name: str) -> None:
        """It does not exist any more; nothing happens if it is not known who created it."""
        client_host = self._creators.pop(name, None)
        if client_host is not None:
            self._counts[client_host] -= 1
            if not self._counts[client_host]:
                del self._counts[client_host]


class AddressLimits:
    """`max.groups.per.ip`, `max.transactional.ids.per.ip`, `max.pending.members.per.ip`, over all partitions of a node.

    What was loaded from the logs counts for no address, because the logs do not say who created it.
    """

    def __init__(self, config: Config) -> None:
        """The limits are those of the settings."""
        self.transactional_ids = Creations(config[MAX_TRANSACTIONAL_IDS_PER_IP])
        self._groups = Creations(config[MAX_GROUPS_PER_IP])
        self._pending_max = config[MAX_PENDING_MEMBERS_PER_IP]
        self._pending: OrderedDict[str, OrderedDict[PendingMember, None]] = OrderedDict()
        self.excess: list[PendingMember] = []
        """Members that are to be given up."""

    def may_create_group(self, client_host: str) -> bool:
        return self._groups.is_allowed(client_host)

    def group_created(self, group_id: str, client_host: str) -> None:
        self._groups.add(group_id, client_host)

    def group_removed(self, group_id: str) -> None:
        self._groups.remove(group_id)

    def member_pending(self, member: PendingMember, client_host: str) -> None:
        """A member id was handed out. Above the limit, the oldest one of this address is due to be given up."""
        pending = self._pending.setdefault(client_host, OrderedDict())
        self._pending.move_to_end(client_host)
        pending[member] = None
        if len(pending) > self._pending_max:
            self.excess.append(pending.popitem(last=False)[0])
        if len(self._pending) > ADDRESSES_MAX:
            self.excess.extend(self._pending.popitem(last=False)[1])

    def pop_excess(self) -> list[PendingMember]:
        """Return the members that are to be given up if they are pending still."""
        excess, self.excess = self.excess, []
        return excess
