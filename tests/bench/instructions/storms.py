"""A classic group all of whose members join again at once, the same in each run."""

from collections.abc import Sequence
from typing import Final

from _wire.errors import ErrorCode
from _wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from coordinator.client.requests import Sent
from tests.wire_client import BEFORE_MEMBER_ID_REQUIRED, WireClient, join_request

SYNC_VERSION: Final = 3
ASSIGNED: Final = b"part"
LONG_SESSION_MS: Final = 300_000


class StormedGroup:
    """Its members have a connection each. The first time they are new, and need an initial rebalance delay."""

    def __init__(self, group_id: str, clients: Sequence[WireClient]) -> None:
        self._group_id = group_id
        self._members = dict.fromkeys(clients, "")
        self._round = 0

    def rebalance(self) -> None:
        """All members join at once, each with another subscription than before, and sync."""
        self._round += 1
        joins = [(client, self._join(client)) for client in self._members]
        leader, generation_id = "", -1
        for client, sent in joins:
            joined = client.receive(sent)
            assert joined.error_code == ErrorCode.NONE, joined
            assert generation_id in (-1, joined.generation_id), "the members joined in two generations"
            self._members[client], leader, generation_id = joined.member_id, joined.leader, joined.generation_id
        syncs = [(client, self._sync(client, leader, generation_id)) for client in self._members]
        for client, sent in syncs:
            synced = client.receive(sent)
            assert (synced.error_code, synced.assignment) == (ErrorCode.NONE, ASSIGNED), synced

    def _join(self, client: WireClient) -> Sent:
        metadata = self._round.to_bytes(4, "big")
        request = join_request(self._group_id, self._members[client], timeout_ms=LONG_SESSION_MS, metadata=metadata)
        return client.send(request, BEFORE_MEMBER_ID_REQUIRED)

    def _sync(self, client: WireClient, leader: str, generation_id: int) -> Sent:
        member_id = self._members[client]
        request = SyncGroupRequest(group_id=self._group_id, generation_id=generation_id, member_id=member_id)
        if member_id == leader:
            request.assignments = [
                SyncGroupRequestAssignment(member_id=each, assignment=ASSIGNED) for each in self._members.values()
            ]
        return client.send(request, SYNC_VERSION)
