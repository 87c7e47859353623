"""`coordinator serve`: one node, until SIGTERM or Ctrl-C."""

import asyncio
import ctypes
import os
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
import uvloop

from coordinator.cli.ready_file import ReadyFile
from coordinator.cli.reload_signal import ReloadSignal
from coordinator.cli.server_process import CANNOT_START, log_open_files_limit, log_options
from coordinator.cli.server_settings import log_new_lines, log_settings, read_settings, settings_options
from coordinator.cli.stop_signals import StopSignals
from coordinator.config.cluster_keys import CLUSTER_BOOTSTRAP_SERVERS, CLUSTER_WATCH
from coordinator.config.key import ConfigError
from coordinator.config.listener_keys import LISTENERS
from coordinator.config.listener_overrides import listener_names
from coordinator.config.metrics_keys import ADMIN_LISTENER, ADMIN_NAME
from coordinator.config.server_keys import LOG_DIRS
from coordinator.config.settings import Config
from coordinator.garbage import no_collections, tune_collections
from coordinator.inherited_sockets import LISTEN_FDS, InheritedSockets, inherited_sockets
from coordinator.log.errors import LogDirectoryFailed, LogError, LogFlushError, LogStopError
from coordinator.logger import logger
from coordinator.service_manager import ServiceManager

if TYPE_CHECKING:
    from coordinator.front.node import ServingNode

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of malloc.h
KEPT_BYTES = 64 << 20
"""How much freed memory at the end of the heap is kept."""
MAPPED_BYTES_MIN = 32 << 20
"""From this size on memory is mapped, and given back when it is freed; the largest value that is allowed."""
DATA_MAY_BE_LOST = DISK_FAILED = 1
NODES_MAX = 32


@click.command
@settings_options
@click.option("--listen", metavar="HOST:PORT", help="The address to listen on; port 0 binds a free port.")
@click.option("--data-dir", type=click.Path(path_type=Path), help="The directory of the logs; several with commas.")
@log_options("info")
@click.option("--admin", metavar="HOST:PORT", help="The address of /metrics, /healthz and /readyz; none without it.")
@click.option(
    "--cluster",
    metavar="HOST:PORT",
    help="Brokers of a Kafka cluster, with commas, in front of which to coordinate groups.",
)
@click.option(
    "--watch",
    metavar="PATTERNS",
    help="With --cluster: groups to watch that stay with the cluster, ids or patterns with commas.",
)
@click.option(
    "--nodes",
    type=click.IntRange(1, NODES_MAX),
    default=1,
    metavar="N",
    help="With --cluster: run N nodes on this machine, each in a process of its own, at ports from --listen on.",
)
@click.option(
    "--ready-file", type=click.Path(path_type=Path), help="Write this JSON file (bootstrap, admin, pid) when ready."
)
def command(
    config_file: Path | None,
    with_environment: bool,
    settings: tuple[str, ...],
    listen: str | None,
    data_dir: Path | None,
    log_level: str,
    log_style: str,
    admin: str | None,
    cluster: str | None,
    watch: str | None,
    nodes: int,
    ready_file: Path | None,
) -> None:
    """Serve Kafka clients until SIGTERM or Ctrl-C. At SIGHUP the settings are read again.

    --set overrides --environment, which overrides --config; --listen, --data-dir, --admin, --cluster and --watch
    override all.
    """
    from coordinator.cli.log_writer import logging_to_stderr
    from coordinator.metadata.store import MetadataError
    from coordinator.security.protocols import SecurityProtocol

    try:
        ready = ReadyFile(ready_file)
        options: dict[str, str] = {}
        if listen is not None:
            options[LISTENERS.name] = f"{SecurityProtocol.PLAINTEXT.value}://{listen}"
        if data_dir is not None:
            options[LOG_DIRS.name] = str(data_dir)
        if admin is not None:
            options[ADMIN_LISTENER.name] = admin
        if cluster is not None:
            options[CLUSTER_BOOTSTRAP_SERVERS.name] = cluster
        if watch is not None:
            options[CLUSTER_WATCH.name] = watch
        understood = read_settings(config_file, with_environment, settings, options)
        config = Config(understood.texts, unused=understood.unused_texts)

        def again() -> dict[str, str]:
            read = read_settings(config_file, with_environment, settings, options)
            log_new_lines(read, understood)
            return read.texts

        inherited = _inherited(config)
        with closing(ServiceManager()) as manager:
            if nodes > 1:
                if not config[CLUSTER_BOOTSTRAP_SERVERS]:
                    raise ConfigError("--nodes needs --cluster: nodes with logs of their own do not share groups")
                with logging_to_stderr(log_level, log_style), ready:
                    log_settings(understood, with_environment)
                    sys.exit(
                        asyncio.run(
                            _run_nodes(understood.texts, again, nodes, log_level, log_style, ready_file, manager)
                        )
                    )
            with logging_to_stderr(log_level, log_style) as writer, ready:
                log_settings(understood, with_environment)
                uvloop.run(_serve(config, again, ready, lambda: writer.lines_dropped, inherited, manager))
    except LogFlushError as problem:
        click.echo(f"coordinator: stopping: acknowledged data may be lost: {problem}", err=True)
        sys.exit(DATA_MAY_BE_LOST)
    except LogDirectoryFailed as problem:
        click.echo(f"coordinator: stopping: {problem}", err=True)
        sys.exit(DISK_FAILED)
    except LogStopError as problem:
        click.echo(f"coordinator: stopped: {problem}", err=True)
        sys.exit(DATA_MAY_BE_LOST)
    except (ConfigError, MetadataError, LogError, OSError) as problem:
        click.echo(f"coordinator: {problem}", err=True)
        sys.exit(CANNOT_START)


def _inherited(config: Config) -> InheritedSockets:
    """The listening sockets of the service manager. Raises ConfigError: there is no use for one of them."""
    inherited = inherited_sockets()
    if inherited and config[CLUSTER_BOOTSTRAP_SERVERS]:
        raise ConfigError(f"{LISTEN_FDS}: a node in front of a cluster opens its ports itself; remove the socket unit")
    inherited.check([*listener_names(config[LISTENERS]), *([ADMIN_NAME] if config[ADMIN_LISTENER] else [])])
    return inherited


async def _run_nodes(
    texts: dict[str, str],
    again: Callable[[], dict[str, str]],
    count: int,
    log_level: str,
    log_style: str,
    ready_file: Path | None,
    manager: ServiceManager,
) -> int:
    """`again` reads the settings again."""
    from coordinator.cli.serve_nodes import NodeProcesses

    return await NodeProcesses(texts, count, (log_level, log_style), manager).run(ready_file, again)


async def _serve(
    config: Config,
    again: Callable[[], dict[str, str]],
    ready_file: ReadyFile,
    log_lines_dropped: Callable[[], int],
    inherited: InheritedSockets,
    manager: ServiceManager,
) -> None:
    """`again` reads the settings again."""
    from coordinator.front.descriptors import raise_limit
    from coordinator.front.watchdog import Watchdog
    from coordinator.node.settings_reload import reload_settings

    signals = StopSignals(lambda: _end_without_stop(ready_file))
    reload_signal = ReloadSignal(lambda: Config(again()), signals.requested.set)
    try:
        open_files_max = raise_limit()
        with no_collections():
            node = _make_node(config, log_lines_dropped, inherited)
            if not await _started(node, signals):
                logger.info("stopped before the start had ended")
                return
        signals.started()
        reload_signal.started(partial(reload_settings, node.config))
        log_open_files_limit(open_files_max)
        keep_freed_memory()
        tune_collections()
        admin = {} if node.admin is None else {"admin": node.admin}
        ready_file.write({"bootstrap": node.bootstrap, **admin})
        watchdog = Watchdog(on_pause=node.stood_still)
        watchdog.start()
        manager.ready(f"serving at {node.bootstrap}")
        stopping = asyncio.create_task(signals.requested.wait())
        await asyncio.wait((stopping, node.failure), return_when=asyncio.FIRST_COMPLETED)
        manager.stopping()
        watchdog.stop()
        ready_file.remove()
        if node.failure.done():
            raise node.failure.result()
        await node.stop()
    finally:
        reload_signal.close()
        signals.close()


def _make_node(config: Config, log_lines_dropped: Callable[[], int], inherited: InheritedSockets) -> "ServingNode":
    """A node with logs of its own, or one in front of a cluster."""
    if config[CLUSTER_BOOTSTRAP_SERVERS]:
        from coordinator.cluster.node import ClusterNode

        return ClusterNode(config, log_lines_dropped=log_lines_dropped)
    from coordinator.node.disk_host import this_disk_host
    from coordinator.node.node import Node

    return Node(config, host=this_disk_host(inherited), log_lines_dropped=log_lines_dropped)


async def _started(node: "ServingNode", signals: StopSignals) -> bool:
    """Start a node; return False if a stop was requested before the start had ended. Raises what the start raises."""
    starting = asyncio.create_task(node.start())
    stopping = asyncio.create_task(signals.requested.wait())
    await asyncio.wait((starting, stopping), return_when=asyncio.FIRST_COMPLETED)
    is_started = starting.done()
    if not is_started:
        starting.cancel()
    try:
        await starting
    except asyncio.CancelledError:
        return False
    finally:
        stopping.cancel()
    return True


def _end_without_stop(ready_file: ReadyFile) -> None:
    ready_file.remove()
    with suppress(OSError):
        os.write(2, b"coordinator: stopped before the start had ended; the next start checks the logs\n")


def keep_freed_memory() -> None:
    """Let the C library keep freed memory instead of giving it back to the system at once.

    A response with a megabyte of records is freed as soon as it is sent. Given back and asked for again, its pages cost
    more than all else that a Fetch does. Only the C library of GNU has these settings; others are left as they are.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
    mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES_MIN)
