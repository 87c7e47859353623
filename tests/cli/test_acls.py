"""`coordinator acls`, as an operator calls it."""

import json
from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result

from coordinator.cli import main
from coordinator.config.authorizer_keys import STANDARD_AUTHORIZER
from tests.servers import RunningServer

SETTINGS = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:ANONYMOUS"}
HEAD = "resource  name"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with RunningServer(tmp_path_factory.mktemp("acls"), SETTINGS) as running:
        yield running


@pytest.fixture(autouse=True)
def without_acls(server: RunningServer) -> Iterator[None]:
    yield
    for principal in ("User:alice", "User:bob"):
        acls(server, "remove", "--principal", principal)


def acls(server: RunningServer, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["acls", *arguments, "--bootstrap", server.bootstrap])


def listed(server: RunningServer, *arguments: str) -> set[tuple[str, ...]]:
    found = acls(server, "list", "--json", *arguments)
    assert found.exit_code == 0, found.output
    return {tuple(load.values()) for load in json.loads(found.output)}


def test_at_first_there_are_none(server):
    assert acls(server, "list").output == "there are no ACLs\n"
    assert acls(server, "list", "--output", "csv").output == (
        "resource_type,resource_name,pattern_type,principal,permission,operation,host\n"
    )


def test_what_a_consumer_needs(server):
    added = acls(server, "add", "--allow", "User:alice", "--consumer", "--topic", "orders", "--group", "billing")
    assert added.exit_code == 0
    assert added.output.startswith(HEAD)
    assert listed(server) == {
        ("topic", "orders", "literal", "User:alice", "allow", "read", "*"),
        ("topic", "orders", "literal", "User:alice", "allow", "describe", "*"),
        ("group", "billing", "literal", "User:alice", "allow", "read", "*"),
    }


def test_what_a_producer_needs_with_transactions(server):
    acls(server, "add", "--allow", "User:alice", "--producer", "--topic", "orders", "--transactional-id", "copy")
    assert {(kind, operation) for kind, _, _, _, _, operation, _ in listed(server)} == {
        ("topic", "write"),
        ("topic", "describe"),
        ("topic", "create"),
        ("transactional-id", "write"),
        ("transactional-id", "describe"),
    }


def test_prefixes_hosts_and_denials(server):
    acls(
        server,
        *("add", "--deny", "User:bob", "--operation", "write", "--topic", "ord", "--prefixed", "--host", "10.0.0.1"),
    )
    denied = ("topic", "ord", "prefixed", "User:bob", "deny", "write", "10.0.0.1")
    assert listed(server) == {denied}
    assert listed(server, "--topic", "orders") == {denied}, "it holds for the topic"
    assert listed(server, "--topic", "bills") == set()
    assert listed(server, "--principal", "User:alice") == set()


def test_several_principals_operations_and_resources(server):
    arguments = ["add", "--cluster", "--group", "*"]
    for principal in ("User:alice", "User:bob"):
        arguments += ["--allow", principal]
    for operation in ("describe", "describe-configs"):
        arguments += ["--operation", operation]
    assert acls(server, *arguments).exit_code == 0
    assert len(listed(server)) == 8
    assert acls(server, *arguments).exit_code == 0, "it is there already"
    assert len(listed(server)) == 8


def test_removed_acls_are_printed(server):
    acls(server, "add", "--allow", "User:alice", "--operation", "read", "--topic", "orders", "--topic", "bills")
    removed = acls(server, "remove", "--topic", "orders", "--principal", "User:alice")
    assert removed.exit_code == 0
    assert "orders" in removed.output
    assert "bills" not in removed.output
    assert {name for _, name, *_ in listed(server)} == {"bills"}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["add", "--allow", "User:a", "--operation", "read"], "name a resource: --topic, --group"),
        (["add", "--topic", "t", "--operation", "read"], "say who: --allow TYPE:NAME"),
        (["add", "--topic", "t", "--allow", "User:a"], "say what: --operation, --consumer or --producer"),
        (["add", "--group", "g", "--allow", "User:a", "--producer"], "say what"),
        (["add", "--topic", "t", "--allow", "alice", "--operation", "read"], "Could not parse principal from `alice`"),
        (["remove"], "name a resource (--topic, --group, ...), a principal (--principal), or both"),
        (["remove", "--principal", "User:nobody"], "there are no such ACLs"),
    ],
)
def test_a_wrong_use_is_told_in_one_line(server, arguments: list[str], problem: str):
    found = acls(server, *arguments)
    assert found.exit_code == 1
    assert problem in found.output
    assert found.output.count("\n") == 1


def test_a_server_without_an_authorizer_says_so(tmp_path):
    with RunningServer(tmp_path) as plain:
        found = acls(plain, "list")
    assert found.exit_code == 1
    assert "SECURITY_DISABLED, No Authorizer is configured on the broker" in found.output
