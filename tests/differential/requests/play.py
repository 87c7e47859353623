"""Plays cases on both servers, one after the other, and compares the answers."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, NamedTuple

from _wire.apis import Api
from _wire.errors import MalformedMessage
from _wire.headers import decode_response_header
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.notation import Definition, Struct
from _wire.structs import Message
from coordinator.client import requests as wire_requests
from coordinator.client.wire import ClientError, ConnectionClosed
from tests.differential.names import API_BY_NAME, DEFINITIONS
from tests.differential.requests.answers import Difference, differences, rendered
from tests.differential.requests.bases import SKIPPED, Base
from tests.differential.requests.state import Ref, Refs, State
from tests.differential.requests.variants import Body, variants
from tests.wire_client import WireClient

ANSWER_SECONDS: Final = 3
"""No request of a case waits on purpose for more than a second."""
CLOSED: Final = {"no answer": "the connection was closed"}
PASSED_OVER: Final = {"no answer": "the next request was answered"}
SILENT: Final = {"no answer": f"in {ANSWER_SECONDS} s"}


@dataclass(frozen=True, slots=True)
class Case:
    """One request, and what is unusual about it."""

    base: Base
    version: int
    variant: str
    body: Body

    @property
    def label(self) -> str:
        return f"{self.base.api} v{self.version} {self.variant}"


@dataclass(frozen=True, slots=True)
class Result:
    """The differences of a case: those of both times that it was played."""

    case: Case
    differences: list[Difference]


class Sent(NamedTuple):
    """A request, and the one after it, which is answered also if the first one has no answer (Produce with acks=0)."""

    request: wire_requests.Sent
    next: wire_requests.Sent


@dataclass
class Peer:
    """A server, with a connection for the requests of the cases."""

    state: State
    connection: WireClient | None = None

    def send(self, message: Message, version: int) -> Sent:
        if self.connection is None:
            self.connection = WireClient(self.state.bootstrap, "case")
            self.connection.socket.settimeout(ANSWER_SECONDS)
        return Sent(self.connection.send(message, version), self.connection.send(ApiVersionsRequest(), 0))

    def receive(self, sent: Sent, definition: Definition) -> dict[str, Any]:
        assert self.connection is not None
        try:
            frame = self.connection.read_frame()
            if decode_response_header(frame, sent.next.api_key, 0)[0] == sent.next.correlation_id:
                return PASSED_OVER
        except ConnectionClosed:
            self.close()
            return CLOSED
        except ClientError:
            self.close()
            return SILENT
        if not self._receive_next(sent.next):
            self.close()
        try:
            _, start = decode_response_header(frame, sent.request.api_key, sent.request.version)
            message = API_BY_NAME[definition.name].response.decode(frame, sent.request.version, start)
        except MalformedMessage as problem:
            return {"unreadable": str(problem)}
        return rendered(definition, message, sent.request.version, self.state)

    def _receive_next(self, sent: wire_requests.Sent) -> bool:
        """Whether the request after that of the case is answered, too."""
        assert self.connection is not None
        try:
            self.connection.receive(sent)
        except ClientError:
            return False
        return True

    def close(self) -> None:
        if self.connection is not None:
            self.connection.socket.close()
            self.connection = None


def cases_of(base: Base, first: int, last: int) -> Iterator[Case]:
    """The cases of a base in the versions from `first` to `last`."""
    definition = DEFINITIONS[base.api]
    for version in range(max(first, base.since), last + 1):
        for variant in variants(definition, version, base.body):
            if (base.api, variant.name) not in SKIPPED:
                yield Case(base, version, variant.name, variant.body)


def common_versions(api: Api, kafka: State, ours: State) -> tuple[int, int]:
    """The first and last version that both serve; the last one is lower if there is none."""
    ranges = [each.versions.get(api.key, (0, -1)) for each in (kafka, ours)]
    return max(first for first, _ in ranges), min(last for _, last in ranges)


class Player:
    """Sends each case to both servers. A difference counts if it shows up again in state of its own."""

    def __init__(self, kafka: State, ours: State) -> None:
        self._peers = Peer(kafka), Peer(ours)
        self._numbers = 0

    def play(self, case: Case) -> Result:
        found = self._play_once(case)
        if found:
            again = {each.path for each in self._play_once(case)}
            found = [each for each in found if each.path in again]
        return Result(case, found)

    def _play_once(self, case: Case) -> list[Difference]:
        self._numbers += 1
        definition = DEFINITIONS[case.base.api]
        sent = []
        for peer in self._peers:
            refs = case.base.prepare(peer.state, self._numbers)
            message = built(definition, definition.structs[f"{definition.name}Request"], case.body, case.version, refs)
            sent.append(peer.send(message, case.version))
        kafka, ours = (peer.receive(each, definition) for peer, each in zip(self._peers, sent, strict=True))
        if "no answer" in kafka or "no answer" in ours:
            return [] if kafka == ours else [Difference("", kafka, ours)]
        return list(differences(kafka, ours))

    def close(self) -> None:
        for peer in self._peers:
            peer.close()


def built(definition: Definition, struct: Struct, body: Body, version: int, refs: Refs) -> Any:
    """The message or struct for one server; what the body leaves out has its default."""
    fields = {field.name: field for field in struct.fields if version in field.versions}

    def value(name: str, given: Any) -> Any:
        if isinstance(given, Ref):
            return refs[given.name]
        if isinstance(given, list):
            return [value(name, each) for each in given]
        if isinstance(given, dict):
            return built(definition, definition.structs[fields[name].type], given, version, refs)
        return given

    values = {name: value(name, given) for name, given in body.items() if name in fields}
    return getattr(import_module(f"_wire.messages.{definition.module}"), struct.name)(**values)
