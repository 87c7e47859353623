"""What nodes tell each other in their group: JSON in the metadata and the assignments of the classic protocol."""

from typing import Final

import msgspec

PROTOCOL_TYPE: Final = "group-coordinator"
PROTOCOL: Final = "partitions"


class NodeAddress(msgspec.Struct, frozen=True, kw_only=True):
    """A node, and where clients reach it."""

    node_id: int
    host: str
    port: int
    broker_port_base: int
    """The port for a broker is this plus the id of the broker."""


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """What a node says of itself when it joins."""

    node: NodeAddress
    leads: tuple[int, ...]
    """The partitions that it leads at that time."""
    started_ms: int


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """What a node leads from now on, and what is known of all nodes."""

    leads: tuple[int, ...]
    nodes: tuple[NodeAddress, ...]
    leaders: dict[int, int]
    """Partition → id of the node that leads it."""


encode = msgspec.json.Encoder().encode
decode_claim = msgspec.json.Decoder(Claim).decode
decode_assignment = msgspec.json.Decoder(Assignment).decode
