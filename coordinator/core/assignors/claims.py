"""Who owned what: what the members say of their partitions, with contradictions settled."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from coordinator.core.assignors.model import MemberSubscription, Partition, Topic


@dataclass(slots=True)
class Claims:
    """`owner` has the partitions that exist, each under the member that named it in the latest generation.

    `contested` are those that two members name in the same generation: neither can be believed. `former` has, of
    partitions that were named in an earlier generation too, the member that did so last.
    """

    owner: dict[Partition, str] = field(default_factory=dict)
    contested: set[Partition] = field(default_factory=set)
    former: dict[Partition, str] = field(default_factory=dict)


def settle_claims(members: Iterable[MemberSubscription], topics: Mapping[str, Topic]) -> Claims:
    """A member that missed a rebalance still names what others have since got: the later generation is right."""
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
