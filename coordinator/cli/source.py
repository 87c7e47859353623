"""Where a command reads the events of groups: the audit topic of a server, or the Delta tables of the pipeline."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from coordinator.cli.server_options import server_option
from coordinator.client.audit_topic import AuditRecord, AuditTopic
from coordinator.client.bootstrap import Server
from coordinator.explain.history import GroupHistory
from coordinator.printable import printable

Command = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Source:
    """A server (`bootstrap`), or the directory of the tables if there is one."""

    bootstrap: Server
    tables: Path | None

    def history(self, group_id: str) -> tuple[GroupHistory, int]:
        """All that is known of a group, and until when (wall-clock ms): now, or the last event of the tables.

        Raises:
            ClickException: there are no events of the group, or no readable tables.
            ClientError: the server cannot be reached, or has no audit topic.
        """
        if self.tables is not None:
            history = _folded(group_id, self._table_records(group_id, with_coordinator=True))
            return history, history.last_ms or 0
        with AuditTopic(self.bootstrap) as topic:
            return _folded(group_id, topic.events_about(group_id)), time.time_ns() // 1_000_000

    def tail(self, count: int, group_id: str | None) -> list[AuditRecord]:
        """The last records of the tables.

        Raises:
            ClickException: there are no readable tables.
        """
        found = sorted(self._table_records(group_id), key=lambda each: (each.time_ms, each.partition, each.offset))
        return found[-count:] if count else []

    def _table_records(self, group_id: str | None, *, with_coordinator: bool = False) -> Iterable[AuditRecord]:
        from coordinator.cli.bronze_reader import bronze_records

        assert self.tables is not None
        return bronze_records(self.tables, group_id, with_coordinator=with_coordinator)


def _folded(group_id: str, records: Iterable[AuditRecord]) -> GroupHistory:
    history = GroupHistory(group_id)
    for record in records:  # in the order of their offsets, which is that of `seq`
        if record.event is not None:
            history.apply(record.event)
        elif (about := record.coordinator_event) is not None:
            history.note_coordinator(about)
    if not history.has_events:
        raise click.ClickException(f"there are no events of group {printable(group_id)}")
    return history


def source_options(command: Command) -> Command:
    """`--bootstrap`, `--command-config` and `--tables`, for a command with the parameters `bootstrap` and `tables`."""
    command = click.option(
        "--tables",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="Read the Delta tables in this directory instead of a server.",
    )(command)
    return server_option(command)
