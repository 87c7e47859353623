"""The brokers of a cluster: who they are, a connection to each, who leads which partition, who coordinates what."""

from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import msgspec

from _wire.errors import ErrorCode
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.list_groups import ListGroupsRequest
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from coordinator.client.bootstrap import Bootstrap
from coordinator.cluster.brokers.backoff import first_of
from coordinator.cluster.brokers.connecting import connect
from coordinator.cluster.brokers.connection import BrokerConnection
from coordinator.cluster.brokers.connections import Connections
from coordinator.cluster.brokers.errors import BrokerError

METADATA_VERSION_MAX: Final = 11
"""The latest version in which topics are asked for by name; from version 10 on their ids are answered."""
TOPIC_IDS_VERSION: Final = 12
"""From this version on topics are asked for by id (KIP-516)."""
ALL_TOPICS: Final = "all topics"
"""The purpose of the connection for the list of all topics."""
LIST_GROUPS_VERSION_MAX: Final = 5
FIND_COORDINATOR_VERSION_MAX: Final = 3
"""The latest version in which one key is asked for."""


ConnectionKey: TypeAlias = tuple[int, str] | str
"""A broker and a purpose, or an address of the bootstrap servers."""


class Broker(msgspec.Struct, frozen=True):
    """A broker, and where it is reached."""

    broker_id: int
    host: str
    port: int
    rack: str | None = None

    @property
    def address(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Brokers:
    """Connections by broker, made when they are needed, and what the cluster last said of itself."""

    def __init__(
        self,
        bootstrap: Bootstrap,
        *,
        client_id: str,
        timeout_seconds: float,
        before_responses: Callable[[], None] = lambda: None,
    ) -> None:
        """`before_responses` is called whenever responses come, before they are handled."""
        self._bootstrap = bootstrap

        def connecting(address: str) -> Coroutine[Any, Any, BrokerConnection]:
            return connect(bootstrap.at(address), client_id, timeout_seconds, before_responses)

        self._connections: Connections[ConnectionKey] = Connections(connecting)
        self.by_id: dict[int, Broker] = {}
        self.controller_id = -1
        self.cluster_id: str | None = None
        self._leaders: dict[tuple[str, int], int] = {}
        self._on_brokers: list[Callable[[Sequence[Broker]], None]] = []

    def on_brokers(self, listener: Callable[[Sequence[Broker]], None]) -> None:
        """Call `listener` with all brokers when one has come, gone or moved."""
        self._on_brokers.append(listener)

    def close(self) -> None:
        self._connections.close()

    # ---- connections

    async def connection(self, broker_id: int, purpose: str = "") -> BrokerConnection:
        """The connection to a broker; one for each `purpose`, so that what takes long does not delay other requests.

        Raises:
            BrokerError: there is no such broker, or it cannot be reached.
        """
        broker = self.by_id.get(broker_id)
        if broker is None:
            raise BrokerError(f"the cluster has no broker {broker_id}")
        return await self._connections.get((broker_id, purpose), broker.address)

    async def any_connection(self) -> BrokerConnection:
        """A connection to some broker that can be reached, and on which nothing takes long.

        Raises:
            BrokerError: none can; the message is about the last one that was tried.
        """
        for key, connection in self._connections.open():
            if isinstance(key, str) or key[1] == "":
                return connection
        of_brokers = [partial(self.connection, broker_id) for broker_id in self.by_id]
        addresses = [server.address for server in self._bootstrap.servers()]
        return await first_of(of_brokers + [partial(self._connections.get, address, address) for address in addresses])

    # ---- what the cluster says of itself

    async def refresh(self, topics: Iterable[str] = (), *, creates: bool = False) -> MetadataResponse:
        """Ask for the brokers and the leaders of the partitions of these topics.

        Raises:
            BrokerError: no broker answers.
        """
        asked = [MetadataRequestTopic(name=name) for name in topics]
        connection = await self.any_connection()
        request = MetadataRequest(topics=asked, allow_auto_topic_creation=creates)
        response = await connection.request(request, METADATA_VERSION_MAX)
        self._learn(response)
        return response  # type: ignore[no-any-return]

    async def list_topics(self) -> Any:
        """Ask for all topics, over a connection of its own; the answer may be a `LongResponse`.

        Raises:
            BrokerError: no broker answers.
        """
        return await first_of([partial(self._list_topics, broker_id) for broker_id in self.by_id])

    async def _list_topics(self, broker_id: int) -> Any:
        connection = await self.connection(broker_id, ALL_TOPICS)
        request = MetadataRequest(topics=None, allow_auto_topic_creation=False)
        version = connection.latest_version(request, METADATA_VERSION_MAX)
        return await connection.request_in(request, version, may_be_long=True)

    async def names_of(self, topic_ids: Collection[bytes]) -> dict[bytes, str]:
        """The names of topics by their ids; an id that no topic has is left out.

        Raises:
            BrokerError: no broker answers.
        """
        asked = [MetadataRequestTopic(name=None, topic_id=topic_id) for topic_id in topic_ids]
        connection = await self.any_connection()
        request = MetadataRequest(topics=asked, allow_auto_topic_creation=False)
        response = await connection.request_in(request, TOPIC_IDS_VERSION)
        return {
            topic.topic_id: topic.name
            for topic in response.topics
            if topic.error_code == ErrorCode.NONE and topic.name is not None
        }

    def _learn(self, response: MetadataResponse) -> None:
        self.controller_id, self.cluster_id = response.controller_id, response.cluster_id
        for topic in response.topics:
            for partition in topic.partitions:
                self._leaders[topic.name or "", partition.partition_index] = partition.leader_id
        brokers = {
            broker.node_id: Broker(broker.node_id, broker.host, broker.port, broker.rack) for broker in response.brokers
        }
        if brokers and brokers != self.by_id:
            self.by_id = brokers
            for listener in self._on_brokers:
                listener(list(brokers.values()))

    def leader_of(self, topic: str, partition: int) -> int | None:
        """The broker that led a partition when it was last asked for; None if none is known."""
        leader = self._leaders.get((topic, partition), -1)
        return leader if leader in self.by_id else None

    def forget_leader(self, topic: str, partition: int) -> None:
        """The broker does not lead the partition any more."""
        self._leaders.pop((topic, partition), None)

    async def list_groups(self, states: Sequence[str] = ()) -> list[str]:
        """The ids of all groups that the brokers coordinate, or of those in some states.

        Raises:
            BrokerError: a broker does not answer.
        """
        found: list[str] = []
        for broker_id in list(self.by_id):
            connection = await self.connection(broker_id)
            request = ListGroupsRequest(states_filter=list(states))
            response = await connection.request(request, LIST_GROUPS_VERSION_MAX)
            if response.error_code != ErrorCode.NONE:
                raise BrokerError(f"broker {broker_id} does not list its groups: {ErrorCode(response.error_code).name}")
            found += [group.group_id for group in response.groups]
        return found

    async def coordinator_of(self, key: str, key_type: int) -> int:
        """The id of the broker that coordinates a group or a transactional id.

        Raises:
            BrokerError: the cluster does not know it now.
        """
        connection = await self.any_connection()
        request = FindCoordinatorRequest(key=key, key_type=key_type)
        response: Any = await connection.request(request, FIND_COORDINATOR_VERSION_MAX)
        if response.error_code != ErrorCode.NONE:
            raise BrokerError(f"the cluster names no coordinator of {key}: {ErrorCode(response.error_code).name}")
        if response.node_id not in self.by_id:
            await self.refresh()
        return int(response.node_id)
