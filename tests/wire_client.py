"""A client of nothing but our messages on one blocking socket: what is sent, and when, is up to the test."""

import ssl
from collections.abc import Mapping
from typing import Any, Final

from _wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from _wire.messages.delete_topics import DeleteTopicsRequest
from _wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from _wire.messages.heartbeat import HeartbeatRequest
from _wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from _wire.messages.produce import PartitionProduceData, PartitionProduceResponse, ProduceRequest, TopicProduceData
from _wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from coordinator.client.bootstrap import Server
from coordinator.client.wire import ConnectionClosed, WireConnection

__all__ = ["ConnectionClosed", "WireClient", "fetch_request", "join_request", "produce_request"]

BEFORE_MEMBER_ID_REQUIRED: Final = 3


class WireClient(WireConnection):
    """A connection, and what many tests say on it."""

    def __init__(self, bootstrap: Server, client_id: str = "test", *, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(bootstrap, client_id)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_hostname=self.bootstrap.rpartition(":")[0])

    def is_closed_by_peer(self) -> bool:
        """Wait until the server closes; false when it sends something instead."""
        try:
            return not self.socket.recv(1)
        except ConnectionResetError:
            return True

    def create_topic(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> bytes:
        """Make a topic; its id."""
        own = [CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()]
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, configs=own)
        (result,) = self.request(CreateTopicsRequest(topics=[topic], timeout_ms=5000), 7).topics
        assert result.error_code == 0, result
        topic_id: bytes = result.topic_id
        return topic_id

    def delete_topic(self, name: str) -> None:
        request = DeleteTopicsRequest(topic_names=[name], timeout_ms=30_000)
        (result,) = self.request(request, 5).responses
        assert result.error_code == 0, result

    def produce(self, topic: str, records: bytes | None, *, partition: int = 0, acks: int = -1) -> Any:
        """The answer for the one partition."""
        request = produce_request(topic, records, partition=partition, acks=acks)
        response: PartitionProduceResponse = self.request(request, 9).responses[0].partition_responses[0]
        return response

    def join_alone(self, group_id: str, *, instance_id: str | None = None, session_timeout_ms: int = 30_000) -> str:
        """Be the one member of a Stable group; the member id. The generation is 1."""
        version = BEFORE_MEMBER_ID_REQUIRED if instance_id is None else 5
        joined = self.request(join_request(group_id, instance_id=instance_id, timeout_ms=session_timeout_ms), version)
        assert joined.error_code == 0, joined
        assignment = SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"all")
        synced = self.request(
            SyncGroupRequest(
                group_id=group_id,
                generation_id=joined.generation_id,
                member_id=joined.member_id,
                group_instance_id=instance_id,
                assignments=[assignment],
            ),
            3,
        )
        assert (joined.generation_id, synced.error_code) == (1, 0)
        member_id: str = joined.member_id
        return member_id

    def heartbeat_error(self, group_id: str, member_id: str, generation_id: int = 1, version: int = 3) -> int:
        request = HeartbeatRequest(group_id=group_id, generation_id=generation_id, member_id=member_id)
        error_code: int = self.request(request, version).error_code
        return error_code


def join_request(
    group_id: str,
    member_id: str = "",
    *,
    instance_id: str | None = None,
    timeout_ms: int = 30_000,
    metadata: bytes = b"",
) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=timeout_ms,
        rebalance_timeout_ms=timeout_ms,
        member_id=member_id,
        group_instance_id=instance_id,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
    )


def produce_request(
    topic: str, records: bytes | None, *, partition: int = 0, acks: int = -1, topic_id: bytes = bytes(16)
) -> ProduceRequest:
    data = PartitionProduceData(index=partition, records=records)
    topic_data = TopicProduceData(name=topic, topic_id=topic_id, partition_data=[data])
    return ProduceRequest(acks=acks, timeout_ms=5000, topic_data=[topic_data])


def fetch_request(
    topic: str,
    offset: int = 0,
    *,
    topic_id: bytes = bytes(16),
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1 << 20,
    partition: int = 0,
) -> FetchRequest:
    wanted = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=max_bytes)
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        topics=[FetchTopic(topic=topic, topic_id=topic_id, partitions=[wanted])],
    )
