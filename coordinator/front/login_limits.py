"""Connections that have not logged in: how many an address may have, and when each must have done so."""

from collections import Counter
from collections.abc import Callable
from typing import Any, Final, Protocol

import msgspec

from coordinator.config.sasl_keys import MAX_AUTHENTICATIONS_PER_IP
from coordinator.config.settings import Config
from coordinator.deadlines import deadline_after
from coordinator.front.loop_scheduler import LoopScheduler


class LimitedLogin(Protocol):
    """The login of one connection."""

    def expire(self) -> None:
        """The time that it may take is over: close the connection."""


class LoginDeadlineKey(msgspec.Struct, frozen=True):
    """The timer key at which a connection must have logged in (`connection.authentication.max.ms`)."""

    login: Any


class LoginLimits:
    """`max.authentications.per.ip` and `connection.authentication.max.ms`, for all ports of a node together."""

    def __init__(self, config: Config, scheduler: LoopScheduler, now_ms: Callable[[], int]) -> None:
        self._scheduler = scheduler
        self._now_ms = now_ms
        self._most_per_address: Final = config[MAX_AUTHENTICATIONS_PER_IP]
        self._addresses: dict[LimitedLogin, str] = {}
        """Those that have not logged in, by address."""
        self._per_address: Counter[str] = Counter()
        self._timers: dict[LimitedLogin, int] = {}
        scheduler.on_due(self.due)

    def begin(self, login: LimitedLogin, address: str, max_ms: int) -> str | None:
        """Count a login that begins; return the reason to close its connection if there are too many of its address."""
        self._addresses[login] = address
        self._per_address[address] += 1
        self.start_clock(login, max_ms)
        if self._per_address[address] <= self._most_per_address:
            return None
        return (
            f"more than {self._most_per_address} connections from one address have not logged in "
            f"({MAX_AUTHENTICATIONS_PER_IP.name})"
        )

    def start_clock(self, login: LimitedLogin, max_ms: int) -> None:
        """The login has so long from now on."""
        self.stop_clock(login)
        self._timers[login] = self._scheduler.start(LoginDeadlineKey(login), deadline_after(self._now_ms(), max_ms))

    def stop_clock(self, login: LimitedLogin) -> None:
        timer = self._timers.pop(login, None)
        if timer is not None:
            self._scheduler.cancel(timer)

    def end(self, login: LimitedLogin) -> None:
        """The connection has logged in, or is closed. Also if that is known already."""
        self.stop_clock(login)
        address = self._addresses.pop(login, None)
        if address is not None:
            self._per_address[address] -= 1
            if not self._per_address[address]:
                del self._per_address[address]

    timer_keys = (LoginDeadlineKey,)

    def due(self, key: object, now_ms: int) -> None:
        if isinstance(key, LoginDeadlineKey):
            self._timers.pop(key.login, None)
            key.login.expire()


class LoginTerms(msgspec.Struct, frozen=True):
    """What holds at a port until a client has logged in."""

    limits: LoginLimits
    receive_bytes_max: int
    """The largest request (`sasl.server.max.receive.size`)."""
    authentication_max_ms: int
    """`connection.authentication.max.ms`."""
