"""How a group gets an assignor that stops or moves less, as far as all its clients have one."""

from collections.abc import Iterable
from typing import Final

from coordinator.audit.schema import MemberRef
from coordinator.explain.clients import COOPERATIVE_ALONE, MIX_PROTOCOLS, STICKY, all_are

EAGER_ASSIGNORS: Final = frozenset({"range", "roundrobin", "sticky"})
"""Kafka's assignors whose members give up all partitions before they join (KIP-429); sticky at least moves few."""

_KEEPS: Final = "use cooperative-sticky, with which members go on consuming what they keep (KIP-429)"


def cooperative(members: Iterable[MemberRef], protocol_name: str) -> str:
    """How the members come to a cooperative assignor; empty if not all of their clients are known to have one."""
    found = list(members)
    if all_are(found, MIX_PROTOCOLS):
        return (
            f"{_KEEPS}, in two rolling restarts: the first with partition.assignment.strategy = cooperative-sticky,"
            f" {protocol_name}, the second, when all members have both, with cooperative-sticky alone"
        )
    if all_are(found, COOPERATIVE_ALONE):
        return (
            f"{_KEEPS}; these clients do not start with both, so stop all members, then start them with"
            " partition.assignment.strategy = cooperative-sticky"
        )
    return ""


def sticky(members: Iterable[MemberRef], protocol_name: str) -> str:
    """How the members come to an assignor that moves no more than it has to; empty as in `cooperative`."""
    found = list(members)
    if all_are(found, STICKY) and not all_are(found, MIX_PROTOCOLS):
        return (
            "use sticky, which moves no more than it has to, in two rolling restarts: the first with"
            f" partition.assignment.strategy = sticky, {protocol_name}, the second with sticky alone"
        )
    return cooperative(found, protocol_name)
