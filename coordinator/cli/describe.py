"""`coordinator groups list` and `describe`: groups as the server's own APIs tell them, also those of Apache Kafka."""

import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Final

import click

from coordinator.audit.schema import MemberRef
from coordinator.cli.logged_groups import described, described_lines, print_logged_groups
from coordinator.cli.observed import with_log_options
from coordinator.cli.server_options import server_option
from coordinator.cli.source import Source, server_or_logs
from coordinator.cli.terminal import (
    UTC_OPTION,
    Clock,
    clock,
    json_option,
    one_line_errors,
    output_option,
    paragraph,
    print_json,
    print_records,
    table,
    width,
)
from coordinator.cli.what_if_report import runs
from coordinator.cli.why import head_notes
from coordinator.client.bootstrap import Bootstrap
from coordinator.client.group_description import AGES_MAX, DescribedGroup, PartitionLag, describe_group, list_groups
from coordinator.client.group_members import DescribedMember
from coordinator.client.hidden_offsets import hidden_topics
from coordinator.client.recent_server_events import Lately, recent_server_events
from coordinator.client.returned_members import with_newest_clients
from coordinator.explain.makers.findings.progress import go_on
from coordinator.explain.positions import notes
from coordinator.explain.sentences.described import returned
from coordinator.explain.story import story_of
from coordinator.explain.words import Names, counted, duration, plain
from coordinator.observe.sources import LogOptions

LAG_WIDTH: Final = 80


@click.command("list")
@with_log_options
@server_option
@UTC_OPTION
@output_option
def list_command(bootstrap: Bootstrap, logs: LogOptions, utc: bool, output: str) -> None:
    """Print all groups with their states and their lag; with --broker-log those that the logs tell of."""
    if logs.paths:
        with one_line_errors():
            print_logged_groups(logs, output, utc=utc)
        return
    with one_line_errors():
        groups = [asdict(group) | {"lag": lag} for group, lag in list_groups(bootstrap)]
    columns = ("group_id", "state", "protocol_type", "lag")
    print_records(groups, columns, output, "there are no groups")


@click.command("describe")
@click.argument("group_id", metavar="GROUP")
@server_or_logs
@UTC_OPTION
@json_option
def describe_command(group_id: str, source: Source, utc: bool, as_json: bool) -> None:
    """Print the members of a group, what each owns, and the lag of each partition, the largest lag first.

    Lag is the log end offset minus the committed offset: below 0 if that is beyond the end of the log, and 0 if only
    markers of transactions follow it. Its age is that of the oldest record that is not consumed yet,
    by the timestamp of its batch. In JSON the age is lag_ms.

    What is out of range, waits for a transaction, or has not moved for two minutes although records wait, is said
    below, and so are topics that do not exist, or that members may not read. In JSON, since when an offset stands is in
    standing: at least since since_ms, longer if is_longer.

    Of a static member that came back elsewhere, DescribeGroups tells the host and client id before. Where the server
    has an audit, those that it has now are shown; in JSON they are in came_back.

    With --broker-log, why it rebalanced last is said, too; with logs alone, who is in it as far as they tell.
    """
    with one_line_errors():
        if source.logs.any_paths:
            _describe_with_logs(source, group_id, clock(utc), as_json)
        if source.bootstrap is None:
            return
        bootstrap = source.bootstrap
        group = describe_group(bootstrap, group_id)
        group = replace(group, members=with_newest_clients(bootstrap, group_id, group.members))
        if as_json:
            print_json(_json(group, _now_ms()))
            return
        for line in _lines(group, _now_ms()):
            click.echo(line)
        for hidden_topic in hidden_topics(group.hidden_topics):
            click.echo(paragraph(f"! {hidden_topic}.", "  ", ""))
        for line in _came_back(group, clock(utc)):
            click.echo(paragraph(f"! {line}", "  ", ""))
        now_ms = _now_ms()
        lately = recent_server_events(bootstrap) if group.members else Lately()
        for note in notes(group, now_ms, clock(utc), go_on(lately.denials, now_ms), lately.heard_since_ms):
            click.echo(paragraph(f"! {note}", "  ", ""))


def _describe_with_logs(source: Source, group_id: str, at: Clock, as_json: bool) -> None:
    """Why it rebalanced last; without a server, who is in it, too. JSON is for a server, or for logs alone."""
    loaded = source.read(group_id)
    history = loaded.history
    if as_json:
        if source.bootstrap is None:
            print_json(described(history))
        return
    for line in head_notes(loaded):
        click.echo(line)
    if source.bootstrap is None:
        for line in described_lines(history):
            click.echo(line)
    latest = history.latest
    if latest is not None:
        click.echo(paragraph(f"last rebalance: {story_of(history, latest, at).headline}.", "  ", ""))
    click.echo("")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _json(group: DescribedGroup, now_ms: int) -> dict[str, object]:
    lags = [_partition_json(partition, now_ms) for partition in group.partitions]
    return asdict(group) | {"lag": group.lag, "lag_ms": group.lag_ms(now_ms), "partitions": lags}


def _partition_json(partition: PartitionLag, now_ms: int) -> dict[str, object]:
    found = asdict(partition)
    del found["first"]
    transaction = partition.transaction
    return found | {
        "lag": partition.lag,
        "lag_ms": partition.lag_ms(now_ms),
        "deleted_unread": partition.deleted_unread,
        "standing": None if partition.standing is None else partition.standing._asdict(),
        "transaction": None if transaction is None else asdict(transaction) | {"until_ms": transaction.until_ms},
    }


def _lines(group: DescribedGroup, now_ms: int) -> Iterator[str]:
    by = f", assigned by {plain(group.protocol_name)}" if group.protocol_name else ""
    epoch = "" if group.group_epoch is None else f", group epoch {group.group_epoch}"
    lag = "lag unknown" if group.lag is None else f"lag {group.lag:,}"
    yield (
        f"group {plain(group.group_id)}: {group.state}{epoch}{by}, {counted(len(group.members), 'member')}, {lag} in"
        f" {counted(len(group.partitions), 'partition')}"
    )
    refs = {
        member.member_id: MemberRef(member.member_id, member.client_id, member.client_host, member.group_instance_id)
        for member in group.members
    }
    names = Names(refs.values())
    if group.members:
        yield ""
        yield from _member_table(group, {member_id: names.of(ref) for member_id, ref in refs.items()})
        yield from _of_workers(group)
    if group.partitions:
        yield ""
        yield from _lag_table(group, {member_id: names.of(ref) for member_id, ref in refs.items()}, now_ms)


def _host(member: DescribedMember) -> str:
    """Where it runs by now."""
    host = member.client_host if member.came_back is None else member.came_back.client_host
    return host.removeprefix("/")


def _came_back(group: DescribedGroup, at: Clock) -> Iterator[str]:
    """Which members other tools tell the client before of."""
    for member in group.members:
        if member.came_back is not None:
            now, before = member.came_back, (member.client_id, member.client_host)
            yield returned(member.group_instance_id or "", now.client_host, now.since_ms, before, at)


def _member_table(group: DescribedGroup, names: dict[str, str]) -> Iterator[str]:
    """A line for each member. In a consumer group with its epoch, and with its target while one has another."""
    has_epochs = group.group_epoch is not None
    what = "tasks" if any(member.worker is not None for member in group.members) else "partitions"
    has_targets = not all(member.is_reconciled for member in group.members)
    header = ["member", "host", "client id", *(["epoch"] if has_epochs else []), what, "assigned"]
    rows = []
    for member in group.members:
        owned = member.partitions if member.worker is None else member.worker.tasks
        count = sum(map(len, (owned or {}).values()))
        rows.append(
            (
                names[member.member_id],
                _host(member),
                member.client_id if member.came_back is None else member.came_back.client_id,
                *([str(member.member_epoch)] if has_epochs else []),
                str(count),
                _assigned(member),
                *([_runs(member.target or {})] if has_targets else []),
            )
        )
    all_rows = [tuple(header + (["target"] if has_targets else [])), *sorted(rows)]
    yield from table(all_rows, frozenset({3, 4} if has_epochs else {3}))


def _assigned(member: DescribedMember) -> str:
    """Partitions; of a worker of Kafka Connect, its connectors and tasks."""
    if member.worker is not None:
        worker = member.worker
        connectors = " ".join(plain(connector) for connector in worker.connectors)
        return f"connectors: {connectors or '-'}; tasks: {_runs(worker.tasks)}"
    if member.partitions is None:
        return "cannot be read"
    return f"{_runs(member.partitions)}{' (cut short: without user data)' if member.is_cut_short else ''}"


def _of_workers(group: DescribedGroup) -> Iterator[str]:
    """What the leader of a Kafka Connect cluster told its workers."""
    workers = [member.worker for member in group.members if member.worker is not None]
    if not workers:
        return
    connectors = sum(len(worker.connectors) for worker in workers)
    tasks = sum(len(numbers) for worker in workers for numbers in worker.tasks.values())
    offsets = sorted({worker.config_offset for worker in workers})
    upto = f"{offsets[0]}" if len(offsets) == 1 else f"{offsets[0]} to {offsets[-1]}"
    yield (
        f"Kafka Connect: {counted(connectors, 'connector')} and {counted(tasks, 'task')}, by the configurations up to"
        f" offset {upto}"
    )
    revoked = sum(len(numbers) for worker in workers for numbers in worker.revoked.values())
    if revoked:
        yield f"{counted(revoked, 'connector or task', 'connectors and tasks')} to be given up, for the next rebalance"
    delay_ms = max(worker.delay_ms for worker in workers)
    if delay_ms > 0:
        yield (
            f"at the last rebalance the leader was to wait {duration(delay_ms)} for workers that had gone"
            " (scheduled.rebalance.max.delay.ms)"
        )


def _runs(partitions: dict[str, list[int]]) -> str:
    return " ".join(runs([(topic, index) for topic, indexes in partitions.items() for index in indexes])) or "-"


def _lag_table(group: DescribedGroup, names: dict[str, str], now_ms: int) -> Iterator[str]:
    """A line for each partition and one for all; the hosts of members only where there is room for them."""
    hosts = {member.member_id: _host(member) for member in group.members}
    rows: list[tuple[str, ...]] = [("topic", "part.", "committed", "log end", "lag", "age", "member", "host")]
    rows.extend(
        (
            partition.topic,
            str(partition.partition),
            *map(_number, (partition.committed_offset, partition.log_end_offset, partition.lag)),
            _age(partition.lag_ms(now_ms)),
            "-" if partition.member_id is None else names[partition.member_id],
            "-" if partition.member_id is None else hosts[partition.member_id],
        )
        for partition in group.partitions
    )
    rows.append(("total", "", "", "", _number(group.lag), _age(group.lag_ms(now_ms)), "", ""))
    numbers = frozenset({1, 2, 3, 4, 5})
    lines = list(table(rows, numbers))
    if max(map(len, lines)) > min(width(), LAG_WIDTH):
        lines = list(table([row[:-1] for row in rows], numbers))
    yield from lines
    unknown = sum(_has_unknown_age(partition, now_ms) for partition in group.partitions)
    if unknown:
        text = f"The age is not known for {counted(unknown, 'partition')} with lag"
        yield f"{text}; it is looked up for {AGES_MAX} at most."


def _has_unknown_age(partition: PartitionLag, now_ms: int) -> bool:
    return (partition.lag or 0) > 0 and partition.lag_ms(now_ms) is None


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _age(lag_ms: int | None) -> str:
    return "-" if lag_ms is None else duration(lag_ms)
