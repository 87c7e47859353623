"""`coordinator topics`: topics of a server, this one or Apache Kafka."""

from dataclasses import asdict

import click

from coordinator.cli.server_options import server_option
from coordinator.cli.terminal import JSON, TABLE, one_line_errors, output_option, print_json, print_records
from coordinator.client import topics
from coordinator.client.bootstrap import Bootstrap
from coordinator.explain.words import counted
from coordinator.printable import printable

PARTITION_COLUMNS = ("partition", "leader", "replicas", "in_sync", "log_start_offset", "log_end_offset")


@click.group
def command() -> None:
    """List, describe, create and delete topics."""


@command.command("list")
@server_option
@output_option
def list_command(bootstrap: Bootstrap, output: str) -> None:
    """Print all topics."""
    with one_line_errors():
        found = [asdict(topic) for topic in topics.list_topics(bootstrap)]
    print_records(found, ("name", "partitions", "replicas", "is_internal"), output, "there are no topics")


@command.command("describe")
@click.argument("name", metavar="TOPIC")
@server_option
@output_option
def describe_command(name: str, bootstrap: Bootstrap, output: str) -> None:
    """Print the configs that TOPIC has of its own, and its partitions."""
    with one_line_errors():
        topic = topics.describe_topic(bootstrap, name)
    if output == JSON:
        print_json(asdict(topic))
        return
    if output == TABLE:
        click.echo(f"topic {printable(name)}: id {topic.topic_id}, {counted(len(topic.partitions), 'partition')}")
        for key, value in sorted(topic.configs.items()):
            click.echo(f"  {printable(key)}={printable(value)}")
    records = [
        asdict(partition) | {"replicas": _ids(partition.replicas), "in_sync": _ids(partition.in_sync)}
        for partition in topic.partitions
    ]
    print_records(records, PARTITION_COLUMNS, output, "")


def _ids(nodes: list[int]) -> str:
    return " ".join(map(str, nodes)) or "-"


@command.command("create")
@click.argument("name", metavar="TOPIC")
@click.option("--partitions", metavar="N", type=click.IntRange(min=1), help="By default num.partitions of the server.")
@click.option("--replicas", metavar="N", type=click.IntRange(min=1), help="By default default.replication.factor.")
@click.option("--config", "configs", metavar="KEY=VALUE", multiple=True, help="A config of the topic; repeatable.")
@click.option("--validate-only", is_flag=True, help="Only check whether it could be created.")
@server_option
def create_command(
    name: str,
    partitions: int | None,
    replicas: int | None,
    configs: tuple[str, ...],
    validate_only: bool,
    bootstrap: Bootstrap,
) -> None:
    """Create TOPIC."""
    chosen = {}
    for config in configs:
        key, equals, value = config.partition("=")
        if not key or not equals:
            raise click.UsageError(f"--config {config} is not KEY=VALUE")
        chosen[key] = value
    with one_line_errors():
        topics.create_topic(
            bootstrap,
            name,
            topics.DEFAULT_COUNT if partitions is None else partitions,
            topics.DEFAULT_COUNT if replicas is None else replicas,
            configs=chosen,
            validate_only=validate_only,
        )
    click.echo(f"{'could create' if validate_only else 'created'} topic {printable(name)}")


@command.command("delete")
@click.argument("names", metavar="TOPIC...", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask.")
@server_option
def delete_command(names: tuple[str, ...], yes: bool, bootstrap: Bootstrap) -> None:
    """Delete topics with all their records, and what groups have committed in them."""
    listed = ", ".join(map(printable, names))
    if not yes and not click.confirm(f"delete {listed}, with all records?"):
        click.echo("nothing is deleted")
        return
    with one_line_errors():
        topics.delete_topics(bootstrap, list(dict.fromkeys(names)))
    click.echo(f"deleted {listed}")
