"""Requests and answers on their way, and what is between clients and the coordinator."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from _wire.errors import ErrorCode
from coordinator.core.client_connection import ClientConnection
from coordinator.core.client_details import ClientDetails
from tests.simulation.clients import error_of
from tests.world.truth import Arrival, Fate

if TYPE_CHECKING:
    from tests.world.process import Process
    from tests.world.world import World

DELAY_MS: Final = 1, 4
"""Of one way between a client and the coordinator: at least and at most."""
ADMIN_HOST: Final = "/10.0.0.99"
ADMIN_CLIENT_ID: Final = "adminclient-1"


class Request:
    """A request of a process, or of an administrator (`process` None)."""

    def __init__(
        self,
        world: "World",
        process: "Process | None",
        api: str,
        message: Any,
        version: int,
        received: Callable[[Any, ErrorCode], None],
    ) -> None:
        """`received` is called with the answer, if one comes before the connection ends."""
        self._world = world
        self.process = process
        self.api, self.message, self.version = api, message, version
        self.received = received
        self.is_over = False
        self.number = 0
        """In the order in which the coordinator reads them."""
        self.sent_ms = world.now_ms
        self.sent_to = world.server.starts
        """Which coordinator: a connection ends with it."""
        self.connection: ClientConnection | None = None
        if process is None:
            self.client_id, self.host, self.details = ADMIN_CLIENT_ID, ADMIN_HOST, ClientDetails("apache-kafka-java")
        else:
            truth = process.truth
            self.client_id, self.host = truth.client_id, truth.host
            self.details = ClientDetails(truth.kind.software, truth.kind.version)
            self.connection = process.connection

    @property
    def member_id(self) -> str:
        return getattr(self.message, "member_id", "") or ""

    def send_response(self, response: Any) -> None:
        self._world.network.answer(self, response, error_of(response))

    def send_error_response(self, error: ErrorCode) -> None:
        self._world.network.answer(self, error, error)


class Network:
    """Brings requests to the coordinator, and answers back, unless something is between."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self.unread: list[Request] = []
        """In the sockets of a coordinator that stands still."""
        self._read = 0
        self._last: dict[int, int] = {}
        """Process → when what it sent last arrives: a connection keeps the order."""

    def _delay_ms(self) -> int:
        return self._world.random.randint(*DELAY_MS)

    def send(self, request: Request) -> None:
        at_ms = self._world.now_ms + self._delay_ms()
        if request.process is not None:
            number = request.process.truth.number
            at_ms = self._last[number] = max(at_ms, self._last.get(number, 0))
        self._world.schedule.at(at_ms, lambda: self.arrive(request))

    def close(self, process: "Process", connection: ClientConnection) -> None:
        """The client's side closes a connection: the coordinator sees it after what was sent before."""
        at_ms = max(self._world.now_ms + 1, self._last.get(process.truth.number, 0))
        process.truth.disconnections.append(self._world.now_ms)
        self._world.schedule.at(at_ms, lambda: self._closed(process, connection))

    def _closed(self, process: "Process", connection: ClientConnection) -> None:
        if process.truth.cut.is_on:
            process.closes_later.append(lambda: self._closed(process, connection))
        elif self._world.server.is_paused:
            self._world.found_later.append(lambda: self._seen_closed(process, connection))
        elif connection.is_open:
            self._seen_closed(process, connection)

    def _seen_closed(self, process: "Process", connection: ClientConnection) -> None:
        """With a connection goes what was not read from it."""
        connection.close(self._world.now_ms)
        self._world.server.sessions.await_clients(connection.members)
        process.unread = [each for each in process.unread if each.connection is not connection]
        if connection is process.muted:
            process.no_more_muted()

    def arrive(self, request: Request) -> None:
        process = request.process
        if process is not None:
            if process.truth.cut.is_on:
                if process.is_alive:
                    process.held_back.append(lambda: self.arrive(request))
                return
            if request.is_over and process.truth.proxied.is_on:
                return
        self.reach(request)

    def reach(self, request: Request) -> None:
        """A request is at the coordinator's machine: what happens to the network no longer concerns it."""
        process, server = request.process, self._world.server
        if request.sent_to != server.starts:
            return
        if not server.is_up:
            self._note(request, Fate.NOBODY)
            self._world.schedule.at(self._world.now_ms + self._delay_ms(), lambda: self._lost(request))
        elif server.is_paused:
            self._note(request, Fate.UNREAD)
            self.unread.append(request)
        elif process is not None and request.connection is process.muted:
            self._note(request, Fate.UNREAD)
            process.unread.append(request)
        else:
            self.handle(request)

    def handle(self, request: Request) -> None:
        """The coordinator reads a request."""
        self._read += 1
        request.number = self._read
        process = request.process
        if process is not None and process.truth.refused.is_on:
            self._note(request, Fate.REFUSED)
            self._world.server.deny(request)
            self.answer(request, ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.GROUP_AUTHORIZATION_FAILED)
        else:
            self._note(request, Fate.HANDLED)
            self._world.server.submit_request(request)
        if not self._world.is_batching:
            self._world.iterate()

    def _note(self, request: Request, fate: Fate) -> None:
        if request.process is not None:
            arrival = Arrival(self._world.now_ms, request.api, request.member_id, fate)
            request.process.truth.arrivals.append(arrival)

    def _lost(self, request: Request) -> None:
        if request.process is not None and not request.is_over:
            request.process.connection_lost()

    def answer(self, request: Request, response: Any, error: ErrorCode) -> None:
        """The coordinator answers; the process has it when it runs, and is still connected."""
        self._world.recorder.answered(request, response, error)
        if request.connection is not None and not request.connection.is_open:
            return
        at_ms = self._world.now_ms + self._delay_ms()
        self._world.schedule.at(at_ms, lambda: self._deliver(request, response, error))

    def _deliver(self, request: Request, response: Any, error: ErrorCode) -> None:
        process = request.process
        if request.is_over or process is None:
            return
        if process.truth.cut.is_on:
            process.held_back.append(lambda: self._deliver(request, response, error))
        else:
            process.deliver(request, response, error)
