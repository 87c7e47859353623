"""Finds the members behind connections that were closed because their client is too old for this server.

Such a client connects again at once, and is refused again. So what is refused is gathered, and once in a minute at most
all groups are searched, in slices, for members of these clients. Names may be invented: an address has a share of
what is gathered.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from coordinator.core.groups.old_clients import APIS, Client, OldClient, RefusedVersion, client_of
from coordinator.front.loop_scheduler import LoopScheduler
from coordinator.groups.coordinator import GroupCoordinator
from coordinator.runtime.slices import Slices, Steps

FIRST_MS: Final = 1_000
"""After what was refused first, the groups are searched."""
INTERVAL_MS: Final = 60_000
"""From one search to the next."""
CLIENTS_MAX: Final = 1_000
CLIENTS_OF_ADDRESS_MAX: Final = 50
MEMBERS_AT_ONCE: Final = 500
"""Groups and members that are looked at before other work has its turn: a tenth of a millisecond."""

Refused = Mapping[Client, RefusedVersion]


class OldClientsKey(msgspec.Struct, frozen=True):
    """The timer key of the next search."""


class OldClients:
    """Belongs to the event loop."""

    def __init__(
        self, coordinator: GroupCoordinator, scheduler: LoopScheduler, slices: Slices, now_ms: Callable[[], int]
    ) -> None:
        self._coordinator = coordinator
        self._scheduler = scheduler
        self._slices = slices
        self._now_ms = now_ms
        self._gathered: dict[Client, RefusedVersion] = {}
        self._shares: Counter[str] = Counter()
        """Client address → how many of `_gathered` it has."""
        self._next_ms = 0
        """Before that there is no search."""
        self._is_waiting = False

    def refused(self, client_id: str, client_host: str, refused: RefusedVersion) -> None:
        """A client was refused. One without a client id cannot be told from others of its host."""
        client = client_id, client_host
        if refused.api not in APIS or not client_id or client in self._gathered:
            return
        if len(self._gathered) < CLIENTS_MAX and self._shares[client_host] < CLIENTS_OF_ADDRESS_MAX:
            self._gathered[client] = refused
            self._shares[client_host] += 1
            if not self._is_waiting:
                self._is_waiting = True
                self._scheduler.start(OldClientsKey(), max(self._now_ms() + FIRST_MS, self._next_ms))

    timer_keys = (OldClientsKey,)

    def due(self, key: object, now_ms: int) -> None:
        if isinstance(key, OldClientsKey):
            gathered, self._gathered = self._gathered, {}
            self._shares.clear()
            self._is_waiting = False
            self._next_ms = now_ms + INTERVAL_MS
            self._slices.start(self._search(gathered), _found, _failed)

    def _search(self, refused: Refused) -> Steps[None]:
        looked_at = 0
        for shard in self._coordinator.shards:
            for group in list(shard.machine.groups.values()):
                looked_at += 1
                for member_id, member in list(group.membership.members.items()):
                    looked_at += 1
                    found = refused.get(client_of(member))
                    if found is not None:
                        self._coordinator.report_old_client(group.group_id, OldClient(member_id, found))
                    if looked_at >= MEMBERS_AT_ONCE:
                        looked_at = 0
                        yield
                if looked_at >= MEMBERS_AT_ONCE:
                    looked_at = 0
                    yield


def _found(_: None) -> None:
    """What was found is queued already."""


def _failed(problem: Exception) -> None:
    """A defect of the server, which the event loop logs."""
    raise problem
