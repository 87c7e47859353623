"""Options and lines of the commands that read another Kafka: its logs, and what each sentence is based on."""

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta, timezone, tzinfo
from functools import wraps
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click
import msgspec

from coordinator.cli.terminal import Clock, paragraph
from coordinator.explain.claims.claim import Claim
from coordinator.explain.generation import Generation
from coordinator.explain.makers.generation import claims_of
from coordinator.explain.words import counted, plain
from coordinator.observe.history import ObservedHistory
from coordinator.observe.logs.unwrapping import FORMATS
from coordinator.observe.poll import PresentGroup
from coordinator.observe.sources import LOGS, LogOptions, Progress
from coordinator.observe.words import sources_of

BAR_AFTER_SECONDS: Final = 2.0
AUTO: Final = "auto"

Command = Callable[..., Any]


class Zone(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions of click only
    """A time zone: Europe/Berlin, UTC, +02:00."""

    name = "zone"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> tzinfo:
        if isinstance(value, tzinfo):
            return value
        offset = re.fullmatch(r"([+-])(\d\d):?(\d\d)", str(value))
        if offset is not None:
            apart = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
            if apart < timedelta(hours=24) and int(offset[3]) < 60:
                return timezone(-apart if offset[1] == "-" else apart)
        try:
            return ZoneInfo(str(value))
        except (ZoneInfoNotFoundError, ValueError, OSError):
            self.fail(f"{value!r} is not a time zone such as Europe/Berlin, UTC or +02:00", param, context)


LOG_OPTIONS: Final = (
    click.option(
        "--broker-log",
        "broker_logs",
        multiple=True,
        metavar="PATH",
        help="Logs of Kafka's brokers: a file, a folder, a pattern, or - for the standard input. May be repeated.",
    ),
    click.option(
        "--client-log",
        "client_logs",
        multiple=True,
        metavar="PATH",
        help="Logs of clients (Java, librdkafka, kafka-python, franz-go), which say why they left. May be repeated.",
    ),
    click.option(
        "--log-format",
        type=click.Choice(list(FORMATS)),
        default=AUTO,
        show_default=True,
        help="The format of the lines, where it is not recognised by itself.",
    ),
    click.option(
        "--log-zone",
        type=Zone(),
        metavar="ZONE",
        help="Of times without one, unless records tell it: Europe/Berlin, +02:00. By default that of this machine.",
    ),
)
"""Their parameters are those of `logs_of`."""


def logs_of(
    broker_logs: tuple[str, ...], client_logs: tuple[str, ...], log_format: str, log_zone: tzinfo | None
) -> LogOptions:
    """Raises ClickException."""
    if not (broker_logs or client_logs) and (log_zone is not None or log_format != AUTO):
        raise click.ClickException("--log-zone and --log-format say how to read logs: give these with --broker-log")
    return LogOptions(broker_logs, client_logs, log_format, log_zone)


def with_log_options(command: Command) -> Command:
    """The options of logs, for a command with the parameter `logs`, a LogOptions."""

    @wraps(command)
    def with_logs(
        *args: Any,
        broker_logs: tuple[str, ...],
        client_logs: tuple[str, ...],
        log_format: str,
        log_zone: tzinfo | None,
        **others: Any,
    ) -> Any:
        return command(*args, logs=logs_of(broker_logs, client_logs, log_format, log_zone), **others)

    found: Command = with_logs
    for option in reversed(LOG_OPTIONS):
        found = option(found)
    return found


@contextmanager
def bars() -> Iterator[Progress]:
    """Shows on a terminal how much is read, once that takes longer than BAR_AFTER_SECONDS."""
    begun, shown = time.monotonic(), False

    def report(what: str, done: int, whole: int) -> None:
        nonlocal shown
        if not sys.stderr.isatty() or time.monotonic() - begun < BAR_AFTER_SECONDS or not whole:
            return
        shown = True
        unit = f"{done / (1 << 20):,.0f} of {whole / (1 << 20):,.0f} MiB" if what == LOGS else f"{done:,} of {whole:,}"
        click.echo(f"\rreading {what}: {100 * done // whole} %, {unit}\x1b[K", err=True, nl=False)

    try:
        yield report
    finally:
        if shown:
            click.echo("\r\x1b[K", err=True, nl=False)


def present_lines(present: PresentGroup) -> Iterator[str]:
    """A group of which nothing but its present is known."""
    members = counted(len(present.members), "member") if present.is_described else "its members are not told"
    lag = "" if present.lag is None else f", lag {present.lag:,}"
    yield paragraph(f"group {plain(present.group_id)}: {present.state} now, {members}{lag}")
    yield ""
    yield "whether and why it rebalanced is not known"


def evidence_lines(history: ObservedHistory, generation: Generation, at: Clock) -> Iterator[str]:
    """How the cause of a generation is known."""
    certainty = sources_of(history, claims_of(history, generation).cause, at)
    if certainty:
        yield paragraph(certainty)


def evidence_of(history: ObservedHistory, generation: Generation) -> dict[str, Any]:
    """For JSON: cause and member of a generation, and of each statement where it was seen."""
    claims = claims_of(history, generation)
    cause = generation.cause or (generation.triggers[0].cause if generation.triggers else None)
    return {
        "generation_id": generation.generation_id,
        "cause": None if cause is None else str(cause),
        "member": msgspec.to_builtins(generation.member),
        "evidence": [_statement(history, claim) for claim in claims.all()],
    }


def _statement(history: ObservedHistory, claim: Claim) -> dict[str, Any]:
    return {
        "claim": msgspec.to_builtins(claim),
        "known": str(history.certainty_of(claim)),
        "places": msgspec.to_builtins(history.places_of(claim)),
    }
