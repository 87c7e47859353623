"""A server with listeners that need a login, in a thread of the test."""

import hashlib
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Final, Self

import uvloop

from coordinator.config.settings import Config
from coordinator.metrics.login_meter import LoginMeter
from coordinator.node.node import Node
from coordinator.security.sasl.scram_credentials import ScramMechanism

START_SECONDS: Final = 20
PLAIN_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule required"


def plain_jaas(**passwords: str) -> str:
    """The value of `plain.sasl.jaas.config` for these users."""
    users = " ".join(f'user_{name}="{password}"' for name, password in passwords.items())
    return f"{PLAIN_MODULE} {users};"


def salted_password(mechanism: ScramMechanism, password: str, salt: bytes, iterations: int = 4096) -> bytes:
    """What a client of AlterUserScramCredentials makes of a password."""
    return hashlib.pbkdf2_hmac(mechanism.digest, password.encode(), salt, iterations)


class SaslServer:
    """A node on free ports with a data folder of its own. Leaving its context stops it."""

    def __init__(self, folder: Path, settings: Mapping[str, str], listeners: Mapping[str, str] | None = None) -> None:
        """`listeners` are name → security protocol; one of SASL_PLAINTEXT by default."""
        listeners = listeners or {"SASL_PLAINTEXT": "SASL_PLAINTEXT"}
        self._config = Config(
            {
                "listeners": ",".join(f"{name}://127.0.0.1:0" for name in listeners),
                "listener.security.protocol.map": ",".join(":".join(each) for each in listeners.items()),
                "log.dirs": str(folder / "data"),
                **settings,
            }
        )
        self._started: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name="sasl-server")
        self.node: Node
        self._stop: Any
        self.addresses: dict[str, str] = {}
        """Listener → HOST:PORT."""

    @property
    def bootstrap(self) -> str:
        """The address of the first listener."""
        return next(iter(self.addresses.values()))

    def login_meter(self, listener: str) -> LoginMeter:
        """The counts of logins."""
        return self.node.front.listeners.gates[listener].meter

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.result(START_SECONDS)
        return self

    def __exit__(self, *problem: object) -> None:
        self._stop()
        self._thread.join(START_SECONDS)
        assert not self._thread.is_alive(), "the server does not stop"

    def _run(self) -> None:
        uvloop.run(self._serve())

    async def _serve(self) -> None:
        import asyncio

        stopped = asyncio.Event()
        loop = asyncio.get_running_loop()
        self._stop = lambda: loop.call_soon_threadsafe(stopped.set)
        try:
            await self._begin()
        except BaseException as problem:
            self._started.set_exception(problem)
            return
        self._started.set_result(None)
        await stopped.wait()
        await self._end()

    async def _begin(self) -> None:
        self.node = Node(self._config)
        await self.node.start()
        self.addresses = {
            endpoint.name: f"{endpoint.host}:{endpoint.port}" for endpoint in self.node.front.listeners.endpoints
        }

    async def _end(self) -> None:
        await self.node.stop()
