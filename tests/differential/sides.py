"""The two sides of a comparison: a server that is asked, or what one answered when it was recorded."""

import asyncio
import contextlib
import uuid
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from _wire.errors import MalformedMessage
from _wire.frames import FrameSplitter
from _wire.headers import decode_response_header, encode_request
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from _wire.messages.describe_groups import DescribeGroupsRequest
from _wire.messages.find_coordinator import FindCoordinatorRequest
from tests.differential.names import API_BY_NAME, Names
from tests.differential.steps import Close, History, Outcome, Send, Step
from tests.waiting import wait_for
from tests.wire_client import WireClient

TOPICS: Final = {"orders": 3, "returns": 1}
"""Topics that histories commit offsets of → partitions."""
GROUPS: Final = ("g", "h")
"""The groups of a history: the one it is about, and another that a request may stray to."""
DESCRIBE_VERSION: Final = 5
FRAME_BYTES_MAX: Final = 1 << 24
CLOSED: Final = {"closed": True}
"""Stands for the answer to a request whose connection the server closed."""


@dataclass(frozen=True)
class Server:
    """A server as it was found: what it serves, and the ids of TOPICS there."""

    name: str
    bootstrap: str
    versions: Mapping[str, tuple[int, int]]
    topic_ids: Mapping[str, bytes]

    @property
    def port(self) -> int:
        return int(self.bootstrap.rpartition(":")[2])


def prepare(name: str, bootstrap: str) -> Server:
    """Wait until the server coordinates groups, and make the topics."""
    with WireClient(bootstrap, "prepare") as client:
        served = client.request(ApiVersionsRequest(), 0).api_keys
        by_key = {each.api_key: (each.min_version, each.max_version) for each in served}
        versions = {api.name: by_key[api.key] for api in API_BY_NAME.values() if api.key in by_key}
        wait_for(lambda: is_coordinator(client), 60, f"{name} to coordinate groups")
        topics = [CreatableTopic(name=each, num_partitions=n, replication_factor=1) for each, n in TOPICS.items()]
        made = client.request(CreateTopicsRequest(topics=topics, timeout_ms=10_000), 7).topics
        assert all(topic.error_code == 0 for topic in made), made
        return Server(name, bootstrap, versions, {topic.name: topic.topic_id for topic in made})


def is_coordinator(client: WireClient) -> bool:
    """Whether a group of each of 50 partitions (and some twice) can be asked."""
    groups = [f"warm-{number}" for number in range(200)]
    found = client.request(FindCoordinatorRequest(key_type=0, coordinator_keys=groups), 4).coordinators
    if any(each.error_code for each in found):
        return False
    return not any(group.error_code for group in client.request(DescribeGroupsRequest(groups=groups), 5).groups)


def new_prefix() -> str:
    """What the group names of one playing of a history begin with."""
    return f"{uuid.uuid4().hex[:12]}."


class Side(Protocol):
    """Somebody who takes the steps of one history and answers."""

    answers: dict[str, Any]
    """Label of the request → its answer."""

    async def take(self, step: Step) -> None:
        """Begin the step; answers may come at any time from now on."""

    async def describe(self) -> list[Any]:
        """The history's groups, once all that was sent before was looked at."""

    def leave(self) -> None:
        """The history is over."""


class _Connection:
    """One connection of a history. It reads from when it is opened, until either end closes it."""

    def __init__(self, side: "LiveSide") -> None:
        self._side = side
        self._waiting: deque[tuple[Send, int]] = deque()
        self._correlation_id = 0
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None

    async def open(self, server: Server) -> None:
        reader, self._writer = await asyncio.open_connection("127.0.0.1", server.port)
        self._reading = asyncio.create_task(self._read(reader))

    def send(self, step: Send, names: Names) -> None:
        assert self._writer is not None
        self._correlation_id += 1
        message = names.request(step.api, step.version, step.body)
        self._waiting.append((step, self._correlation_id))
        self._writer.write(encode_request(self._correlation_id, step.label, message, step.version))

    async def _read(self, reader: asyncio.StreamReader) -> None:
        splitter = FrameSplitter(FRAME_BYTES_MAX)
        with contextlib.suppress(ConnectionResetError):
            while data := await reader.read(1 << 16):
                for frame in splitter.feed(data):
                    self._hear(frame)
        for step, _ in self._waiting:
            self._side.answers[step.label] = CLOSED
        self._side.heard.set()

    def _hear(self, frame: bytes) -> None:
        step, expected = self._waiting.popleft()
        api = API_BY_NAME[step.api]
        correlation_id, start = decode_response_header(frame, api.key, step.version)
        assert correlation_id == expected, (step, correlation_id)
        try:
            message = api.response.decode(frame, step.version, start)
            answer = self._side.names.answer(step.api, step.version, message)
        except MalformedMessage as problem:
            answer = {"unreadable": str(problem)}
        self._side.answers[step.label] = answer
        self._side.heard.set()

    def close(self) -> None:
        assert self._reading is not None and self._writer is not None
        self._reading.cancel()
        self._writer.close()


class LiveSide:
    """A server, asked over connections that are this history's own."""

    def __init__(self, server: Server, prefix: str) -> None:
        self.answers: dict[str, Any] = {}
        self.heard = asyncio.Event()
        self.names = Names(prefix, dict(server.topic_ids), server.port)
        self._server = server
        self._connections: dict[str, _Connection] = {}
        self._descriptions = 0

    async def take(self, step: Step) -> None:
        if isinstance(step, Close):
            connection = self._connections.pop(step.connection, None)
            if connection is not None:
                connection.close()
        elif isinstance(step, Send):
            (await self._connection(step.connection)).send(step, self.names)

    async def _connection(self, name: str) -> _Connection:
        if name not in self._connections:
            connection = _Connection(self)
            await connection.open(self._server)
            self._connections[name] = connection
        return self._connections[name]

    async def describe(self) -> list[Any]:
        """Describe twice: a request that arrived with the first one may be handled after it, but not after the
        second one, which is sent when the first is answered (Kafka runs with one network and one request thread)."""
        await self._describe_once()
        return await self._describe_once()

    async def _describe_once(self) -> list[Any]:
        self._descriptions += 1
        label = f"describe-{self._descriptions}"
        question = Send(label, "control", "DescribeGroups", DESCRIBE_VERSION, {"groups": list(GROUPS)})
        await self.take(question)
        while label not in self.answers:
            self.heard.clear()
            await self.heard.wait()
        groups: list[Any] = self.answers.pop(label)["groups"]
        return groups

    def leave(self) -> None:
        for connection in self._connections.values():
            connection.close()


class RecordedSide:
    """What a server answered, step by step, when the history was recorded."""

    def __init__(self, history: History) -> None:
        self.answers: dict[str, Any] = {}
        self._coming: Sequence[Outcome] = history.outcomes
        self._steps = 0

    async def take(self, step: Step) -> None:
        self.answers |= self._coming[self._steps].answers
        self._steps += 1

    async def describe(self) -> list[Any]:
        return self._coming[self._steps - 1].groups

    def leave(self) -> None:
        """There is nothing to close."""
