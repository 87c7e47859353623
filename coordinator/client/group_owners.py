"""Which groups the nodes in front of a cluster coordinate, as the nodes tell it, and changes of it."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import msgspec

from _wire.errors import ErrorCode
from _wire.messages.alter_group_owners import AlterGroupOwnersRequest, GroupOwnerChange
from _wire.messages.alter_watched_groups import AlterWatchedGroupsRequest, WatchChange
from _wire.messages.describe_group_owners import DescribeGroupOwnersRequest
from coordinator.client.bootstrap import Bootstrap
from coordinator.client.wire import ClientError, ConnectionClosed, WireConnection

CLIENT_ID: Final = "coordinator"
VERSION: Final = 0
TIMEOUT_SECONDS: Final = 60
PARTITIONS_SHOWN: Final = 10


class NodeState(NamedTuple):
    """A node, and what it leads and owns."""

    node_id: int
    address: str
    partitions: tuple[int, ...]
    unserved: tuple[int, ...]
    """Those of them that are being loaded, or have failed."""
    groups: tuple[str, ...]
    without_sentinel: tuple[str, ...]
    """Those of them whose sentinel is not known to be at the cluster."""
    watched_groups: int = 0
    """How many groups that stay with the cluster it tells of."""


class OwnerRule(NamedTuple):
    """Which groups the nodes coordinate."""

    name: str
    is_adopted: bool
    by: str
    at_ms: int


class WatchRule(NamedTuple):
    """Which groups that stay with the cluster the nodes watch. `at_ms` is 0 where a setting, `by`, says so."""

    name: str
    is_watched: bool
    by: str
    at_ms: int


class Ownership(msgspec.Struct, frozen=True):
    """All nodes together."""

    nodes: tuple[NodeState, ...]
    rules: tuple[OwnerRule, ...]
    unreachable: tuple[str, ...]
    """Nodes that do not answer, with the reason."""
    unchecked: tuple[str, ...] = ()
    """Nodes to which any client that may READ their group is a node."""
    watched: tuple[WatchRule, ...] = ()


class GroupChange(msgspec.Struct, frozen=True):
    """What a change comes to for one group."""

    group_id: str
    state: str
    members: tuple[str, ...]
    """Who is in it, so that it cannot be moved: at the cluster when it is adopted, at the nodes when it is released."""


class ChangeResult(msgspec.Struct, frozen=True):
    """What changes come to."""

    groups: tuple[GroupChange, ...]
    problems: tuple[str, ...]


class WatchedResult(msgspec.Struct, frozen=True):
    """What changes of what is watched come to."""

    groups: dict[str, bool]
    """Group at the cluster → whether the nodes coordinate it, and tell of it for that."""
    problems: tuple[str, ...]


def describe_ownership(bootstrap: Bootstrap) -> Ownership:
    """Ask all nodes.

    Raises:
        ClientError: the bootstrap address is not that of a node, or does not answer.
    """
    nodes: list[NodeState] = []
    rules: dict[str, OwnerRule] = {}
    unreachable: list[str] = []
    unchecked: list[str] = []
    watched: dict[str, WatchRule] = {}
    for address in _addresses(bootstrap):
        try:
            with _connected(bootstrap.at(address)) as connection:
                answer = connection.request(DescribeGroupOwnersRequest(include_groups=True), VERSION)
        except ClientError as problem:
            unreachable.append(f"{address}: {problem}")
            continue
        _check(answer)
        if not answer.checked_by:
            unchecked.append(address)
        rules |= {rule.name: OwnerRule(rule.name, rule.is_adopted, rule.by, rule.at_ms) for rule in answer.rules}
        watched |= {
            rule.name: WatchRule(rule.name, rule.is_watched, rule.by, rule.at_ms)
            for rule in answer.watched
            if rule.name not in watched or rule.at_ms > watched[rule.name].at_ms
        }
        nodes.append(
            NodeState(
                answer.node_id,
                address,
                tuple(sorted(partition.partition for partition in answer.partitions)),
                tuple(sorted(partition.partition for partition in answer.partitions if partition.state != "active")),
                tuple(sorted(group.group_id for group in answer.groups)),
                tuple(sorted(group.group_id for group in answer.groups if not group.has_sentinel)),
                answer.watched_groups,
            )
        )
    return Ownership(
        tuple(nodes),
        tuple(rules[name] for name in sorted(rules)),
        tuple(unreachable),
        tuple(unchecked),
        tuple(watched[name] for name in sorted(watched)),
    )


def change_owners(
    bootstrap: Bootstrap, names: Sequence[str], *, is_adopted: bool, validate_only: bool = False
) -> ChangeResult:
    """Have the nodes coordinate these groups or patterns from now on, or give them back to the cluster.

    It is done when each partition of the log that it is about has the rule. What is missing is one of the problems: a
    partition that no node leads at the time. The same change once more is harmless.

    Raises:
        ClientError: a node does not answer; other nodes may have made the change.
    """
    changes = [GroupOwnerChange(name=name, is_adopted=is_adopted) for name in names]
    request = AlterGroupOwnersRequest(changes=changes, validate_only=validate_only)
    groups: dict[str, GroupChange] = {}
    results, problems = _ask_all(bootstrap, request, names)
    for result in results:
        for group in result.groups:
            groups[group.group_id] = GroupChange(group.group_id, group.state, tuple(group.members))
    return ChangeResult(tuple(groups[group_id] for group_id in sorted(groups)), tuple(problems))


def change_watched(
    bootstrap: Bootstrap, names: Sequence[str], *, is_watched: bool, validate_only: bool = False
) -> WatchedResult:
    """Have the nodes watch these groups or patterns from now on, or watch them no more.

    It is done when each partition of the log has the rule; as with `change_owners`, the same change once more is
    harmless.

    Raises:
        ClientError: a node does not answer; other nodes may have made the change.
    """
    changes = [WatchChange(name=name, is_watched=is_watched) for name in names]
    request = AlterWatchedGroupsRequest(changes=changes, validate_only=validate_only)
    groups: dict[str, bool] = {}
    results, problems = _ask_all(bootstrap, request, names)
    for result in results:
        groups |= {group_id: group_id in result.owned for group_id in result.groups}
    return WatchedResult(dict(sorted(groups.items())), tuple(problems))


def _ask_all(
    bootstrap: Bootstrap, request: AlterGroupOwnersRequest | AlterWatchedGroupsRequest, names: Sequence[str]
) -> tuple[list[Any], list[str]]:
    """Ask all nodes for a change of rules; return what each says of each name, and what is wrong or not done."""
    results: list[Any] = []
    problems: list[str] = []
    failed: set[str] = set()
    needed: dict[str, set[int]] = {name: set() for name in names}
    done_partitions: dict[str, set[int]] = {name: set() for name in names}
    for address in _addresses(bootstrap):
        with _connected(bootstrap.at(address)) as connection:
            answer = connection.request(request, VERSION)
        _check(answer)
        results += answer.results
        for result in answer.results:
            needed[result.name].update(result.needed)
            done_partitions[result.name].update(result.taken)
            if result.error_code not in (ErrorCode.NONE, ErrorCode.NON_EMPTY_GROUP):
                reason = result.error_message or ErrorCode(result.error_code).name
                problems.append(f"{result.name}: {reason} ({address})")
                failed.add(result.name)
    if not request.validate_only:
        problems += [
            _missing(name, needed[name], done_partitions[name])
            for name in names
            if (not needed[name] and name not in failed) or needed[name] - done_partitions[name]
        ]
    return results, problems


def _missing(name: str, needed: set[int], done_partitions: set[int]) -> str:
    if not needed:
        return f"{name}: the nodes do not tell which partitions have the rule; they are of an older version"
    missing = sorted(needed - done_partitions)
    shown = ", ".join(map(str, missing[:PARTITIONS_SHOWN])) + (" …" if len(missing) > PARTITIONS_SHOWN else "")
    return (
        f"{name}: not done for {len(missing)} of {len(needed)} partitions of __group_membership, which no node leads"
        f" now: {shown}; try again when `coordinator cluster status` shows all of them"
    )


def _addresses(bootstrap: Bootstrap) -> Iterable[str]:
    """The addresses of all nodes, as one of them knows them."""
    problem = ClientError("no address is given")
    for server in bootstrap.servers():
        try:
            with _connected(server) as connection:
                answer = connection.request(DescribeGroupOwnersRequest(), VERSION)
            _check(answer)
            return [f"{node.host}:{node.port}" for node in answer.nodes]
        except ConnectionClosed:
            problem = ClientError(
                f"{server.address} is no node in front of a cluster: name the address of one (`coordinator serve"
                " --cluster`), not that of a broker"
            )
        except ClientError as failure:
            problem = failure
    raise problem


@contextmanager
def _connected(server: Bootstrap) -> Iterator[WireConnection]:
    with WireConnection(server, CLIENT_ID, TIMEOUT_SECONDS) as connection:
        yield connection


def _check(answer: Any) -> None:
    if answer.error_code != ErrorCode.NONE:
        raise ClientError(answer.error_message or f"the node answers {ErrorCode(answer.error_code).name}")
