"""What the brokers of a cluster are asked."""

import asyncio
from typing import Any

import pytest

from _wire.errors import ErrorCode
from _wire.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from coordinator.client.bootstrap import Bootstrap
from coordinator.client.security import ClientSecurity
from coordinator.cluster.brokers.brokers import Broker, Brokers
from coordinator.cluster.brokers.errors import BrokerError


class Connection:
    """To a broker that coordinates one group."""

    def __init__(self, group_id: str, error: ErrorCode = ErrorCode.NONE) -> None:
        self._group_id = group_id
        self._error = error
        self.asked: list[ListGroupsRequest] = []

    async def request(self, request: ListGroupsRequest, version_max: int) -> ListGroupsResponse:
        self.asked.append(request)
        return ListGroupsResponse(error_code=self._error, groups=[ListedGroup(group_id=self._group_id)])


def brokers_of(monkeypatch: pytest.MonkeyPatch, *connections: Connection) -> Brokers:
    brokers = Brokers(Bootstrap("k:1", ClientSecurity({})), client_id="node", timeout_seconds=1)
    brokers.by_id = {number: Broker(number, "k", number) for number in range(len(connections))}

    async def connection(broker_id: int, purpose: str = "") -> Any:
        return connections[broker_id]

    monkeypatch.setattr(brokers, "connection", connection)
    return brokers


def test_the_groups_of_all_brokers_in_some_states_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    connections = Connection("a"), Connection("b")
    brokers = brokers_of(monkeypatch, *connections)
    assert asyncio.run(brokers.list_groups(("Stable", "Empty"))) == ["a", "b"]
    assert [connection.asked[0].states_filter for connection in connections] == [["Stable", "Empty"]] * 2


def test_groups_are_not_listed_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    brokers = brokers_of(monkeypatch, Connection("a"), Connection("b", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
    with pytest.raises(BrokerError, match="broker 1 does not list its groups: COORDINATOR_LOAD_IN_PROGRESS"):
        asyncio.run(brokers.list_groups())
