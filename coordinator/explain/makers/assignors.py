"""How a group gets an assignor that stops or moves less, as far as all its clients have one."""

from collections.abc import Iterable

from coordinator.audit.schema import MemberRef
from coordinator.explain.claims.advice import AssignorChange
from coordinator.explain.clients import COOPERATIVE_ALONE, MIX_PROTOCOLS, STICKY, all_are


def cooperative(members: Iterable[MemberRef], protocol_name: str) -> AssignorChange | None:
    """How the members come to a cooperative assignor; None if not all of their clients are known to have one."""
    found = list(members)
    if all_are(found, MIX_PROTOCOLS):
        return AssignorChange("cooperative-sticky", protocol_name, is_rolling=True)
    if all_are(found, COOPERATIVE_ALONE):
        return AssignorChange("cooperative-sticky", protocol_name, is_rolling=False)
    return None


def sticky(members: Iterable[MemberRef], protocol_name: str) -> AssignorChange | None:
    """How the members come to an assignor that moves no more than it has to; None as in `cooperative`."""
    found = list(members)
    if all_are(found, STICKY) and not all_are(found, MIX_PROTOCOLS):
        return AssignorChange("sticky", protocol_name, is_rolling=True)
    return cooperative(found, protocol_name)
