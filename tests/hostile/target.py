"""A server under attack, with a victim beside the attacker."""

import json
import re
import socket
import subprocess
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from _wire.structs import Message
from coordinator.client.bootstrap import Server
from coordinator.client.requests import Sent
from tests.certificates import tls_settings
from tests.differential.kafka import free_port
from tests.differential.logins.servers import make_keys, write_key_set
from tests.hostile.turns import Turns
from tests.sasl_server import plain_jaas
from tests.servers import RunningServer
from tests.wire_client import WireClient

SETTINGS: Final = {"group.initial.rebalance.delay.ms": "0"}
MIB: Final = 1 << 20


def sasl_settings(folder: Path) -> dict[str, str]:
    """A listener with each mechanism."""
    return {
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": plain_jaas(alice="alice-secret"),
        "sasl.oauthbearer.jwks.endpoint.url": (folder / "keys.json").as_uri(),
        "connection.failed.authentication.delay.ms": "10",
    }


@dataclass(frozen=True, slots=True)
class Harm:
    """What an attack did. Waits are those of the victim's requests, by the clock; a turn is one of the event loop."""

    sent_bytes: int
    memory_bytes: int
    """The most memory that the server had during the attack, less what it had before."""
    longest_wait_ms: float
    waits_ms: Mapping[str, float]
    longest_turn_ms: float
    """Processor time of the event loop's thread: unlike a wait, nothing else on the machine makes it longer."""


class Target:
    """A server with the settings of production. Leaving its context stops it with the victim."""

    answered_by_itself: Collection[str] = ()
    """The requests of the victim whose waits have a bound; none: all of them."""

    def __init__(
        self, folder: Path, settings: Mapping[str, str] | None = None, open_files_max: int | None = None
    ) -> None:
        self._turns = Turns(folder)
        ports = {name: free_port() for name in ("PLAINTEXT", "SSL", "SASL_PLAINTEXT")}
        self.tls_address = ("127.0.0.1", ports["SSL"])
        self._sasl_address = ("127.0.0.1", ports["SASL_PLAINTEXT"])
        write_key_set(make_keys(), folder / "keys.json")
        listeners = {"listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())}
        self._server = RunningServer(
            folder,
            {**SETTINGS, **tls_settings(folder), **sasl_settings(folder), **listeners, **(settings or {})},
            log_level="warning",
            open_files_max=None if open_files_max is None else (open_files_max, open_files_max),
            environment=self._turns.environment,
        )
        self._sockets: list[socket.socket] = []
        self.sent_bytes = 0

    def __enter__(self) -> Self:
        self._server.__enter__()
        self._start_victim(self.bootstrap)
        return self

    def _start_victim(self, *arguments: str) -> None:
        self._victim = subprocess.Popen(
            [sys.executable, "-m", "tests.hostile.victim", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._ask_victim(None) == "ready\n"

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        for opened in self._sockets:
            opened.close()
        self._victim.kill()
        self._victim.wait()
        self._server.__exit__(kind, problem, trace)
        self._turns.close()

    @property
    def bootstrap(self) -> str:
        return self._server.bootstrap

    @property
    def pid(self) -> int:
        return self._server.pid

    @property
    def logged(self) -> str:
        return self._server.log.read_text(encoding="utf-8", errors="replace")

    def open_files(self) -> int:
        """How many the server has now."""
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))

    def open_sockets(self) -> int:
        """How many of them are sockets."""
        found = 0
        for each in Path(f"/proc/{self.pid}/fd").iterdir():
            try:
                found += str(each.readlink()).startswith("socket:")
            except FileNotFoundError:
                continue  # closed meanwhile
        return found

    def client(self, client_id: str = "attacker") -> "CountingClient":
        return CountingClient(self, self.bootstrap, client_id)

    def connect(self) -> socket.socket:
        """A bare connection, closed at the end."""
        return self._connect(address_of(self.bootstrap))

    def connect_tls(self) -> socket.socket:
        """A bare connection to the listener with TLS, closed at the end; its handshake is the attack's affair."""
        return self._connect(self.tls_address)

    def connect_sasl(self) -> socket.socket:
        """A bare connection to the listener with a login, closed at the end."""
        return self._connect(self._sasl_address)

    def _connect(self, address: tuple[str, int]) -> socket.socket:
        made = socket.create_connection(address, timeout=120)
        self._sockets.append(made)
        return made

    def begin(self) -> None:
        """Forget what was measured before."""
        self.sent_bytes = 0
        Path(f"/proc/{self.pid}/clear_refs").write_text("5", encoding="ascii")  # resets the peak of the memory
        self._before_bytes = self._memory("VmRSS")
        self._ask_victim("measure\n")
        self._turns.reset()

    def harm(self) -> Harm:
        """What has happened since `begin`."""
        waits = json.loads(self._ask_victim("measure\n"))
        memory = max(self._memory("VmHWM") - self._before_bytes, 0)
        own = self.answered_by_itself or waits.keys()
        return Harm(self.sent_bytes, memory, max(waits[name] for name in own), waits, self._turns.longest_ms)

    def memory_bytes(self) -> int:
        """What the server has now, less what it had at `begin`."""
        return self._memory("VmRSS") - self._before_bytes

    def _memory(self, name: str) -> int:
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        found = re.search(rf"^{name}:\s+(\d+) kB", status, re.MULTILINE)
        assert found, status
        return int(found[1]) * 1024

    def _ask_victim(self, line: str | None) -> str:
        assert self._victim.stdin is not None and self._victim.stdout is not None
        if line is not None:
            self._victim.stdin.write(line)
            self._victim.stdin.flush()
        answer = self._victim.stdout.readline()
        assert answer, "the victim was refused or waited too long"
        return answer


def address_of(bootstrap: str) -> tuple[str, int]:
    host, _, port = bootstrap.rpartition(":")
    return host, int(port)


class CountingClient(WireClient):
    """Counts what it sends as the attacker's."""

    def __init__(self, target: Target, server: Server, client_id: str) -> None:
        self._target = target
        super().__init__(server, client_id)
        self.socket.settimeout(120)

    def frame(self, message: Message, version: int) -> tuple[bytes, Sent]:
        data, sent = super().frame(message, version)
        self._target.sent_bytes += len(data)
        return data, sent
