"""`coordinator pipeline`: run the Spark job, show its tables."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from coordinator.internal_topics import AUDIT_TOPIC, OFFSETS_TOPIC
from coordinator.pipeline.java import JavaMissing, require_java
from coordinator.pipeline.source_marker import AUDIT, SOURCES, OtherSource, claim

INTERRUPTED_EXIT_CODE: Final = 130


@click.group
def command() -> None:
    """Write the audit topic to Delta tables, with Spark."""


TABLES_OPTION = click.option(
    "--tables",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The directory of the Delta tables and their checkpoints.",
)


@command.command
@click.option("--bootstrap", required=True, metavar="HOST:PORT", help="The address of a server of the cluster.")
@TABLES_OPTION
@click.option(
    "--source",
    "kind",
    type=click.Choice(SOURCES),
    default=AUDIT,
    show_default=True,
    help="What to read: the audit topic, or the __consumer_offsets of any Kafka.",
)
@click.option("--topic", help=f"The topic, if it is not the source's own ({AUDIT_TOPIC} or {OFFSETS_TOPIC}).")
@click.option("--every-ms", type=click.IntRange(min=1), help="Run continuously at this interval; default: one pass.")
@click.option("--accept-data-loss", is_flag=True, help="Continue if unread records were deleted from the topic.")
def run(
    bootstrap: str, tables: Path, kind: str, topic: str | None, every_ms: int | None, accept_data_loss: bool
) -> None:
    """Bring the tables up to date with the topic."""
    from coordinator.pipeline.preflight import NotReady, require_topic, sole_job

    topic = topic or (AUDIT_TOPIC if kind == AUDIT else OFFSETS_TOPIC)
    try:
        require_java()
        require_topic(bootstrap, topic)
        with sole_job(tables):
            claim(tables, kind)
            is_complete = _run(bootstrap, tables, kind, topic, every_ms, accept_data_loss)
    except (NotReady, OtherSource, JavaMissing, ModuleNotFoundError) as problem:
        raise click.ClickException(str(problem)) from problem
    if not is_complete:
        click.echo("interrupted; the next run continues where this one stopped", err=True)
        sys.exit(INTERRUPTED_EXIT_CODE)
    click.echo(f"tables in {tables.absolute()}")


def _run(bootstrap: str, tables: Path, kind: str, topic: str, every_ms: int | None, accept_data_loss: bool) -> bool:
    """Run the job; return false if a signal ended it before all was read."""
    import signal
    import threading

    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        # An exception instead would interrupt a call into the JVM, after which no further call works.
        signal.signal(number, lambda *_: stop.set())
    from pyspark.errors import PySparkException

    from coordinator.client.wire import ClientError
    from coordinator.pipeline import job
    from coordinator.pipeline.bronze import AuditSource, ConsumerOffsetsSource
    from coordinator.pipeline.jvm import Interrupted, SparkStartFailed
    from coordinator.pipeline.session import spark_session
    from coordinator.pipeline.tables import Tables

    source_class = AuditSource if kind == AUDIT else ConsumerOffsetsSource
    source = source_class(bootstrap, topic, accept_data_loss)
    try:
        with spark_session(stop=stop) as spark:
            if every_ms is None:
                return job.run_available(spark, source, Tables(tables), stop)
            job.run_continuously(spark, source, Tables(tables), every_ms, stop)
            return True
    except Interrupted:
        return False
    except (SparkStartFailed, ClientError) as failed:
        raise click.ClickException(str(failed)) from failed
    except PySparkException as failed:
        raise click.ClickException(job.last_line(failed)) from failed


@command.command
@TABLES_OPTION
@click.option("--group", help="Only this group.")
@click.option("--findings", "what", flag_value="findings", help="What is wrong with the groups, instead.")
@click.option("--storms", "what", flag_value="storms", help="The times with too many rebalances, instead.")
def show(tables: Path, group: str | None, what: str | None) -> None:
    """Print the generations of each group, or of one."""
    try:
        from rich.console import Console

        from coordinator.pipeline import reader
        from coordinator.pipeline.show import print_findings, print_generations, print_storms, safe
    except ModuleNotFoundError as missing:
        raise click.ClickException(f"{missing}; install the extra `tables`") from missing
    whose = "" if group is None else f" of group {safe(group)}"
    readers: dict[str | None, tuple[Callable[..., Any], Callable[..., None]]] = {
        None: (reader.read_generations, print_generations),
        "findings": (reader.read_findings, print_findings),
        "storms": (reader.read_storms, print_storms),
    }
    read, print_them = readers[what]
    try:
        found = read(tables, group)
    except reader.NoTables as problem:
        raise click.ClickException(str(problem)) from problem
    if what is not None and not found:
        click.echo(f"no {what}{whose}")
    elif group is not None and not found:
        raise click.ClickException(f"the tables have no generation{whose}")
    else:
        print_them(Console(), found)
