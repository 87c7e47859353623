"""The server side of the group APIs on a virtual clock: bytes in, bytes out, without sockets and without an event loop.

Connections, dispatcher, handlers, coordinator, shards and logs are those of the product. Only the transport of a
connection and the disk are replaced.
"""

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Any, Final, NamedTuple, cast

from _wire.apis import APIS
from _wire.errors import ErrorCode
from _wire.frames import FrameSplitter
from _wire.headers import decode_response_header, encode_request
from _wire.messages.sync_group import SyncGroupRequest
from _wire.structs import Message
from coordinator.config.settings import Config
from coordinator.core.partitioning import partition_for
from coordinator.front.authorization import ALLOW_ALL, Authorizer
from coordinator.front.connection import Connection
from coordinator.front.dispatch import DispatchTable
from coordinator.front.group_context import GroupContext
from coordinator.front.handlers.groups import GroupHandlers
from coordinator.front.limits import ConnectionLimits
from coordinator.front.loop_scheduler import LoopScheduler
from coordinator.front.rejection_log import RejectionLog
from coordinator.front.request_chain import RequestChain
from coordinator.front.request_context import Endpoint
from coordinator.front.request_dispatcher import PeerWatch, RequestDispatcher, RequestPath
from coordinator.front.request_runner import RequestRunner
from coordinator.front.slow_peers import SlowPeers
from coordinator.front.throttling import Throttling
from coordinator.metadata.image import MetadataImage
from coordinator.node.requirements import REQUIREMENTS
from coordinator.runtime import coordinator_runtime
from coordinator.runtime.shard import ShardState
from coordinator.runtime.slices import Slices
from tests.front.authorizing import authorization
from tests.front.handlers.group_messages import commit_request
from tests.simulation.server import SimulatedServer
from tests.wire_client import BEFORE_MEMBER_ID_REQUIRED, join_request

PARTITIONS: Final = 3
FRAME_BYTES_MAX: Final = 1 << 20
SESSION_TIMEOUT_MS: Final = 30_000
SETTINGS: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
    "connections.max.idle.ms": "-1",  # so that no timer of the connections is on the wheel of the coordinator
}


def group_in(partition: int, number: int = 0) -> str:
    """A group id of that partition of `__consumer_offsets`; another one for each `number`."""
    names = (each for each in map("group-{}".format, count()) if partition_for(each, PARTITIONS) == partition)
    return next(name for index, name in enumerate(names) if index == number)


class GroupNode:
    """One node that serves the group APIs. Queued operations are handled when a test ends the loop iteration."""

    def __init__(self, authorizer: Authorizer = ALLOW_ALL) -> None:
        config = Config(SETTINGS)
        self.server = SimulatedServer(config, partitions=PARTITIONS)
        self.coordinator = self.server.coordinator
        self.pending = self.server.pending
        context = GroupContext(config=config, coordinator=self.coordinator, pending=self.pending)
        self.table = DispatchTable(REQUIREMENTS)
        handlers = GroupHandlers(context)
        handlers.add_to(self.table)
        handlers.add_streams_to(self.table)
        scheduler = self.scheduler = cast(LoopScheduler, self.server.wheel)
        self.image = MetadataImage()
        self.throttling = Throttling(
            config, lambda: self.image.quotas, scheduler, lambda: self.server.now_ms, self.server.throttled
        )
        step = None if authorizer is ALLOW_ALL else authorization(authorizer, self.server.sessions, self.image)
        self.chain = RequestChain(self.table, self.server.sessions, self.throttling, step)
        limits = ConnectionLimits(config, scheduler)
        slices = Slices(self._no_callback)
        self.dispatcher = RequestDispatcher(
            RequestPath(chain=self.chain, runner=RequestRunner(slices), throttling=self.throttling),
            PeerWatch(
                limits=limits,
                slow_peers=SlowPeers(config, scheduler, lambda: self.server.now_ms),
                rejections=RejectionLog(scheduler, lambda: self.server.now_ms),
            ),
            pending=self.pending,
            environment=self.server.environment,
            slices=slices,
            fire_due=self._fire_due,
        )

    @staticmethod
    def _no_callback(callback: Callable[[], None]) -> None:
        """Nothing that the group APIs do is sliced."""

    @staticmethod
    def _fire_due() -> None:
        """Tests let timers fire themselves."""

    def connect(self, client_id: str = "client") -> "Client":
        return Client(self, client_id)

    def end_iteration(self) -> None:
        self.server.end_iteration()

    def advance(self, ms: int) -> None:
        self.server.advance(ms)

    def make_unavailable(self, partition: int, state: ShardState) -> None:
        """Bring the shard of a partition into a state in which it is not served, and leave it there."""
        if state is ShardState.INACTIVE:
            self.coordinator.unload(partition)
        elif state is ShardState.LOADING:
            self.coordinator.unload(partition)
            self.coordinator.load([partition])
        else:
            assert state is ShardState.FAILED
            self.server.disk.is_full = True
            client = self.connect("a client whose request cannot be stored")
            client.request(commit_request(group_in(partition, 99)), 8)
        assert self.coordinator.shards[partition].state is state

    # ---- groups

    def make_empty(self, group_id: str, offset: int = 7) -> None:
        """A group without members that has committed one offset."""
        client = self.connect()
        response = client.request(commit_request(group_id, offset), 8)
        assert response.topics[0].partitions[0].error_code == ErrorCode.NONE
        client.close()

    def make_stable(self, group_id: str) -> str:
        """A Stable group of one member, whose id is returned. The generation is 1."""
        client = self.connect()
        joined = client.request(join_request(group_id, timeout_ms=SESSION_TIMEOUT_MS), BEFORE_MEMBER_ID_REQUIRED)
        sync = SyncGroupRequest(group_id=group_id, generation_id=1, member_id=joined.member_id)
        assert (joined.generation_id, client.request(sync, 3).error_code) == (1, ErrorCode.NONE)
        client.close()
        member_id: str = joined.member_id
        return member_id


class Transport:
    """Keeps what a connection writes."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.is_closed = False

    def get_extra_info(self, name: str) -> Any:
        assert name == "peername"
        return ("10.0.0.1", 50_000)

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def close(self) -> None:
        self.is_closed = True

    def pause_reading(self) -> None:
        raise AssertionError("no test sends so much")


class Sent(NamedTuple):
    """A request whose response has perhaps not come yet."""

    correlation_id: int
    api_key: int
    version: int


class Client:
    """One connection, seen from the client's side."""

    def __init__(self, node: GroupNode, client_id: str) -> None:
        self._node = node
        self._client_id = client_id
        self._correlation_ids = count(1)
        self._splitter = FrameSplitter(FRAME_BYTES_MAX)
        self._frames: list[bytes] = []
        self.transport = Transport()
        endpoint = Endpoint("PLAINTEXT", "127.0.0.1", 9092)
        clock, sessions = node.server.clock, node.server.sessions
        self.connection = Connection(node.dispatcher, endpoint, sessions, clock.now_ms, FRAME_BYTES_MAX)
        self.connection.connection_made(cast(asyncio.Transport, self.transport))

    def send(self, request: Message, version: int) -> Sent:
        sent = Sent(next(self._correlation_ids), request.API_KEY, version)
        self.connection.data_received(encode_request(sent.correlation_id, self._client_id, request, version))
        return sent

    def has_response(self) -> bool:
        """Whether a response came that was not received yet."""
        for data in self.transport.written:
            self._frames += self._splitter.feed(data)
        self.transport.written.clear()
        return bool(self._frames)

    def receive(self, sent: Sent) -> Any:
        """The next response, which has to be the one to this request."""
        assert self.has_response(), "no response came"
        frame = self._frames.pop(0)
        correlation_id, body_start = decode_response_header(frame, sent.api_key, sent.version)
        assert correlation_id == sent.correlation_id
        return APIS[sent.api_key].response.decode(frame, sent.version, body_start)

    def request(self, request: Message, version: int) -> Any:
        """The response, after one loop iteration."""
        sent = self.send(request, version)
        self._node.end_iteration()
        return self.receive(sent)

    def close(self) -> None:
        """The client disconnects."""
        self.connection.connection_lost(None)


def load_slowly(monkeypatch: Any) -> None:
    """From now on a load makes one step per loop iteration."""
    monkeypatch.setattr(coordinator_runtime, "LOAD_SECONDS_AT_ONCE", 0)
