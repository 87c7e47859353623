"""ConsumerGroupHeartbeat at the ports of a node, which serves groups of the classic protocol only (KIP-848).

The API is offered although it is refused: without it Java's client says at once what is wrong, and librdkafka waits for
ever without a word. The answer ends both with an error that tells their user what to change.
"""

from typing import Final

from _wire.errors import ErrorCode
from _wire.headers import encode_response
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse

CONSUMER_GROUP_HEARTBEAT: Final = ConsumerGroupHeartbeatRequest.API_KEY
REASON: Final = "Nodes in front of a Kafka serve groups of the classic protocol only: set group.protocol=classic."


def refusal() -> ConsumerGroupHeartbeatResponse:
    """The answer to each heartbeat."""
    return ConsumerGroupHeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, error_message=REASON)


def refused_heartbeat(correlation_id: int, version: int) -> bytes:
    """The frame of the answer, with its length."""
    return encode_response(correlation_id, refusal(), version)
