"""The rows of all protocols."""

from typing import Final

from coordinator.explain.protocols.classic import CLASSIC
from coordinator.explain.protocols.consumer import CONSUMER
from coordinator.explain.protocols.protocol import Protocol
from coordinator.explain.protocols.share import SHARE
from coordinator.explain.protocols.streams import STREAMS

PROTOCOLS: Final[dict[str, Protocol]] = {protocol.name: protocol for protocol in (CLASSIC, CONSUMER, SHARE, STREAMS)}
"""Type of group → its protocol. Each protocol has one line here."""


def protocol_of(group_type: str) -> Protocol:
    """The protocol of a type of group; that of an unknown type is the classic one."""
    return PROTOCOLS.get(group_type, CLASSIC)


def protocol_of_claim(is_epoch: bool) -> Protocol:
    """By whose words a claim is told that says of its group only whether it is one of KIP-848."""
    return CONSUMER if is_epoch else CLASSIC
