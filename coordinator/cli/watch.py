"""`coordinator watch`: stays at a Kafka that others run, until SIGTERM or Ctrl-C."""

import asyncio
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import tzinfo
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from coordinator.cli.observed import AUTO, Zone
from coordinator.cli.ready_file import ReadyFile
from coordinator.cli.server_options import server_option
from coordinator.cli.server_process import CANNOT_START, log_options
from coordinator.cli.stop_signals import StopSignals
from coordinator.client.bootstrap import Bootstrap
from coordinator.client.wire import ClientError
from coordinator.config.key import ConfigError
from coordinator.config.settings import Config
from coordinator.internal_topics import AUDIT_TOPIC
from coordinator.log.errors import LogError
from coordinator.logger import logger
from coordinator.service_manager import ServiceManager

if TYPE_CHECKING:
    from coordinator.watch.session import Session, Target, WatchOptions

DEFAULT_LISTEN: Final = "127.0.0.1:9192"
ENDED_WITH_A_PROBLEM: Final = 1
ASK_AGAIN_SECONDS: Final = 2
DEFAULT_POLL_EVERY_MS: Final = 30_000
DEFAULT_METRICS_GROUPS: Final = 100


@click.command
@server_option
@click.option(
    "--into",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Append to a log in this folder, which is served at --listen.",
)
@click.option(
    "--listen", default=DEFAULT_LISTEN, show_default=True, metavar="HOST:PORT", help="Of --into; port 0: a free one."
)
@click.option(
    "--advertise", metavar="HOST:PORT", help="The address that clients of --into are told; by default --listen."
)
@click.option(
    "--topic",
    metavar="NAME",
    help=f"Append to this topic of the cluster; {AUDIT_TOPIC} is where `coordinator groups why` looks.",
)
@click.option(
    "--broker-log",
    "broker_logs",
    multiple=True,
    metavar="PATH",
    help="Logs of Kafka's brokers to follow: a file, a folder or a pattern. May be repeated.",
)
@click.option(
    "--client-log",
    "client_logs",
    multiple=True,
    metavar="PATH",
    help="Logs of clients to follow, which say why they left; as --broker-log.",
)
@click.option(
    "--group", "groups", multiple=True, metavar="PATTERN", help="Only these groups: billing-*. May be repeated."
)
@click.option("--log-format", default=AUTO, show_default=True, metavar="NAME", help="The format of the lines.")
@click.option(
    "--log-zone",
    type=Zone(),
    metavar="ZONE",
    help="Of times without one: Europe/Berlin, +02:00. By default it is found out by when the file was written.",
)
@click.option(
    "--poll-every-ms",
    type=click.IntRange(0, 86_400_000),
    default=DEFAULT_POLL_EVERY_MS,
    show_default=True,
    metavar="MS",
    help="How often members and lag of all groups are asked for; 0: never.",
)
@click.option(
    "--metrics-groups",
    type=click.IntRange(0, 1_000),
    default=DEFAULT_METRICS_GROUPS,
    show_default=True,
    metavar="N",
    help="Of --admin: how many groups have metrics of their own, those with the most lag first.",
)
@click.option("--admin", metavar="HOST:PORT", help="Of --into: the address of /metrics, /healthz and /readyz.")
@log_options("info")
@click.option("--ready-file", type=click.Path(path_type=Path), help="Write this JSON file (bootstrap, pid) when ready.")
def command(
    bootstrap: Bootstrap,
    folder: Path | None,
    listen: str,
    advertise: str | None,
    topic: str | None,
    broker_logs: tuple[str, ...],
    client_logs: tuple[str, ...],
    groups: tuple[str, ...],
    log_format: str,
    log_zone: tzinfo | None,
    poll_every_ms: int,
    metrics_groups: int,
    admin: str | None,
    log_level: str,
    log_style: str,
    ready_file: Path | None,
) -> None:
    """Watch the groups of a Kafka that others run, and append what happens to a log, until SIGTERM or Ctrl-C.

    It follows the records of __consumer_offsets before they are compacted, and the logs of brokers and clients through
    their rotation, and polls members and lag of all groups. What it appends is read as the audit of a coordinator is:
    `coordinator groups why GROUP --bootstrap 127.0.0.1:9192`. It needs READ on __consumer_offsets, and DESCRIBE on
    groups and topics for what it polls; it joins no group and commits nothing. Killed and started again, it goes on
    where it was.
    """
    from coordinator.cli.log_writer import logging_to_stderr
    from coordinator.observe.logs.unwrapping import FORMATS
    from coordinator.watch.own_server import own_config
    from coordinator.watch.positions import PositionError
    from coordinator.watch.session import WatchOptions
    from coordinator.watch.sink import Fenced

    if (folder is None) == (topic is None):
        raise click.ClickException("say where to append: either --into DIR or --topic NAME")
    if folder is None and (admin, advertise) != (None, None):
        raise click.ClickException("--admin and --advertise go with --into")
    if log_format not in FORMATS:
        raise click.ClickException(f"{log_format!r} is none of the formats {', '.join(FORMATS)}")
    options = WatchOptions(
        server=bootstrap,
        groups=groups,
        log_paths=broker_logs,
        client_paths=client_logs,
        log_format=log_format,
        zone=log_zone,
        poll_seconds=poll_every_ms / 1_000,
    )
    watching = _Watching(options, ReadyFile(ready_file))
    try:
        with (
            closing(ServiceManager()) as manager,
            logging_to_stderr(log_level, log_style) as writer,
            watching.ready_file,
        ):
            if folder is not None:
                own = partial(own_config, folder, listen, advertise, admin, metrics_groups)
                main = watching.into(own, manager, lambda: writer.lines_dropped)
            else:
                assert topic is not None
                main = watching.to_topic(topic, manager)
            asyncio.run(main)
    except (Fenced, PositionError, ConfigError, LogError, ClientError, OSError) as problem:
        click.echo(f"coordinator: {problem}", err=True)
        sys.exit(ENDED_WITH_A_PROBLEM if watching.is_ready else CANNOT_START)


class _Watching:
    """One run of the command."""

    def __init__(self, options: "WatchOptions", ready_file: ReadyFile) -> None:
        self._options, self.ready_file = options, ready_file
        self.is_ready = False

    async def to_topic(self, name: str, manager: ServiceManager) -> None:
        """Raises PositionError, ClientError."""
        from coordinator.watch.session import Session, Target
        from coordinator.watch.topic_sink import TopicSink

        stopped = threading.Event()
        session = Session(self._options, stopped)
        server = self._options.server
        target = Target(server, name, lambda: TopicSink(server, name, stopped))
        logger.info("watching", kafka=str(server), topic=name, logs=",".join(self._options.log_paths))
        await self._run(session, target, manager, {"bootstrap": str(server)}, StopSignals(self.ready_file.remove))

    async def into(self, config: Callable[[int], Config], manager: ServiceManager, dropped: Callable[[], int]) -> None:
        """`config` makes that of the own server, of the number of partitions.

        Raises PositionError, ClientError, ConfigError, LogError.
        """
        from coordinator.watch.own_server import OwnServer, OwnSink
        from coordinator.watch.session import Session, Target, partition_count

        stopped = threading.Event()
        session = Session(self._options, stopped)
        signals = StopSignals(self.ready_file.remove)
        count = await self._asked(lambda: partition_count(self._options.server))
        server = OwnServer(config(count), session, dropped)
        node = server.node
        await node.start()
        try:
            sink = OwnSink(server, asyncio.get_running_loop())
            target = Target(Bootstrap(node.bootstrap), AUDIT_TOPIC, lambda: sink)
            logger.info("watching", kafka=str(self._options.server), logs=",".join(self._options.log_paths))
            ready = {"bootstrap": node.bootstrap} | ({} if node.admin is None else {"admin": node.admin})
            await self._run(session, target, manager, ready, signals, node.failure)
        finally:
            await node.stop()

    async def _asked(self, ask: Callable[[], int]) -> int:
        """What a Kafka answers, once it does."""
        last_problem = ""
        while True:
            try:
                return await asyncio.to_thread(ask)
            except ClientError as problem:
                if str(problem) != last_problem:
                    last_problem = str(problem)
                    logger.warning("cannot watch; it is tried again", problem=last_problem)
                await asyncio.sleep(ASK_AGAIN_SECONDS)

    async def _run(
        self,
        session: "Session",
        target: "Target",
        manager: ServiceManager,
        ready: dict[str, str],
        signals: StopSignals,
        failure: "asyncio.Future[LogError] | None" = None,
    ) -> None:
        """Until a signal comes, or it cannot go on. Raises what ended it."""
        loop = asyncio.get_running_loop()

        def ready_again() -> None:
            loop.call_soon_threadsafe(begun)

        def begun() -> None:
            if not self.is_ready:
                self.is_ready = True
                self.ready_file.write(ready)
                manager.ready(f"watching {self._options.server}")

        try:
            signals.started()
            watching = asyncio.create_task(asyncio.to_thread(session.run, target, ready_again))
            stopping = asyncio.create_task(signals.requested.wait())
            others = [stopping] if failure is None else [stopping, failure]
            await asyncio.wait((watching, *others), return_when=asyncio.FIRST_COMPLETED)
            manager.stopping()
            session.stopped.set()
            self.ready_file.remove()
            stopping.cancel()
            await watching
            if failure is not None and failure.done():
                raise failure.result()
        finally:
            session.stopped.set()
            signals.close()
        logger.info("stopped watching")
