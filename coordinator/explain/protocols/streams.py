"""The protocol of streams groups (KIP-1071): StreamsGroupHeartbeat."""

from typing import Final

import msgspec

from coordinator.explain.protocols.consumer import CONSUMER
from coordinator.explain.protocols.protocol import Protocol


def _cannot_share(offered: str) -> str:
    return f"the group is a streams group (KIP-1071), and a client that offers {offered} cannot be a member of it"


STREAMS: Final[Protocol] = msgspec.structs.replace(
    CONSUMER,
    name="streams",
    session_timeout="streams.session.timeout.ms of the group",
    cannot_share=_cannot_share,
)
