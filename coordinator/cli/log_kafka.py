"""`coordinator log import-kafka` and `export-kafka`: the same logs, served by the other one."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import click

from coordinator.broker.configs.broker_configs import check_broker_configs
from coordinator.broker.configs.group_config_keys import GROUP_KEYS_BY_NAME
from coordinator.broker.configs.resource_config_key import InvalidResourceConfig
from coordinator.broker.configs.topic_configs import validate
from coordinator.broker.topics import TopicError
from coordinator.cli.error_lines import ErrorLines
from coordinator.config.server_keys import NODE_ID
from coordinator.config.settings import Config
from coordinator.kafka_folder.change import METADATA_FOLDER
from coordinator.kafka_folder.conversion import Acceptance, export_kafka, import_kafka
from coordinator.kafka_folder.records import KafkaMetadataError
from coordinator.log.data_dirs.meta_properties import META_PROPERTIES, parse_properties
from coordinator.log.errors import LogError
from coordinator.logger import lines_of_this_thread_to
from coordinator.metadata.store import MetadataError
from coordinator.printable import printable

FOLDERS = click.argument(
    "folders", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, file_okay=False)
)


@click.command("import-kafka")
@FOLDERS
def import_command(folders: tuple[Path, ...]) -> None:
    """Make the data folders of an Apache Kafka of one node (all its log.dirs) ones that this server serves.

    The logs stay as they are. Topics with their ids and configs, configs of groups, quotas, SCRAM credentials,
    ACLs, producer ids and the configs that were set for brokers while they ran are taken over from Kafka's metadata,
    which is set aside as __cluster_metadata-0.*-stray. Kafka's file of settings is not read. Kafka must be stopped.
    """
    try:
        with lines_of_this_thread_to(ErrorLines()):
            imported = import_kafka(folders, ACCEPTANCE, time.time_ns() // 1_000_000)
    except (LogError, KafkaMetadataError, OSError) as problem:
        raise click.ClickException(printable(str(problem))) from problem
    if imported.was_interrupted:
        click.echo(f"ended an import that was interrupted; {_how_to_serve(folders)}")
        return
    for sentence in imported.left_out:
        click.echo(f"left out a config that this server does not have: {printable(sentence)}", err=True)
    click.echo(
        f"imported {imported.topics} topics with {imported.partitions} partitions, {imported.quotas} quotas, "
        f"{imported.scram_credentials} SCRAM credentials, {imported.acls} ACLs;"
        f" {_how_to_serve(folders)}"
    )


@click.command("export-kafka")
@FOLDERS
def export_command(folders: tuple[Path, ...]) -> None:
    """Make the data folders of this server (all its log.dirs) ones that Apache Kafka 4.0 or newer serves.

    The logs stay as they are. Kafka gets topics with their ids and configs, configs of groups and brokers, quotas,
    SCRAM credentials, ACLs and producer ids as a snapshot of its metadata log; the one of this server is set aside as
    __cluster_metadata-0.*-stray. The server must be stopped.
    """
    try:
        with lines_of_this_thread_to(ErrorLines()):
            topics = export_kafka(folders, time.time_ns() // 1_000_000)
    except (LogError, MetadataError, KafkaMetadataError, OSError) as problem:
        raise click.ClickException(printable(str(problem))) from problem
    done = "ended an export that was interrupted" if topics is None else f"exported {topics} topics"
    first = _metadata_first(folders)
    click.echo(f"{done}; start Kafka with log.dirs={printable(','.join(map(str, first)))}, it is formatted")


def _how_to_serve(folders: Sequence[Path]) -> str:
    """The arguments of `serve`, with which it finds the metadata log and has the node id of the folders."""
    first = _metadata_first(folders)
    path = first[0] / META_PROPERTIES
    node_id = int(parse_properties(path, path.read_bytes())["node.id"])
    node = "" if node_id == NODE_ID.default else f" --set {NODE_ID.name}={node_id}"
    return f"serve them with --data-dir {printable(','.join(map(str, first)))}{node}"


def _metadata_first(folders: Sequence[Path]) -> list[Path]:
    """The folders in the order of log.dirs: the first one has the metadata log."""
    return sorted(folders, key=lambda folder: not (folder / METADATA_FOLDER).is_dir())


def accept_configs(topic: str, configs: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return the configs of a topic of Kafka that this server has, and the names of the others."""
    accepted: dict[str, str] = {}
    left_out = []
    for name, value in configs.items():
        try:
            accepted = validate(accepted | {name: value}, topic)
        except InvalidResourceConfig:
            left_out.append(name)
    return accepted, left_out


def accept_group_configs(group_id: str, configs: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return the configs of a group of Kafka that this server has, and the names of the others.

    A value out of the bounds of this server is kept: where it is used, the nearest one counts.
    """
    accepted = {}
    for name, value in configs.items():
        key = GROUP_KEYS_BY_NAME.get(name)
        try:
            if key is not None:
                key.parse(value)
                accepted[name] = value
        except InvalidResourceConfig:
            continue
    return accepted, [name for name in configs if name not in accepted]


def accept_broker_configs(node: str, configs: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return the configs of a broker of Kafka, or of all, that can be set here, and the names of the others."""
    accepted: dict[str, str] = {}
    for name, value in configs.items():
        try:
            check_broker_configs(node, accepted | {name: value}, {node: {name: value}}, Config(), node)
        except TopicError:
            continue
        accepted[name] = value
    return accepted, [name for name in configs if name not in accepted]


ACCEPTANCE: Final = Acceptance(accept_configs, accept_group_configs, accept_broker_configs)
