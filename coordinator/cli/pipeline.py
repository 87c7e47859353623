"""`coordinator pipeline`: run the Spark job, show its tables."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from coordinator.internal_topics import AUDIT_TOPIC
from coordinator.pipeline.java import JavaMissing, require_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
@click.option("--topic", default=AUDIT_TOPIC, show_default=True, help="The audit topic.")
@click.option("--every-ms", type=click.IntRange(min=1), help="Run continuously at this interval; default: one pass.")
@click.option("--accept-data-loss", is_flag=True, help="Continue if unread records were deleted from the topic.")
def run(bootstrap: str, tables: Path, topic: str, every_ms: int | None, accept_data_loss: bool) -> None:
    """Bring the tables up to date with the audit topic."""
    with _session() as spark:
        from coordinator.pipeline import job
        from coordinator.pipeline.bronze import AuditSource
        from coordinator.pipeline.tables import Tables

        source = AuditSource(bootstrap, topic, accept_data_loss)
        if every_ms is None:
            job.run_available(spark, source, Tables(tables))
        else:
            stop = threading.Event()
            for number in (signal.SIGINT, signal.SIGTERM):
                # An exception instead would interrupt a call into the JVM, after which no further call works.
                signal.signal(number, lambda *_: stop.set())
            job.run_continuously(spark, source, Tables(tables), every_ms, stop)
    click.echo(f"tables in {tables.absolute()}")


@command.command
@TABLES_OPTION
@click.option("--group", help="Only this group.")
def show(tables: Path, group: str | None) -> None:
    """Print the generations of each group, or of one."""
    with _session() as spark:
        from rich.console import Console

        from coordinator.pipeline.show import print_generations, read_generations
        from coordinator.pipeline.tables import Tables

        print_generations(Console(), read_generations(spark, Tables(tables), group))


@contextmanager
def _session() -> Iterator["SparkSession"]:
    """A Spark session for one command. An error of Spark ends the program with one line and exit code 1."""
    try:
        require_java()  # before pyspark is imported, which takes a while
        from pyspark.errors import PySparkException

        from coordinator.pipeline.job import last_line
        from coordinator.pipeline.session import SparkStartFailed, spark_session
    except (JavaMissing, ModuleNotFoundError) as missing:
        raise click.ClickException(str(missing)) from missing
    try:
        with spark_session() as spark:
            yield spark
    except SparkStartFailed as failed:
        raise click.ClickException(str(failed)) from failed
    except PySparkException as failed:
        raise click.ClickException(last_line(failed)) from failed
