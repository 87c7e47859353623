"""Where a command reads the events of groups: the audit topic of a server, or the Delta tables of the pipeline.

Or, of a Kafka without audit topic, its records, its brokers' logs, and its admin APIs.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from functools import wraps
from pathlib import Path
from typing import Any

import click

from coordinator.cli.observed import LOG_OPTIONS, bars, logs_of
from coordinator.cli.server_options import BOOTSTRAP_OPTION, COMMAND_CONFIG_OPTION, server_of, server_option
from coordinator.client.audit_topic import AuditRecord, AuditTopic, NoAuditTopic
from coordinator.client.bootstrap import Bootstrap
from coordinator.explain.history import GroupHistory
from coordinator.observe.history import ObservedHistory
from coordinator.observe.poll import PresentGroup
from coordinator.observe.sources import LogOptions, observe_group
from coordinator.printable import printable

Command = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class ReadHistory:
    """The history of a group, and until when it is known (wall-clock ms).

    `notes`: what could not be read of another Kafka; `unknown`: what that keeps from being known; `present`: how the
    group is there now.
    """

    history: GroupHistory
    until_ms: int
    notes: list[str] = field(default_factory=list)
    unknown: str = ""
    present: PresentGroup | None = None
    is_watched: bool = False
    """It is of a topic of `coordinator watch`, whose server need not be that of the group."""


@dataclass(frozen=True, slots=True)
class Source:
    """A server (`bootstrap`), the directory of the tables if there is one, or logs of brokers, with a server or alone.

    Without any of them it is the server of this machine.
    """

    bootstrap: Bootstrap | None
    tables: Path | None = None
    logs: LogOptions = field(default_factory=LogOptions)

    def read(self, group_id: str) -> ReadHistory:
        """All that is known of a group.

        Raises:
            ClickException: there are no events of the group, or no readable tables.
            ClientError: the server cannot be reached, or nothing tells of the group.
        """
        if self.tables is not None:
            history = _folded(group_id, self._table_records(group_id, with_coordinator=True))
            return ReadHistory(history, history.last_ms or 0)
        if self.bootstrap is not None and not self.logs.any_paths:
            try:
                with AuditTopic(self.bootstrap) as topic:
                    history = _folded(group_id, topic.events_about(group_id))
                    is_watched = isinstance(history, ObservedHistory)
                    return ReadHistory(history, time.time_ns() // 1_000_000, _notes_of(history), is_watched=is_watched)
            except NoAuditTopic:
                pass  # a Kafka that others run
        with bars() as progress:
            seen = observe_group(group_id, self.bootstrap, self.logs, progress)
        return ReadHistory(seen.history, seen.until_ms, seen.notes, seen.unknown, seen.present)

    def tail(self, count: int, group_id: str | None) -> list[AuditRecord]:
        """The last records of the tables.

        Raises:
            ClickException: there are no readable tables.
        """
        found = sorted(
            self._table_records(group_id), key=lambda record: (record.time_ms, record.partition, record.offset)
        )
        return found[-count:] if count else []

    def _table_records(self, group_id: str | None, *, with_coordinator: bool = False) -> Iterable[AuditRecord]:
        from coordinator.cli.bronze_reader import bronze_records

        assert self.tables is not None
        return bronze_records(self.tables, group_id, with_coordinator=with_coordinator)


def _notes_of(history: GroupHistory) -> list[str]:
    if isinstance(history, ObservedHistory) and history.counts_polls:
        return ["no API tells the generations of a classic group: those that polls have seen are counted"]
    return []


def _folded(group_id: str, records: Iterable[AuditRecord]) -> GroupHistory:
    history = history_of(group_id, records)
    if not history.has_events:
        raise click.ClickException(f"there are no events of group {printable(group_id)}")
    return history


def history_of(group_id: str, records: Iterable[AuditRecord]) -> GroupHistory:
    """The history of a group that a coordinator tells of, or what was seen of one of another Kafka; or both in turn."""
    found = list(records)
    is_observed = any(record.observed is not None for record in found)
    history = ObservedHistory(group_id) if is_observed else GroupHistory(group_id)
    for record in found:  # in the order of their offsets, which is that of `seq`
        if (observed := record.observed) is not None and isinstance(history, ObservedHistory):
            history.add(observed)
        elif record.event is not None:
            history.apply(record.event)
        elif (about := record.coordinator_event) is not None:
            history.note_coordinator(about)
    return history


TABLES_OPTION = click.option(
    "--tables",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Read the Delta tables in this directory instead of a server.",
)


def tables_or_server(command: Command) -> Command:
    """`--bootstrap`, `--command-config` and `--tables`, for a command with the parameters `bootstrap` and `tables`."""
    return server_option(TABLES_OPTION(command))


def source_options(command: Command) -> Command:
    """`--bootstrap`, `--command-config`, `--tables` and the options of logs, as the parameter `source`, a Source.

    With logs the server of this machine is not asked, unless a server is named.
    """
    return _source_options(command, (TABLES_OPTION,))


def server_or_logs(command: Command) -> Command:
    """As `source_options`, without `--tables`."""
    return _source_options(command, ())


def _source_options(command: Command, more: Sequence[Callable[[Command], Command]]) -> Command:

    @wraps(command)
    def with_source(
        *args: Any,
        bootstrap: str | None,
        command_config: Path | None,
        broker_logs: tuple[str, ...],
        client_logs: tuple[str, ...],
        log_format: str,
        log_zone: tzinfo | None,
        tables: Path | None = None,
        **others: Any,
    ) -> Any:
        logs = logs_of(broker_logs, client_logs, log_format, log_zone)
        if tables is not None and logs.any_paths:
            raise click.ClickException("--tables cannot be combined with logs")
        is_alone = logs.any_paths and bootstrap is None and command_config is None
        server = None if is_alone else server_of(bootstrap, command_config)
        return command(*args, source=Source(server, tables, logs), **others)

    found: Command = with_source
    options: tuple[Callable[[Command], Command], ...] = (
        *reversed(LOG_OPTIONS),
        *more,
        COMMAND_CONFIG_OPTION,
        BOOTSTRAP_OPTION,
    )
    for option in options:
        found = option(found)
    return found
