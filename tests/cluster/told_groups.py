"""Whether nodes that watch tell of the groups that a cluster has, and of no others."""

from typing import Final

from _wire.messages.list_groups import ListGroupsRequest
from coordinator.client.wire import WireConnection
from tests.cluster.rounds.audit import AuditCheck
from tests.cluster.rounds.described import DescribedMembers
from tests.waiting import wait_for

SECONDS: Final = 30
OF_NODES: Final = "__group_"
WITH_CONSUMERS: Final = frozenset({"classic", "consumer"})
"""Kinds whose members `describe_consumer_groups` has."""


def problems_of(nodes: str, broker: str) -> list[str]:
    """What the audit of the nodes tells otherwise than the broker does, once it has told all."""
    audit = AuditCheck(nodes)

    def found() -> list[str]:
        return [*audit.read(), *audit.problems, *_other_groups(audit, broker)]

    try:
        wait_for(lambda: not found(), SECONDS, "the audit to tell all groups", every_ms=500)
    except AssertionError:
        return found() or ["the audit told all groups too late"]
    return []


def _other_groups(audit: AuditCheck, broker: str) -> list[str]:
    with WireConnection(broker, "told groups") as connection:
        listed = connection.send_latest(ListGroupsRequest()).groups
    # A group that was made by commits alone has no record of its own: there is nothing that could be told.
    there = {
        group.group_id: group.group_type.lower()
        for group in listed
        if group.protocol_type and not group.group_id.startswith(OF_NODES)
    }
    told = audit.present
    found = [f"{group_id} is not told" for group_id in sorted(there.keys() - told)]
    found += [f"{group_id} is told, and is not there" for group_id in sorted(told - there.keys())]
    with_consumers = [group_id for group_id, kind in there.items() if kind in WITH_CONSUMERS]
    return found + DescribedMembers(broker, with_consumers).differ_from(audit.members)
