"""`coordinator pipeline`: run the Spark job, show its tables."""

import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from coordinator.cli.server_options import BOOTSTRAP_HELP, COMMAND_CONFIG_OPTION, with_security
from coordinator.client.bootstrap import Bootstrap
from coordinator.internal_topics import AUDIT_TOPIC, OFFSETS_TOPIC
from coordinator.pipeline.java import JavaMissing, require_java
from coordinator.pipeline.locations import InvalidLocation, Location, location
from coordinator.pipeline.source_marker import AUDIT, SOURCES, OtherSource

INTERRUPTED_EXIT_CODE: Final = 130


@click.group
def command() -> None:
    """Write the audit topic to Delta tables, with Spark."""


class _Location(click.ParamType[Location]):
    name = "PATH|URI"

    def convert(self, value: str, param: click.Parameter | None, context: click.Context | None) -> Location:
        try:
            found = location(value)
        except InvalidLocation as problem:
            self.fail(str(problem), param, context)
        if isinstance(found, Path) and found.exists() and not found.is_dir():
            self.fail(f"{value} is a file", param, context)
        return found


TABLES_OPTION = click.option(
    "--tables", required=True, type=_Location(), help="The folder of the Delta tables: a path, or hdfs://, s3a://, ..."
)


class _SparkSetting(click.ParamType[tuple[str, str]]):
    name = "NAME=VALUE"

    def convert(self, value: str, param: click.Parameter | None, context: click.Context | None) -> tuple[str, str]:
        name, is_there, setting = value.partition("=")
        if not is_there or not name.startswith("spark."):
            self.fail(f"{value} is not spark.NAME=VALUE", param, context)
        return name, setting


@command.command
@click.option("--bootstrap", required=True, metavar="HOST:PORT", help=BOOTSTRAP_HELP)
@COMMAND_CONFIG_OPTION
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
@click.option("--master", default="local[2]", show_default=True, help="Of Spark: local[*], spark://HOST:PORT, ...")
@click.option("--conf", multiple=True, type=_SparkSetting(), help="A setting of Spark. Can be repeated.")
@click.option(
    "--fold-on-executors",
    "folds_on_executors",
    is_flag=True,
    help="Make the rows on Spark's executors, whose Python must have this package; default: in the driver.",
)
@click.option(
    "--write-class-archive",
    "writes_archive",
    is_flag=True,
    help="At the end, write Spark's classes to an archive (170 MB in ~/.cache), with which later runs start faster.",
)
@with_security
def run(
    bootstrap: Bootstrap,
    tables: Location,
    kind: str,
    topic: str | None,
    every_ms: int | None,
    accept_data_loss: bool,
    master: str,
    conf: tuple[tuple[str, str], ...],
    folds_on_executors: bool,
    writes_archive: bool,
) -> None:
    """Bring the tables up to date with the topic.

    Started by spark-submit, it uses the session, the master and the settings of spark-submit.
    """
    from coordinator.pipeline.preflight import NotReady, require_topic

    topic = topic or (AUDIT_TOPIC if kind == AUDIT else OFFSETS_TOPIC)
    try:
        require_java()
        require_topic(bootstrap, topic)
        from coordinator.pipeline.bronze import AuditSource, ConsumerOffsetsSource
        from coordinator.pipeline.run import JobFailed, Settings, run_job

        source = (AuditSource if kind == AUDIT else ConsumerOffsetsSource)(bootstrap, topic, accept_data_loss)
        try:
            settings = Settings(master, dict(conf), every_ms, writes_archive, folds_on_executors)
            is_complete = run_job(source, tables, settings, _stopped_by_signals())
        except JobFailed as failed:
            raise click.ClickException(str(failed)) from failed
    except (NotReady, OtherSource, JavaMissing, ModuleNotFoundError) as problem:
        raise click.ClickException(str(problem)) from problem
    if not is_complete:
        click.echo("interrupted; the next run continues where this one stopped", err=True)
        sys.exit(INTERRUPTED_EXIT_CODE)
    click.echo(f"tables in {tables.absolute() if isinstance(tables, Path) else tables}")


def _stopped_by_signals() -> threading.Event:
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        # An exception instead would interrupt a call into the JVM, after which no further call works.
        signal.signal(number, lambda *_: stop.set())
    return stop


@command.command
@TABLES_OPTION
@click.option("--group", help="Only this group.")
@click.option("--findings", "what", flag_value="findings", help="What is wrong with the groups, instead.")
@click.option("--storms", "what", flag_value="storms", help="The times with too many rebalances, instead.")
def show(tables: Location, group: str | None, what: str | None) -> None:
    """Print the generations of each group; of one group, also what began each of them and what it cost."""
    try:
        from rich.console import Console

        from coordinator.pipeline import reader
        from coordinator.pipeline.show import print_findings, print_generations, print_storms, safe
    except ModuleNotFoundError as missing:
        raise click.ClickException(f"{missing}; install the extra `tables`") from missing
    whose = "" if group is None else f" of group {safe(group)}"
    readers: dict[str | None, tuple[Callable[..., Any], Callable[..., None]]] = {
        None: (reader.read_generations, partial(print_generations, explains=group is not None)),
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
