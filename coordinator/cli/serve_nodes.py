"""`coordinator serve --cluster … --nodes N`: N nodes in front of a cluster on this machine, a process each."""

import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from coordinator.cli.reload_signal import ReloadSignal
from coordinator.cli.server_process import CANNOT_START
from coordinator.config.cluster_keys import CLUSTER_BROKER_PORT_BASE
from coordinator.config.key import ConfigError
from coordinator.config.listener_keys import ADVERTISED_LISTENERS, LISTENERS
from coordinator.config.metrics_keys import ADMIN_LISTENER
from coordinator.config.properties import properties_text
from coordinator.config.server_keys import NODE_ID
from coordinator.config.settings import Config
from coordinator.listen_address import PORT_AT_MOST, parse_addresses
from coordinator.logger import logger
from coordinator.service_manager import ServiceManager

BROKER_PORTS_PER_NODE: Final = 1_000
"""The ports for brokers of the next node begin so much higher."""
RESTART_SECONDS_AT_FIRST: Final = 0.5
RESTART_SECONDS_AT_MOST: Final = 30.0
STOP_SECONDS: Final = 20
READY_POLL_SECONDS: Final = 0.05


def settings_of_node(texts: Mapping[str, str], number: int) -> dict[str, str]:
    """The settings of one of the nodes, from 0 on: its id, and ports of its own.

    Raises:
        ConfigError: a port is out of range, or 0.
    """
    config = Config(texts)
    changed = {
        NODE_ID.name: str(config[NODE_ID] + number),
        LISTENERS.name: _moved(LISTENERS.name, config[LISTENERS], number),
        CLUSTER_BROKER_PORT_BASE.name: str(config[CLUSTER_BROKER_PORT_BASE] + number * BROKER_PORTS_PER_NODE),
    }
    if config[ADVERTISED_LISTENERS]:
        changed[ADVERTISED_LISTENERS.name] = _moved(ADVERTISED_LISTENERS.name, config[ADVERTISED_LISTENERS], number)
    if config[ADMIN_LISTENER]:
        host, _, port = config[ADMIN_LISTENER].rpartition(":")
        changed[ADMIN_LISTENER.name] = f"{host}:{_port(ADMIN_LISTENER.name, int(port), number)}"
    if int(changed[CLUSTER_BROKER_PORT_BASE.name]) > PORT_AT_MOST:
        raise ConfigError(f"{CLUSTER_BROKER_PORT_BASE.name}: there are no ports for node {number + 1}")
    return {**texts, **changed}


def _moved(name: str, text: str, number: int) -> str:
    """The listeners, at a port that is higher by the number of the node."""
    return ",".join(
        f"{parse_address.name}://{parse_address.host}:{_port(name, parse_address.port, number)}"
        for parse_address in parse_addresses(name, text)
    )


def _port(name: str, port: int, number: int) -> int:
    if not port or port + number > PORT_AT_MOST:
        raise ConfigError(f"{name}: --nodes needs ports that are not 0, and below {PORT_AT_MOST}")
    return port + number


class NodeProcesses:
    """Starts the processes, starts one again that has ended by itself, and stops them all."""

    def __init__(self, texts: Mapping[str, str], count: int, log: tuple[str, str], manager: ServiceManager) -> None:
        """`log` are level and style of the log lines. Raises ConfigError: there are no ports for all nodes."""
        self._manager = manager
        self._settings = [settings_of_node(texts, number) for number in range(count)]
        self._log_level, self._log_style = log
        self._running: dict[int, asyncio.subprocess.Process] = {}
        self._reloads: set[asyncio.Task[None]] = set()
        self._is_stopping = asyncio.Event()
        self._folder = tempfile.TemporaryDirectory(prefix="coordinator-nodes-")

    async def run(self, ready_file: Path | None, read_again: Callable[[], Mapping[str, str]]) -> int:
        """Run until SIGTERM or Ctrl-C. Returns the exit code: that of a node that could not start at first.

        At SIGHUP all nodes get what `read_again` returns, which may raise ConfigError.
        """
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._is_stopping.set)
        reload_signal = ReloadSignal(read_again, self._is_stopping.set)
        reload_signal.started(self.change_settings)
        keepers = [loop.create_task(self._keep(number)) for number in range(len(self._settings))]
        ready = loop.create_task(self._write_ready(ready_file))
        stopping = loop.create_task(self._is_stopping.wait())
        try:
            await asyncio.wait((stopping, *keepers), return_when=asyncio.FIRST_COMPLETED)
            self._is_stopping.set()
            self._manager.stopping()
            codes = await asyncio.wait_for(asyncio.gather(*keepers), STOP_SECONDS)
        finally:
            reload_signal.close()
            for reload in self._reloads:
                reload.cancel()
            ready.cancel()
            stopping.cancel()
            self._kill()
            if ready_file is not None:
                ready_file.unlink(missing_ok=True)
            self._folder.cleanup()
        return max(codes)

    def change_settings(self, texts: Mapping[str, str]) -> None:
        """Let each node read its settings again, those that are starting as soon as they are ready.

        Raises:
            ConfigError: a value is not allowed, or there are no ports for all nodes. Nothing has changed.
        """
        self._settings = [settings_of_node(texts, number) for number in range(len(self._settings))]
        for number, process in self._running.items():
            self._write_settings(number)
            task = asyncio.create_task(self._reload(number, process))
            self._reloads.add(task)
            task.add_done_callback(self._reloads.discard)

    async def _reload(self, number: int, process: asyncio.subprocess.Process) -> None:
        """A node knows the signal when it is ready; before, it would end by it."""
        while process.returncode is None and not self._ready_path(number).exists():
            await asyncio.sleep(READY_POLL_SECONDS)
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGHUP)

    async def _keep(self, number: int) -> int:
        """Run one node, again and again; return the exit code of one that cannot start, or of the stop."""
        delay, has_served = RESTART_SECONDS_AT_FIRST, False
        while True:
            process = self._running[number] = await self._start(number)
            stopping = asyncio.create_task(self._is_stopping.wait())
            ended = asyncio.create_task(process.wait())
            await asyncio.wait((stopping, ended), return_when=asyncio.FIRST_COMPLETED)
            if self._is_stopping.is_set() and not ended.done():
                with suppress(ProcessLookupError):
                    process.send_signal(signal.SIGTERM)
            stopping.cancel()
            code = await ended
            has_served = has_served or self._ready_path(number).exists()
            if self._is_stopping.is_set() or (code == CANNOT_START and not has_served):
                return abs(code)
            logger.error("node ended; starting it again", node=self._settings[number][NODE_ID.name], exit_code=code)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._is_stopping.wait(), delay)
                return 0
            delay = min(delay * 2, RESTART_SECONDS_AT_MOST)

    async def _start(self, number: int) -> asyncio.subprocess.Process:
        self._ready_path(number).unlink(missing_ok=True)  # of a former process
        # By a file in a folder of its own: all users see the arguments of a process, and settings have passwords.
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "coordinator.cli", "serve", "--config", str(self._write_settings(number))),
            *("--log-level", self._log_level, "--log-style", self._log_style),
            *("--ready-file", str(self._ready_path(number))),
            start_new_session=True,  # Ctrl-C reaches this process alone, which stops the nodes
        )

    def _write_settings(self, number: int) -> Path:
        path = Path(self._folder.name, f"{number}.properties")
        part = path.with_suffix(".part")
        part.write_text(properties_text(self._settings[number]), encoding="utf-8")
        part.replace(path)  # a node never reads half a file
        return path

    def _ready_path(self, number: int) -> Path:
        return Path(self._folder.name, f"{number}.json")

    async def _write_ready(self, ready_file: Path | None) -> None:
        """Write the file when all nodes are ready."""
        paths: Sequence[Path] = [self._ready_path(number) for number in range(len(self._settings))]
        while not all(path.exists() for path in paths):
            await asyncio.sleep(READY_POLL_SECONDS)
        states = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
        bootstrap = ",".join(state["bootstrap"] for state in states)
        logger.info("all nodes serve", nodes=len(states), bootstrap=bootstrap)
        self._manager.ready(f"{len(states)} nodes serve at {bootstrap}")
        if ready_file is not None:
            content = {"bootstrap": bootstrap, "pids": [state["pid"] for state in states], "pid": os.getpid()}
            part = ready_file.with_name(f".{ready_file.name}.{os.getpid()}")
            part.write_text(json.dumps(content) + "\n", encoding="utf-8")
            part.replace(ready_file)

    def _kill(self) -> None:
        for process in self._running.values():
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
