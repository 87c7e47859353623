"""What is sent through the relay: data, and what members of groups send again and again."""

from typing import Final, NamedTuple

from _wire.headers import encode_request, encode_response
from _wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from _wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from _wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from _wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse

MIB: Final = 1 << 20
GROUP: Final = "group-1"
MEMBER: Final = "consumer-1-6d0a5e8e-0b1f-4c7f-8f6a-0c8f3c1f7a11"
TOPIC: Final = "orders"
COMMITTED_PARTITIONS: Final = 10
IN_FLIGHT: Final = 5
"""Of a Java producer (max.in.flight.requests.per.connection)."""
SMALL_IN_FLIGHT: Final = 100
SIZES: Final = (16 << 10, 256 << 10, MIB, 16 * MIB)
CORRELATION_ID: Final = bytes(4)
EMPTY_RESPONSE: Final = CORRELATION_ID
FETCH: Final = bytes.fromhex("0001000c") + CORRELATION_ID + b"\xff\xff\x00"
PRODUCE: Final = bytes.fromhex("00000007") + CORRELATION_ID + b"\xff\xff" + b"\xff\xff" + b"\x00\x01"
PRODUCE_RESPONSE_V13: Final = encode_response(
    0, ProduceResponse(responses=[TopicProduceResponse(partition_responses=[PartitionProduceResponse()])]), 13
)[4:]
LIST_OFFSETS: Final = bytes.fromhex("00020007") + CORRELATION_ID + b"\xff\xff\x00"


class Load(NamedTuple):
    """`frames` requests and responses of this size, without their lengths."""

    name: str
    request: bytes
    response: bytes
    frames: int
    in_flight: int

    @property
    def mib(self) -> float:
        return self.frames * (len(self.request) + len(self.response)) / MIB


def loads_of_data(total_mib: int, frames_alone: int) -> list[Load]:
    found = []
    for size in SIZES:
        name = f"{size >> 10} KiB" if size < MIB else f"{size >> 20} MiB"
        frames = max(total_mib * MIB // size, 1)
        found.append(Load(f"Produce, {name}", PRODUCE + bytes(size - len(PRODUCE)), EMPTY_RESPONSE, frames, IN_FLIGHT))
        found.append(Load(f"Fetch, {name}", FETCH, CORRELATION_ID + bytes(size - 4), frames, IN_FLIGHT))
    alone = frames_alone // 10
    found.append(Load("Produce v13, 16 KiB, one at a time", produce_v13(16 << 10), PRODUCE_RESPONSE_V13, alone, 1))
    found.append(Load("Fetch, 16 KiB, one at a time", FETCH, CORRELATION_ID + bytes(16 << 10), alone, 1))
    found.append(Load("requests without content", LIST_OFFSETS, EMPTY_RESPONSE, frames_alone, SMALL_IN_FLIGHT))
    return found


def loads_of_groups(frames: int) -> list[Load]:
    """What members send again and again, and what all clients do beside it."""
    loads = [
        Load(name, request, response, frames, SMALL_IN_FLIGHT) for name, (request, response) in steady_frames().items()
    ]
    loads.append(Load("Fetch, 16 KiB", FETCH, CORRELATION_ID + bytes(16 << 10), frames, IN_FLIGHT))
    loads.append(Load("Produce, 16 KiB", PRODUCE + bytes(16 << 10), EMPTY_RESPONSE, frames, IN_FLIGHT))
    return loads


def steady_frames() -> dict[str, tuple[bytes, bytes]]:
    """Request and response of what a member of a watched group sends, without their lengths."""
    beat = HeartbeatRequest(group_id=GROUP, generation_id=7, member_id=MEMBER)
    epoch_beat = ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id=MEMBER, member_epoch=7)
    epoch_answer = ConsumerGroupHeartbeatResponse(member_id=MEMBER, member_epoch=7, heartbeat_interval_ms=5_000)
    share_beat = ShareGroupHeartbeatRequest(group_id=GROUP, member_id=MEMBER, member_epoch=7)
    share_answer = ShareGroupHeartbeatResponse(member_id=MEMBER, member_epoch=7, heartbeat_interval_ms=5_000)
    found = {
        "Heartbeat": (encode_request(0, "c", beat, 4), encode_response(0, HeartbeatResponse(), 4)),
        "ConsumerGroupHeartbeat": (encode_request(0, "c", epoch_beat, 1), encode_response(0, epoch_answer, 1)),
        "ShareGroupHeartbeat": (encode_request(0, "c", share_beat, 1), encode_response(0, share_answer, 1)),
        "OffsetCommit of 10 partitions": _commit(),
    }
    return {name: (request[4:], response[4:]) for name, (request, response) in found.items()}


def _commit() -> tuple[bytes, bytes]:
    asked = [
        OffsetCommitRequestPartition(partition_index=index, committed_offset=5) for index in range(COMMITTED_PARTITIONS)
    ]
    request = OffsetCommitRequest(
        group_id=GROUP,
        generation_id_or_member_epoch=7,
        member_id=MEMBER,
        topics=[OffsetCommitRequestTopic(name=TOPIC, partitions=asked)],
    )
    answered = [OffsetCommitResponsePartition(partition_index=index) for index in range(COMMITTED_PARTITIONS)]
    response = OffsetCommitResponse(topics=[OffsetCommitResponseTopic(name=TOPIC, partitions=answered)])
    return encode_request(0, "c", request, 9), encode_response(0, response, 9)


def produce_v13(size: int) -> bytes:
    """A request whose response is rewritten."""
    records = PartitionProduceData(records=bytes(size))
    request = ProduceRequest(acks=-1, topic_data=[TopicProduceData(partition_data=[records])])
    return encode_request(0, "client", request, 13)[4:]


def with_length(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body
