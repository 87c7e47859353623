"""The assignors by name. Members propose them by these names in JoinGroup."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, Protocol

import msgspec

from coordinator.core.assignors import cooperative_sticky, range, round_robin, sticky
from coordinator.core.assignors.model import Assignment, MemberSubscription, RebalanceProtocol, Topic


class Assign(Protocol):
    """Assigns partitions to members. The result depends on the arguments only, and not on their order."""

    def __call__(self, members: Sequence[MemberSubscription], topics: Mapping[str, Topic]) -> Assignment: ...


class Assignor(msgspec.Struct, frozen=True):
    """An assignor and its name in the protocol."""

    name: str
    rebalance_protocol: RebalanceProtocol
    assign: Assign


RANGE: Final = Assignor("range", RebalanceProtocol.EAGER, range.assign)
ROUND_ROBIN: Final = Assignor("roundrobin", RebalanceProtocol.EAGER, round_robin.assign)
STICKY: Final = Assignor("sticky", RebalanceProtocol.EAGER, sticky.assign)
COOPERATIVE_STICKY: Final = Assignor("cooperative-sticky", RebalanceProtocol.COOPERATIVE, cooperative_sticky.assign)

ASSIGNORS: Final[Mapping[str, Assignor]] = MappingProxyType(
    {assignor.name: assignor for assignor in (RANGE, ROUND_ROBIN, STICKY, COOPERATIVE_STICKY)}
)
