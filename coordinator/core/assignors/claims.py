"""The partitions that members claim to own, with conflicting claims resolved.

Counterpart in Kafka: `AbstractStickyAssignor`, which checks ownership in the same way.
"""

from collections.abc import Iterable, Mapping

import msgspec

from coordinator.core.assignors.model import MemberSubscription, Partition, Topic


class Claims(msgspec.Struct):
    """`owner` maps each existing partition to the member that claims it in the latest generation.

    `contested` has the partitions that two members claim in the same generation; both claims are ignored. `former` maps
    a partition that was also claimed in an earlier generation to the last member that did so.
    """

    owner: dict[Partition, str] = msgspec.field(default_factory=dict)
    contested: set[Partition] = msgspec.field(default_factory=set)
    former: dict[Partition, str] = msgspec.field(default_factory=dict)


def resolve_claims(members: Iterable[MemberSubscription], topics: Mapping[str, Topic]) -> Claims:
    """Let the latest generation win, because a member that missed a rebalance still claims its old partitions."""
    claims = Claims()
    generations: dict[Partition, int] = {}
    for member in sorted(members, key=lambda member: member.generation_id):
        for name, numbers in member.owned_partitions.items():
            count = topics[name].partition_count if name in topics else 0
            for number in set(numbers):
                if number >= count or number < 0:
                    continue
                partition = (name, number)
                if partition not in generations:
                    claims.owner[partition] = member.member_id
                elif generations[partition] == member.generation_id:
                    claims.owner.pop(partition, None)
                    claims.contested.add(partition)
                else:
                    _supersede(claims, partition, member.member_id)
                generations[partition] = member.generation_id
    return claims


def _supersede(claims: Claims, partition: Partition, member_id: str) -> None:
    if partition in claims.contested:
        claims.contested.remove(partition)
    else:
        claims.former[partition] = claims.owner[partition]
    claims.owner[partition] = member_id
