"""Who leads which partition: as evenly as possible, with as few moves as possible.

A partition moves in two steps, as with Kafka's cooperative assignors (KIP-429): its node is first asked to give it up,
and joins again when it has; only then another one gets it. So no two nodes are told to lead it at a time.
"""

from collections.abc import Mapping

from coordinator.cluster.nodes.messages import Assignment, Claim


def share_out(claims: Mapping[str, Claim], partition_count: int) -> dict[str, Assignment]:
    """Member id → its assignment. Of several nodes with the same id, the one that started first counts."""
    counted = _without_duplicates(claims)
    owners: dict[int, list[str]] = {}
    for member_id, claim in counted.items():
        for partition in claim.leads:
            if 0 <= partition < partition_count:
                owners.setdefault(partition, []).append(member_id)
    for member_id, claim in claims.items():
        if member_id not in counted:
            for partition in claim.leads:
                owners.setdefault(partition, []).append(member_id)
    kept = _kept(counted, owners, partition_count)
    free = [partition for partition in range(partition_count) if partition not in owners]
    for member_id, room in _room(kept, partition_count).items():
        kept[member_id] += free[:room]
        del free[:room]
    nodes = tuple(claim.node for claim in counted.values())
    leaders = {
        partition: counted[member_id].node.node_id for member_id, partitions in kept.items() for partition in partitions
    }
    return {
        member_id: Assignment(leads=tuple(sorted(kept.get(member_id, ()))), nodes=nodes, leaders=leaders)
        for member_id in claims
    }


def _without_duplicates(claims: Mapping[str, Claim]) -> dict[str, Claim]:
    """The claims by node id, one of each."""
    first: dict[int, str] = {}
    for member_id, claim in sorted(claims.items(), key=lambda node: (node[1].started_ms, node[0])):
        first.setdefault(claim.node.node_id, member_id)
    return {first[node_id]: claims[first[node_id]] for node_id in sorted(first)}


def _quotas(kept: Mapping[str, list[int]], partition_count: int) -> dict[str, int]:
    """How many partitions each may have; those that have most now get the odd ones."""
    if not kept:
        return {}
    least, odd = divmod(partition_count, len(kept))
    most_first = sorted(kept, key=lambda member_id: -len(kept[member_id]))
    return {member_id: least + (position < odd) for position, member_id in enumerate(most_first)}


def _kept(claims: Mapping[str, Claim], owners: Mapping[int, list[str]], partition_count: int) -> dict[str, list[int]]:
    """What each goes on leading: what it alone leads, up to its quota."""
    alone: dict[str, list[int]] = {member_id: [] for member_id in claims}
    for partition, member_ids in sorted(owners.items()):
        if len(member_ids) == 1 and member_ids[0] in alone:
            alone[member_ids[0]].append(partition)
    quotas = _quotas(alone, partition_count)
    return {member_id: partitions[: quotas[member_id]] for member_id, partitions in alone.items()}


def _room(kept: Mapping[str, list[int]], partition_count: int) -> dict[str, int]:
    quotas = _quotas(kept, partition_count)
    return {member_id: quotas[member_id] - len(partitions) for member_id, partitions in kept.items()}
