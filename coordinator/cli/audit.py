"""`coordinator audit`: the events of the audit topic as they are."""

import json
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from coordinator.audit.chain import Verified
from coordinator.audit.chain import verify as verify_chain
from coordinator.audit.schema import GroupHeldByCluster
from coordinator.cli.server_options import server_option
from coordinator.cli.source import Source, tables_or_server
from coordinator.cli.terminal import UTC_OPTION, Clock, clock, json_option, one_line_errors
from coordinator.client.audit_topic import AuditRecord, AuditTopic
from coordinator.client.bootstrap import Bootstrap
from coordinator.client.cluster import EARLIEST
from coordinator.explain.words import plain, quoted

TAIL_EVENTS: Final = 20
ENVELOPE: Final = frozenset(
    {
        "kind",
        "schema_version",
        "group_id",
        "seq",
        "created_seq",
        "time_ms",
        "node_id",
        "coordinator_epoch",
        "generation_id_before",
        "generation_id",
        "state_before",
        "state",
    }
)
VALUE_CHARACTERS_SHOWN: Final = 60


@click.group
def command() -> None:
    """Read the audit topic."""


@command.command
@click.option("--group", "group_id", metavar="GROUP", help="Only this group.")
@click.option("--follow", is_flag=True, help="Go on with the events that come, until Ctrl-C.")
@click.option("--events", "count", type=click.IntRange(min=0), default=TAIL_EVENTS, show_default=True, help="How many.")
@tables_or_server
@UTC_OPTION
@json_option
def tail(
    group_id: str | None, follow: bool, count: int, bootstrap: Bootstrap, tables: Path | None, utc: bool, as_json: bool
) -> None:
    """Print the last events, one per line. With --json, a line is the event as it is in the topic."""
    if follow and tables is not None:
        raise click.ClickException("--follow needs a server; the tables do not tell when they grow")
    if follow:
        # SIGINT is the way to end it, also in the background, where a shell without job control ignores it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    at = clock(utc)
    with one_line_errors():
        if tables is not None:
            from_tables = list(Source(bootstrap, tables).tail(count, group_id))
            for record in from_tables:
                _print(record, at, as_json)
            _require_events(from_tables, count, group_id)
            return
        with AuditTopic(bootstrap) as topic:
            records, position = topic.tail(count, group_id)
            for record in records:
                _print(record, at, as_json)
            if not follow:
                _require_events(records, count, group_id)
            key = None if group_id is None else group_id.encode()
            for record in topic.follow(position, lambda found_key: key is None or found_key == key) if follow else ():
                _print(record, at, as_json)


def _require_events(found: Sequence[AuditRecord], count: int, group_id: str | None) -> None:
    """Raise ClickException if a group was asked for and has no event."""
    if group_id is not None and count and not found:
        raise click.ClickException(f"there is no event of a group {plain(group_id)}: `coordinator groups list` has all")


@command.command
@server_option
def verify(bootstrap: Bootstrap) -> None:
    """Check the hashes of the topic (audit.chain), and name the first event of a partition that was changed, left out
    or moved. Exit code 1 if there is one, or if no event has a hash."""
    found: list[Verified] = []
    with one_line_errors(), AuditTopic(bootstrap) as topic:
        for partition in topic.partitions:
            records = topic.records(topic.offsets([partition], EARLIEST), lambda key: True)
            verified = verify_chain((record.offset, record.record) for record in records)
            found.append(verified)
            if verified.broken is not None:
                offset, event, problem = verified.broken
                click.echo(f"partition {partition}, offset {offset}: {plain(event)} {plain(problem)}")
    broken = sum(partition.broken is not None for partition in found)
    chained, unchained = sum(partition.chained for partition in found), sum(partition.unchained for partition in found)
    if broken:
        raise click.ClickException(f"{broken} of {len(found)} partitions are not as they were written")
    if not chained:
        raise click.ClickException("no event has a hash: the server runs without audit.chain=true")
    click.echo(f"{chained} events are as they were written; {unchained} from before the first hash are not covered")


def _print(record: AuditRecord, at: Clock, as_json: bool) -> None:
    """Partition 0 has all events about the coordinator; the others repeat them for readers of one group.

    One that is about a group is in its partition alone.
    """
    if record.is_of_watcher:
        return
    is_reported_once = record.partition == 0 or isinstance(record.coordinator_event, GroupHeldByCluster)
    if record.record[0] is not None or is_reported_once:
        click.echo(_line(record, at, as_json))


def _line(record: AuditRecord, at: Clock, as_json: bool) -> str:
    try:
        fields: Any = json.loads(record.value)
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        return f"{record.partition}-{record.offset}: not an event"
    if as_json:
        return json.dumps(fields)  # escapes what is not ASCII, so it is harmless on a terminal
    own = "  ".join(f"{name}={_value(value)}" for name, value in fields.items() if name not in ENVELOPE and value)
    time = at(fields["time_ms"]) if isinstance(fields.get("time_ms"), int) else "?"
    where = f"{plain(record.group_id)}#{fields.get('seq', '?')}" if record.group_id else _about(record)
    generation = f"generation={fields['generation_id']}  " if "generation_id" in fields else ""
    return f"{time}  {where}  {plain(str(fields.get('kind')))}  {generation}{own}".rstrip()


def _about(record: AuditRecord) -> str:
    """What an event about the coordinator is about."""
    event = record.coordinator_event
    return plain(event.group_id) if isinstance(event, GroupHeldByCluster) else "coordinator"


def _value(value: Any) -> str:
    """A field, short: a member by its names, long lists and maps cut."""
    if isinstance(value, dict) and "member_id" in value:
        return plain(str(value.get("group_instance_id") or value.get("client_id") or value["member_id"]))
    if isinstance(value, str):
        return plain(value) if len(value) <= VALUE_CHARACTERS_SHOWN else quoted(value)
    text = json.dumps(value)
    return text if len(text) <= VALUE_CHARACTERS_SHOWN else f"{text[:VALUE_CHARACTERS_SHOWN]}…"
