"""What nodes ask each other, at the port of their clients: which groups a node owns."""

from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

from _wire.errors import ErrorCode
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.list_groups import ListGroupsRequest
from coordinator.client.bootstrap import Bootstrap
from coordinator.client.security import ClientSecurity
from coordinator.cluster.brokers.connecting import connect
from coordinator.cluster.brokers.connection import BrokerConnection
from coordinator.cluster.brokers.connections import Connections
from coordinator.cluster.brokers.errors import BrokerError
from coordinator.cluster.brokers.tasks import Tasks
from coordinator.cluster.found import FOUND, NOT_FOUND, Finding, Unknown
from coordinator.cluster.nodes.messages import NodeAddress
from coordinator.logger import logger

OWNED_KEY_TYPE: Final = 101
"""The type of key by which FindCoordinator asks one node whether it owns a group itself. Kafka has 0 to 2."""
PEER_CLIENT_ID: Final = "coordinator node"
"""Followed by what shows that it is one, where the nodes share a secret (`nodes/seals.py`)."""
FIND_COORDINATOR_VERSION: Final = 3
LIST_GROUPS_VERSION_MAX: Final = 3
TIMEOUT_SECONDS: Final = 5

Answered: TypeAlias = Callable[[Finding[None]], None]
Listed: TypeAlias = Callable[[list[str] | None], None]


def peer_client_id(token: str) -> str:
    return f"{PEER_CLIENT_ID} {token}" if token else PEER_CLIENT_ID


class Peers:
    """One connection to each other node. Lives in the running event loop."""

    def __init__(
        self, security: ClientSecurity, before_responses: Callable[[], None], client_id: str = PEER_CLIENT_ID
    ) -> None:
        """`security` is how this node connects to the others, `client_id` by what they know it."""
        self._client_id = client_id
        self._security = security
        self._before_responses = before_responses
        self._connections: Connections[str] = Connections(self._connect)
        self._tasks = Tasks()
        self._unreachable: set[str] = set()
        """Addresses to which the last attempt to connect has failed."""

    def close(self) -> None:
        self._tasks.cancel()
        self._connections.close()

    def find(self, node: NodeAddress, group_id: str, answered: Answered) -> None:
        """Whether that node owns a group, or would."""
        self._tasks.ask(partial(self._find, node, group_id), answered)

    async def _find(self, node: NodeAddress, group_id: str) -> Finding[None]:
        request = FindCoordinatorRequest(key=group_id, key_type=OWNED_KEY_TYPE)
        try:
            connection = await self._connections.get(node.address, node.address)
            response = await connection.request_in(request, FIND_COORDINATOR_VERSION)
        except BrokerError:
            return Unknown(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        error = ErrorCode(response.error_code)
        if error is ErrorCode.GROUP_ID_NOT_FOUND:
            return NOT_FOUND
        return FOUND if error is ErrorCode.NONE else Unknown(error)

    def list_owned(self, node: NodeAddress, answered: Listed) -> None:
        """The groups that a node owns; None if it does not answer."""
        self._tasks.ask(partial(self._list_owned, node), answered)

    async def _list_owned(self, node: NodeAddress) -> list[str] | None:
        try:
            connection = await self._connections.get(node.address, node.address)
            response = await connection.request(ListGroupsRequest(), LIST_GROUPS_VERSION_MAX)
        except BrokerError:
            return None
        return None if response.error_code else [group.group_id for group in response.groups]

    async def _connect(self, address: str) -> BrokerConnection:
        """Connect; a failure is logged once until a connection is made, as requests that need it come all the time."""
        server = Bootstrap(address, self._security)
        try:
            connection = await connect(server, self._client_id, TIMEOUT_SECONDS, self._before_responses)
        except BrokerError as problem:
            if address not in self._unreachable:
                self._unreachable.add(address)
                logger.warning("another node cannot be reached", node=address, reason=str(problem))
            raise
        self._unreachable.discard(address)
        return connection
