"""`coordinator log import-kafka` and `export-kafka`: the same logs, served by the other one."""

import time
from collections.abc import Mapping
from pathlib import Path

import click

from coordinator.broker.topic_config_key import InvalidTopicConfig
from coordinator.broker.topic_configs import validate
from coordinator.cli.error_lines import ErrorLines
from coordinator.log.errors import LogError
from coordinator.logger import lines_of_this_thread_to
from coordinator.metadata.kafka_folder import export_kafka, import_kafka
from coordinator.metadata.kafka_records import KafkaMetadataError
from coordinator.metadata.store import MetadataError
from coordinator.printable import printable

FOLDERS = click.argument(
    "folders", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, file_okay=False)
)


@click.command("import-kafka")
@FOLDERS
def import_command(folders: tuple[Path, ...]) -> None:
    """Make the data folders of an Apache Kafka of one node (all its log.dirs) ones that this server serves.

    The logs stay as they are. Topics with their ids and configs, quotas and producer ids are taken over from Kafka's
    metadata, which is set aside as __cluster_metadata-0.*-stray. Kafka must be stopped.
    """
    try:
        with lines_of_this_thread_to(ErrorLines()):
            imported = import_kafka(folders, accept_configs, time.time_ns() // 1_000_000)
    except (LogError, KafkaMetadataError, OSError) as problem:
        raise click.ClickException(printable(str(problem))) from problem
    for each in imported.left_out:
        click.echo(f"left out a config that this server does not have: {printable(each)}", err=True)
    click.echo(
        f"imported {imported.topics} topics with {imported.partitions} partitions, {imported.quotas} quotas; serve them"
        f" with --data-dir {','.join(map(str, folders))}"
    )


@click.command("export-kafka")
@FOLDERS
def export_command(folders: tuple[Path, ...]) -> None:
    """Make the data folders of this server (all its log.dirs) ones that Apache Kafka 4.0 or newer serves.

    The logs stay as they are. Kafka gets topics with their ids and configs, quotas and producer ids as a snapshot of
    its metadata log; the one of this server is set aside as __cluster_metadata-0.*-stray. The server must be stopped.
    """
    try:
        with lines_of_this_thread_to(ErrorLines()):
            topics = export_kafka(folders, time.time_ns() // 1_000_000)
    except (LogError, MetadataError, KafkaMetadataError, OSError) as problem:
        raise click.ClickException(printable(str(problem))) from problem
    click.echo(f"exported {topics} topics; start Kafka with log.dirs={','.join(map(str, folders))}, it is formatted")


def accept_configs(topic: str, configs: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return the configs of a topic of Kafka that this server has, and the names of the others."""
    accepted: dict[str, str] = {}
    left_out = []
    for name, value in configs.items():
        try:
            accepted = validate(accepted | {name: value}, topic)
        except InvalidTopicConfig:
            left_out.append(name)
    return accepted, left_out
