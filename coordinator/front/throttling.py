"""Measures requests against the quotas of their clients, and mutes the connections of those that exceed one (KIP-219).

A response is sent at once, with its throttle time; the next request of its connection is handled when that is over.
While no user and no client id has a quota, no request is measured: the step is not in the chain (`request_chain.py`).
"""

from collections.abc import Callable
from functools import partial
from time import perf_counter_ns
from types import GeneratorType
from typing import Any, Final

import msgspec

from _wire.headers import encode_response
from _wire.messages.fetch import FetchRequest, FetchResponse
from _wire.messages.produce import ProduceRequest
from _wire.messages.share_fetch import ShareFetchRequest
from coordinator.config.settings import Config
from coordinator.core.throttled_clients import ThrottledClients
from coordinator.front.connection import Connection
from coordinator.front.dispatch import Handler, Route
from coordinator.front.loop_scheduler import LoopScheduler
from coordinator.front.request_context import RequestContext
from coordinator.quotas.limits import Client
from coordinator.quotas.usage import Quotas, QuotaUsage
from coordinator.runtime.pauses import Pause
from coordinator.runtime.slices import Steps

EXPIRY_CHECK_INTERVAL_MS: Final = 600_000
FETCHES: Final = (FetchRequest, ShareFetchRequest)
"""Requests that `consumer_byte_rate` limits. A ShareFetch that is throttled is answered in full, unlike on Kafka: its
records are acquired already, and an empty answer would hold them until their locks end."""
PERCENT_PER_NS: Final = 100 / 1_000_000_000
"""A second of handler time in a second is 100 percent."""


class MuteKey(msgspec.Struct, frozen=True):
    """The timer key that ends the throttle time of a connection."""

    connection: Connection


class RefusalKey(msgspec.Struct, frozen=True):
    """The timer key that closes a connection that was one too many."""

    connection: Connection


class UsageExpiryKey(msgspec.Struct, frozen=True):
    """The timer key that forgets what clients used that are gone."""


def no_quotas() -> Quotas:
    """Where the quotas of clients are kept elsewhere."""
    return {}


class Throttling:
    """The quotas of one node."""

    def __init__(
        self,
        config: Config,
        quotas: Callable[[], Quotas],
        scheduler: LoopScheduler,
        now_ms: Callable[[], int],
        throttled: ThrottledClients,
    ) -> None:
        """`throttled` remembers whose connections were muted."""
        self._quotas = quotas
        self._throttled = throttled
        self._scheduler = scheduler
        self._now_ms = now_ms
        self._has_expiry_timer = False
        self._switched: list[Callable[[], None]] = []
        self.usage = QuotaUsage(config)
        self.load()

    @property
    def is_active(self) -> bool:
        """Whether requests are measured."""
        return self.usage.limits_clients

    @property
    def times_requests(self) -> bool:
        """Whether the time of every request counts."""
        return bool(self.usage.request.limits)

    def on_switch(self, switched: Callable[[], None]) -> None:
        """Call this after each change of `is_active` or `times_requests`."""
        self._switched.append(switched)

    def load(self) -> None:
        """Take over the quotas, at the start and after each change."""
        before = self.is_active, self.times_requests
        quotas = self._quotas()
        self.usage.load(quotas)
        if before != (self.is_active, self.times_requests):
            for switched in self._switched:
                switched()
        if quotas and not self._has_expiry_timer:
            self._has_expiry_timer = True
            self._scheduler.start(UsageExpiryKey(), self._now_ms() + EXPIRY_CHECK_INTERVAL_MS)

    def opened(self, connection: Connection) -> None:
        """Count a new connection. One too many is not served, and closed after its throttle time (KIP-612)."""
        if not self.usage.connection.limits:
            return
        address, now_ms = connection.client_host.removeprefix("/"), self._now_ms()
        throttle_ms = self.usage.connection.record(address, 1, now_ms)
        if throttle_ms:
            # It was not accepted, so it does not count.
            self.usage.connection.unrecord(address, 1, now_ms)
            connection.mute(self._start(RefusalKey(connection), throttle_ms))

    def begin(self, connection: Connection, frame_bytes: int) -> None:
        """Measure the request that is about to be decoded, until it has been answered, also if it is rejected."""
        connection.charge = Charge(self.usage, self._now_ms, connection, frame_bytes)

    def step(self, route: Route, proceed: Handler) -> Handler:
        """The step of the chain that measures the time of handlers, and bounds what is fetched."""
        return partial(_charged, proceed) if self.is_active else proceed

    def mute(self, connection: Connection, throttle_time_ms: int) -> None:
        """Let a connection wait; called when its response has been buffered."""
        now_ms = self._now_ms()
        if connection.client_connection is not None:
            connection.client_connection.mute(now_ms, now_ms + throttle_time_ms)
        if connection.call is not None:
            client_id, host = connection.call.client_id, connection.client_host
            self._throttled.note(client_id, host, now_ms, now_ms + throttle_time_ms)
        connection.mute(self._start(MuteKey(connection), throttle_time_ms))

    timer_keys = (MuteKey, RefusalKey, UsageExpiryKey)

    def due(self, key: object, now_ms: int) -> None:
        if isinstance(key, MuteKey):
            key.connection.unmute()
        elif isinstance(key, RefusalKey):
            key.connection.reject("too many new connections from one address (quota connection_creation_rate)")
        elif isinstance(key, UsageExpiryKey):
            self.usage.expire(now_ms)
            self._has_expiry_timer = bool(self._quotas() or self.usage.meters)
            if self._has_expiry_timer:
                self._scheduler.start(key, now_ms + EXPIRY_CHECK_INTERVAL_MS)

    def _start(self, key: object, delay_ms: int) -> Callable[[], object]:
        return partial(self._scheduler.cancel, self._scheduler.start(key, self._now_ms() + delay_ms))


def _charged(proceed: Handler, request: Any, call: RequestContext) -> Any:
    charge = call.connection.charge
    assert charge is not None, "a request is measured from its first byte on"
    return charge.handle(proceed, request, call)


class Charge:
    """What one request uses of the quotas of its client.

    Time is that of the handler and of decoding and encoding. What groups do after the handler, at the end of the
    iteration, is not counted; on Kafka that runs in threads which are not counted either.
    """

    __slots__ = (
        "_connection",
        "_frame_bytes",
        "_now_ms",
        "_running_ns",
        "_spent_ns",
        "_until_ms",
        "_usage",
        "throttle_time_ms",
    )

    def __init__(self, usage: QuotaUsage, now_ms: Callable[[], int], connection: Connection, frame_bytes: int) -> None:
        self._usage = usage
        self._now_ms = now_ms
        self._connection = connection
        self._frame_bytes = frame_bytes
        self._running_ns = perf_counter_ns()
        """Since when time is spent on the request, by `perf_counter_ns`; 0: at the moment none is."""
        self._spent_ns = 0
        self._until_ms = 0
        """Until when the request is throttled for `controller_mutation_rate`."""
        self.throttle_time_ms = -1
        """How long the connection is to be muted; -1: not known yet."""

    @property
    def _call(self) -> RequestContext:
        call = self._connection.call
        assert call is not None, "it is the request in progress that is measured"
        return call

    @property
    def _client(self) -> Client:
        return Client(self._connection.principal.name, self._call.client_id)

    def handle(self, handler: Handler, request: Any, call: RequestContext) -> Any:
        """Call the handler, and measure its time, also that of its steps."""
        if isinstance(request, FETCHES):
            self._bound(request)
        self._running_ns = self._running_ns or perf_counter_ns()
        try:
            response = handler(request, call)
        finally:
            self._pause()
        return self.measured(response) if type(response) is GeneratorType else response

    def _bound(self, request: FetchRequest | ShareFetchRequest) -> None:
        """Fetch no more than can be sent without being throttled for certain: it could never be sent at all."""
        bytes_max = self._usage.consumer.value_max(self._client)
        if bytes_max is not None:
            request.max_bytes = min(request.max_bytes, int(bytes_max))
            request.min_bytes = min(request.min_bytes, request.max_bytes)

    def measured(self, steps: Steps[Any]) -> Steps[Any]:
        """The same steps, whose time is that of the request."""
        try:
            while True:
                self._running_ns = self._running_ns or perf_counter_ns()
                try:
                    held_bytes = next(steps)
                except StopIteration as end:
                    return end.value
                finally:
                    self._pause()
                yield held_bytes
        finally:
            steps.close()

    def _pause(self) -> None:
        if self._running_ns:
            self._spent_ns += perf_counter_ns() - self._running_ns
            self._running_ns = 0

    def count_mutations(self, is_strict: bool, partitions: int) -> bool:
        """Count partitions that are to be created or deleted (KIP-599); False: they may not be."""
        now_ms = self._now_ms()
        is_allowed, throttle_ms = self._usage.mutation.consume(self._client, partitions, is_strict, now_ms)
        if throttle_ms:
            self._until_ms = now_ms + throttle_ms
        return is_allowed

    def encode(self, response: Any, pause: Pause) -> bytes:
        """Encode the response, with the throttle time; a Fetch that is throttled is answered empty.

        Raises:
            ValueError, TypeError, OverflowError: the response cannot be encoded.
            Exception: that of `pause`, which is called after each step; nothing was counted then.
        """
        call = self._call
        if not self._running_ns:
            self._running_ns = perf_counter_ns()
        try:
            encoded = encode_response(call.correlation_id, response, call.api_version, None, pause)
        finally:
            self._pause()
        throttle_time_ms = self.throttle_time_ms = self._throttle_time(len(encoded))
        if throttle_time_ms:
            if isinstance(response, FetchResponse):
                response = FetchResponse(error_code=response.error_code, session_id=response.session_id)
            if hasattr(response, "throttle_time_ms"):
                response.throttle_time_ms = throttle_time_ms
            encoded = encode_response(call.correlation_id, response, call.api_version)
        return encoded

    def end(self) -> int:
        """The request has been answered, or needs no response: return how long its connection is to be muted, in ms."""
        if self.throttle_time_ms < 0:
            self.throttle_time_ms = self._bandwidth_throttle_time(0, self._now_ms())
        return self.throttle_time_ms

    def _throttle_time(self, response_bytes: int) -> int:
        now_ms, client = self._now_ms(), self._client
        request_ms = self._usage.request.record(client, self._spent_ns * PERCENT_PER_NS, now_ms)
        throttle_ms = max(self._bandwidth_throttle_time(response_bytes, now_ms), request_ms, self._until_ms - now_ms, 0)
        if throttle_ms and isinstance(self._call.request, FetchRequest):
            self._usage.consumer.unrecord(client, response_bytes, now_ms)
        return throttle_ms

    def _bandwidth_throttle_time(self, response_bytes: int, now_ms: int) -> int:
        client, request = self._client, self._call.request
        if isinstance(request, ProduceRequest):
            return self._usage.producer.record(client, self._frame_bytes, now_ms)
        if isinstance(request, FETCHES):
            return self._usage.consumer.record(client, response_bytes, now_ms)
        return 0
