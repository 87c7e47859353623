"""All that can be seen of a group of a Kafka that others run: its records, its brokers' logs, its admin APIs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import tzinfo
from typing import Final

import msgspec

from coordinator.client.bootstrap import Bootstrap
from coordinator.client.group_description import NoSuchGroup
from coordinator.client.wire import ClientError
from coordinator.observe.alignment import Records, aligned, credible
from coordinator.observe.clients_said import aligned_clients, explained, goodbyes, removed_by_clients
from coordinator.observe.consumer import TopicNames
from coordinator.observe.errors import CannotObserve, NoRight
from coordinator.observe.group import observed_events
from coordinator.observe.group_so_far import Removed
from coordinator.observe.history import ObservedHistory
from coordinator.observe.logs import statements as said
from coordinator.observe.logs.client_statements import ClientStatement
from coordinator.observe.logs.reader import read_broker_logs, read_client_logs
from coordinator.observe.logs.statements import OfGroup, Statement
from coordinator.observe.ordering import Logged
from coordinator.observe.poll import PresentGroup, poll_group, wall_clock_ms
from coordinator.observe.records.reader import read_offsets_partition
from coordinator.observe.refusals import refusal_of
from coordinator.observe.topic_ids import TopicIds

Progress = Callable[[str, int, int], None]
"""Called with what is read (LOGS or RECORDS), how much of it is done, and all of it."""

ZONE_NOTE: Final = "times without a zone"
"""How the note begins that holds only if no record tells the zone."""
LOGS: Final = "logs"
RECORDS: Final = "records"


class LogOptions(msgspec.Struct, frozen=True):
    """Which logs are read, and how: `paths` those of brokers. `zone` is of times without one; None: this machine's."""

    paths: tuple[str, ...] = ()
    client_paths: tuple[str, ...] = ()
    log_format: str = "auto"
    zone: tzinfo | None = None

    @property
    def any_paths(self) -> bool:
        return bool(self.paths or self.client_paths)


class ObservedGroup(msgspec.Struct):
    """What was seen of a group. `until_ms` is the time up to which it is known."""

    history: ObservedHistory
    until_ms: int
    present: PresentGroup | None
    notes: list[str]
    """What could not be read, one line each."""
    unknown: str
    """What cannot be known from what was read, and what to give for more; empty: nothing more helps."""


class NothingSeen(ClientError):
    """Neither records nor lines nor an admin API tell of the group."""


def observe_group(
    group_id: str, server: Bootstrap | None, logs: LogOptions, progress: Progress | None = None
) -> ObservedGroup:
    """Read all that tells of a group: `server` None, the logs alone.

    Raises:
        NothingSeen: nothing tells of the group.
        ClientError: the server cannot be reached.
    """
    notes: list[str] = []
    records = [] if server is None else _records(server, group_id, notes, progress)
    statements, is_whole = _statements(group_id, records, logs, notes, progress)
    clients = _clients(group_id, statements, logs, notes, progress)
    found = goodbyes(clients, group_id)
    statements = explained(statements, found)
    refused = [client for client in clients if client.group_id == group_id and refusal_of(client) is not None]
    present = None if server is None else _present(server, group_id, notes)
    seen = _Seen(group_id, records, statements, refused, is_whole, removed_by_clients(found))
    history = _history(seen, server)
    if history.last_seq < 0 and present is None:
        remarks = "; ".join(notes)
        raise NothingSeen(f"nothing tells of group {group_id}{': ' if remarks else ''}{remarks}")
    last_ms = max((statement.place.time_ms for statement in statements), default=0)
    until_ms = wall_clock_ms() if server is not None else max(last_ms, history.last_ms or 0)
    return ObservedGroup(history, until_ms, present, notes, _unknown(bool(records), bool(logs.paths), server))


def _records(server: Bootstrap, group_id: str, notes: list[str], progress: Progress | None) -> Records:
    """The records of the group; without the right to read them they are noted as missing."""

    def report(done: int, whole: int) -> None:
        if progress is not None:
            progress(RECORDS, done, whole)

    try:
        reading = read_offsets_partition(server, group_id, progress=report)
        with reading:
            found = list(reading)
    except CannotObserve as problem:
        notes.append(str(problem))
        return []
    notes += list(reading.notes)
    return found


def _statements(
    group_id: str, records: Records, logs: LogOptions, notes: list[str], progress: Progress | None
) -> tuple[list[Statement], bool]:
    """What the logs state in order of time, and whether that is all that they state."""
    if not logs.paths:
        return [], True

    def report(done: int, whole: int) -> None:
        if progress is not None:
            progress(LOGS, done, whole)

    read = read_broker_logs(
        logs.paths, groups=frozenset({group_id}), log_format=logs.log_format, zone=logs.zone, progress=report
    )
    notes += [note for note in read.notes if not note.startswith(ZONE_NOTE)]
    by_records = aligned(records, read.statements)
    of_group = any(isinstance(statement, OfGroup) and statement.group_id == group_id for statement in read.statements)
    if of_group and read.zone_is_assumed and logs.zone is None and not by_records.shifts_ms:
        notes.append("the times of the log have no zone; they are read in that of this machine (see --log-zone)")
    found = list(credible(records, by_records.statements))
    left_out = len(by_records.statements) - len(found)
    if left_out:
        notes.append(f"{left_out:,} lines may be forged or cut, and no record confirms them: they are left out")
    return sorted(found, key=lambda statement: statement.place.time_ms), not left_out


def _clients(
    group_id: str, statements: Sequence[Statement], logs: LogOptions, notes: list[str], progress: Progress | None
) -> list[ClientStatement]:
    if not logs.client_paths:
        return []

    def report(done: int, whole: int) -> None:
        if progress is not None:
            progress(LOGS, done, whole)

    read = read_client_logs(
        logs.client_paths, groups=frozenset({group_id}), log_format=logs.log_format, zone=logs.zone, progress=report
    )
    notes += read.notes
    return aligned_clients(read.statements, statements)


def _present(server: Bootstrap, group_id: str, notes: list[str]) -> PresentGroup | None:
    try:
        return poll_group(server, group_id)
    except NoSuchGroup:
        return None
    except NoRight as problem:
        notes.append(str(problem))
        return None


class _Seen(msgspec.Struct, frozen=True):
    group_id: str
    records: Records
    statements: Sequence[Statement]
    refused: Sequence[ClientStatement]
    """Lines of clients that were refused."""
    is_whole: bool
    explained: Mapping[str, Removed]

    def history(self, name_of: TopicNames = str) -> ObservedHistory:
        lines: list[Logged] = sorted([*self.statements, *self.refused], key=lambda statement: statement.place.time_ms)
        events = observed_events(
            self.group_id, self.records, lines, name_of, is_whole=self.is_whole, explained=self.explained
        )
        return ObservedHistory.of_observed(self.group_id, events)


def _history(seen: _Seen, server: Bootstrap | None) -> ObservedHistory:
    if server is None:
        history = seen.history()
    else:
        with TopicIds(server) as names:
            history = seen.history(names)
    note_statements(history, seen.statements)
    return history


def note_statements(history: ObservedHistory, statements: Iterable[Statement]) -> None:
    """What lines tell that no event has a field for."""
    lines = list(statements)
    history.reasons_are_seen = any(map(logs_reason, lines))
    late = (line for line in lines if isinstance(line, said.ConsumerLate) and line.missing == "rejoin")
    history.late_to_rejoin = frozenset(consumer_late.member_id for consumer_late in late)


def logs_reason(statement: Statement) -> bool:
    """Whether the broker logs what clients give as a reason (from 3.2 on)."""
    is_one = isinstance(statement, (said.RebalancePrepared, said.MemberLeft))
    return is_one and getattr(statement, "client_reason", None) is not None


def _unknown(has_records: bool, has_logs: bool, server: Bootstrap | None) -> str:
    if has_records and has_logs:
        return ""
    if has_records:
        return (
            "Records alone do not tell why a member went, when a rebalance began, or what clients gave as a reason: the"
            " brokers' logs do (--broker-log PATH)."
        )
    if has_logs and server is None:
        return (
            "Logs alone do not tell who owns which partitions, what moved, or where a member runs: the records of the"
            " cluster do (--bootstrap HOST:PORT)."
        )
    if has_logs:
        return "Without the records of the group it is not known who owned which partitions, and what moved."
    return (
        "The present is all that is known: the brokers' logs (--broker-log PATH), and the right to read the topic"
        " __consumer_offsets, tell what happened."
    )
