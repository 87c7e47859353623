"""What nodes tell each other in their group: JSON in the metadata and the assignments of the classic protocol."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

PROTOCOL_TYPE: Final = "group-coordinator"
PROTOCOL: Final = "partitions"
Int32 = Annotated[int, Meta(ge=0, le=(1 << 30) - 1)]
Int64 = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
Port = Annotated[int, Meta(ge=1, le=65_535)]
Partitions = Annotated[tuple[Int32, ...], Meta(max_length=100_000)]
Seal = Annotated[str, Meta(pattern="^[0-9a-f]{0,64}$")]
"""An HMAC (`seals.py`), empty where the nodes share no secret."""


class NodeAddress(msgspec.Struct, frozen=True, kw_only=True):
    """A node, and where clients reach it."""

    node_id: Int32
    host: Annotated[str, Meta(min_length=1, max_length=1_000)]
    port: Port
    broker_port_base: Port
    """The port for a broker is this plus the id of the broker."""

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """What a node says of itself when it joins."""

    node: NodeAddress
    leads: Partitions
    """The partitions that it leads at that time."""
    started_ms: Int64
    seal: Seal = ""


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """What a node leads from now on, and what is known of all nodes."""

    leads: Partitions
    nodes: tuple[NodeAddress, ...]
    leaders: dict[Int32, Int32]
    """Partition → id of the node that leads it."""
    seal: Seal = ""


encode = msgspec.json.Encoder().encode
decode_claim = msgspec.json.Decoder(Claim).decode
decode_assignment = msgspec.json.Decoder(Assignment).decode
