"""`coordinator acls`: who may do what."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, Final

import click

from coordinator.cli.server_options import server_option
from coordinator.cli.terminal import TABLE, one_line_errors, output_option, print_records
from coordinator.client.acls import add_acls, list_acls, remove_acls
from coordinator.client.bootstrap import Bootstrap
from coordinator.security.acls.filters import ANY, MATCH, AclFilter
from coordinator.security.acls.model import (
    CLUSTER_NAME,
    WILDCARD,
    Acl,
    AclOperation,
    PatternType,
    PermissionType,
    ResourceType,
)

Resource = tuple[ResourceType, str]
CONSUMER: Final = {
    ResourceType.TOPIC: (AclOperation.READ, AclOperation.DESCRIBE),
    ResourceType.GROUP: (AclOperation.READ,),
}
PRODUCER: Final = {
    ResourceType.TOPIC: (AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.CREATE),
    ResourceType.TRANSACTIONAL_ID: (AclOperation.WRITE, AclOperation.DESCRIBE),
}
"""What kafka-acls gives with --consumer and --producer."""


def _word(name: str) -> str:
    return name.lower().replace("_", "-")


OPERATIONS: Final = {_word(acl_operation.name): acl_operation for acl_operation in AclOperation}
CLUSTER_OPTION: Final = "--cluster"
COLUMNS: Final = {
    "resource_type": "resource",
    "resource_name": "name",
    "pattern_type": "pattern",
    "principal": "principal",
    "permission": "permission",
    "operation": "operation",
    "host": "host",
}
"""Field → head of its column, so that a line fits 80 columns."""


def resource_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that name resources, for a command with the parameters of `_resources`."""
    for option in (
        click.option("--prefixed", is_flag=True, help="The names are prefixes of those of the resources."),
        click.option(CLUSTER_OPTION, is_flag=True, help="The cluster itself."),
        click.option("--transactional-id", "transactional_ids", metavar="ID", multiple=True, help="Repeatable."),
        click.option("--group", "groups", metavar="GROUP", multiple=True, help="Repeatable; '*' is every group."),
        click.option("--topic", "topics", metavar="TOPIC", multiple=True, help="Repeatable; '*' is every topic."),
    ):
        command = option(command)
    return command


@click.group
def command() -> None:
    """List, add and remove ACLs, as kafka-acls does."""


@command.command("list", short_help="Print ACLs.")
@resource_options
@click.option("--principal", metavar="TYPE:NAME", help="Only the ACLs of this principal, as User:alice.")
@server_option
@output_option
def list_command(
    topics: Sequence[str],
    groups: Sequence[str],
    transactional_ids: Sequence[str],
    cluster: bool,
    prefixed: bool,
    principal: str | None,
    bootstrap: Bootstrap,
    output: str,
) -> None:
    """Print ACLs: all of them, or those that hold for the named resources."""
    resources = _resources(topics, groups, transactional_ids, cluster)
    pattern = PatternType.PREFIXED if prefixed else MATCH
    filters = [_filter(resource, pattern, principal) for resource in resources] or [_filter(None, ANY, principal)]
    with one_line_errors():
        found = sorted({acl for filter_ in filters for acl in list_acls(bootstrap, filter_)})
    _print(found, output, "there are no such ACLs" if resources or principal else "there are no ACLs")


@command.command("add", short_help="Add ACLs.")
@resource_options
@click.option("--allow", "allowed", metavar="TYPE:NAME", multiple=True, help="Who may, as User:alice; repeatable.")
@click.option("--deny", "denied", metavar="TYPE:NAME", multiple=True, help="Who may not; repeatable.")
@click.option("--operation", "operations", type=click.Choice(list(OPERATIONS)), multiple=True, help="What; repeatable.")
@click.option("--consumer", is_flag=True, help="What a consumer needs: read the topics and the groups.")
@click.option(
    "--producer", is_flag=True, help="What a producer needs: write to the topics, with the transactional ids."
)
@click.option("--host", default=WILDCARD, show_default=True, metavar="ADDRESS", help="From which address alone.")
@server_option
def add_command(
    topics: Sequence[str],
    groups: Sequence[str],
    transactional_ids: Sequence[str],
    cluster: bool,
    prefixed: bool,
    allowed: Sequence[str],
    denied: Sequence[str],
    operations: Sequence[str],
    consumer: bool,
    producer: bool,
    host: str,
    bootstrap: Bootstrap,
) -> None:
    """Add ACLs: each of the principals may (or may not) do each of the operations on each of the resources."""
    resources = _resources(topics, groups, transactional_ids, cluster)
    who = [(principal, PermissionType.ALLOW) for principal in allowed] + [
        (principal, PermissionType.DENY) for principal in denied
    ]
    if not resources:
        raise click.ClickException("name a resource: --topic, --group, --transactional-id or --cluster")
    if not who:
        raise click.ClickException("say who: --allow TYPE:NAME or --deny TYPE:NAME, as --allow User:alice")
    needed = list(_needed(resources, [OPERATIONS[operation] for operation in operations], consumer, producer))
    if not needed:
        raise click.ClickException("say what: --operation, --consumer or --producer")
    pattern = PatternType.PREFIXED if prefixed else PatternType.LITERAL
    acls = [
        Acl(resource_type, name, pattern, principal, host, operation, permission)
        for ((resource_type, name), operation), (principal, permission) in product(needed, who)
    ]
    with one_line_errors():
        add_acls(bootstrap, acls)
    _print(sorted(acls))


@command.command("remove", short_help="Remove ACLs, and print them.")
@resource_options
@click.option("--principal", metavar="TYPE:NAME", help="Only the ACLs of this principal, as User:alice.")
@server_option
def remove_command(
    topics: Sequence[str],
    groups: Sequence[str],
    transactional_ids: Sequence[str],
    cluster: bool,
    prefixed: bool,
    principal: str | None,
    bootstrap: Bootstrap,
) -> None:
    """Remove the ACLs of the named resources, of a principal, or both, and print them."""
    resources = _resources(topics, groups, transactional_ids, cluster)
    if not resources and principal is None:
        raise click.ClickException("name a resource (--topic, --group, ...), a principal (--principal), or both")
    pattern = PatternType.PREFIXED if prefixed else PatternType.LITERAL
    filters = [_filter(resource, pattern, principal) for resource in resources] or [_filter(None, ANY, principal)]
    with one_line_errors():
        removed = remove_acls(bootstrap, filters)
    if not removed:
        raise click.ClickException("there are no such ACLs")
    _print(removed)


def _resources(
    topics: Sequence[str], groups: Sequence[str], transactional_ids: Sequence[str], cluster: bool
) -> list[Resource]:
    return [
        *((ResourceType.TOPIC, name) for name in topics),
        *((ResourceType.GROUP, name) for name in groups),
        *((ResourceType.TRANSACTIONAL_ID, name) for name in transactional_ids),
        *([(ResourceType.CLUSTER, CLUSTER_NAME)] if cluster else []),
    ]


def _needed(
    resources: Sequence[Resource], operations: Sequence[AclOperation], consumer: bool, producer: bool
) -> Iterator[tuple[Resource, AclOperation]]:
    """What is allowed on which resource, nothing twice."""
    found = dict.fromkeys(product(resources, operations))
    for is_granted, role in ((consumer, CONSUMER), (producer, PRODUCER)):
        if is_granted:
            found |= dict.fromkeys(
                (resource, operation) for resource in resources for operation in role.get(resource[0], ())
            )
    yield from found


def _filter(resource: Resource | None, pattern: int, principal: str | None) -> AclFilter:
    resource_type, name = (ANY, None) if resource is None else resource
    return AclFilter(resource_type, name, pattern, principal, None, ANY, ANY)


def _fields(acl: Acl) -> dict[str, str]:
    values = (
        _name(ResourceType, acl.resource_type),
        acl.resource_name,
        _name(PatternType, acl.pattern_type),
        acl.principal,
        _name(PermissionType, acl.permission_type),
        _name(AclOperation, acl.operation),
        acl.host,
    )
    return dict(zip(COLUMNS, values, strict=True))


def _name(kind: Any, number: int) -> str:
    return _word(kind(number).name) if number in set(kind) else str(number)


def _print(acls: Sequence[Acl], output: str = TABLE, empty: str = "") -> None:
    print_records([_fields(acl) for acl in acls], tuple(COLUMNS), output, empty, tuple(COLUMNS.values()))
