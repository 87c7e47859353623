"""Attacks with many requests or connections: peers that do not read, half frames, state without end."""

import struct
from collections.abc import Callable, Iterator
from typing import Final

from _wire.messages.init_producer_id import InitProducerIdRequest
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from _wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from _wire.records import build_batch
from _wire.structs import Message
from coordinator.client.wire import ClientError
from tests.hostile.attack import REQUESTS_MEMORY_MAX, UNSENT_MEMORY_MAX, Attack
from tests.hostile.target import MIB, CountingClient, Target
from tests.waiting import wait_for
from tests.wire_client import fetch_request, join_request

PIPELINED: Final = 500
TEXT: Final = "m" * 4_000
"""Metadata of a committed offset, nearly as long as `offset.metadata.max.bytes` allows."""
COMMITTED_AT_ONCE: Final = 200
FEW_OPEN_FILES: Final = 256
IDLE_CLIENTS: Final = 10
IDLE_MS: Final = 2_000
SOON_IDLE: Final = {"connections.max.idle.ms": str(IDLE_MS)}
KEPT_AFTERWARDS: Final = 64 * MIB
"""What may be left of what idle connections held."""


def _fill(target: Target, topic: str, size_bytes: int) -> None:
    with target.client() as client:
        client.create_topic(topic)
        batch = build_batch([(None, bytes(1_000_000), [])], timestamp_ms=1)
        for _ in range(size_bytes // 1_000_000):
            client.produce(topic, batch)


def _parked_fetches(target: Target, scale: float) -> Iterator[None]:
    """Each append looks at all fetches that wait for more than there is."""
    _fill(target, "parked", int(50_000_000 * scale))
    yield
    clients = [target.client() for _ in range(int(100 * scale))]
    request = fetch_request("parked", max_wait_ms=30_000, min_bytes=(1 << 31) - 1, max_bytes=(1 << 31) - 1)
    for client in clients:
        client.send(request, 11)
    batch = build_batch([(None, b"x", [])], timestamp_ms=1)
    with target.client() as client:
        for _ in range(10):
            client.produce("parked", batch)
    for client in clients:
        client.socket.close()


def _unread_fetches(target: Target, scale: float) -> Iterator[None]:
    _fill(target, "unread", int(50_000_000 * scale))
    yield
    clients = [target.client() for _ in range(10)]
    for client in clients:
        for _ in range(20):
            client.send(fetch_request("unread", max_bytes=(1 << 31) - 1), 11)
    with target.client() as client:
        client.request(fetch_request("unread", max_bytes=1), 11)
    for client in clients:
        client.socket.close()


def _commit_texts(target: Target, group_id: str, size_bytes: int) -> None:
    """Commit offsets with so many bytes of metadata, in a topic of the same name."""
    count = size_bytes // len(TEXT)
    partitions = [
        OffsetCommitRequestPartition(partition_index=index, committed_metadata=TEXT) for index in range(count)
    ]
    with target.client() as client:
        client.create_topic(group_id, count)
        for start in range(0, count, COMMITTED_AT_ONCE):
            topic = OffsetCommitRequestTopic(name=group_id, partitions=partitions[start : start + COMMITTED_AT_ONCE])
            client.request(OffsetCommitRequest(group_id=group_id, topics=[topic]), 8)


def _unread_offset_fetches(target: Target, scale: float) -> Iterator[None]:
    """Each response is as large as all that the group has."""
    _commit_texts(target, "texts", int(40_000_000 * scale))
    yield
    clients = [target.client() for _ in range(40)]
    for client in clients:
        client.send(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="texts", topics=None)]), 8)
    with target.client() as client:  # has its turn after them
        client.request(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="texts", topics=None)]), 8)
    for client in clients:
        client.socket.close()


def _idle_with(target: Target, ask: Callable[[CountingClient], object], request: Message, version: int) -> None:
    """Ten clients ask, and read nothing. Soon they are closed, and what they made the server keep is given back."""
    before = target.open_sockets()
    clients = [target.client() for _ in range(IDLE_CLIENTS)]
    for client in clients:
        ask(client)
    with target.client() as client:  # has its turn after them
        client.request(request, version)
    wait_for(lambda: target.open_sockets() <= before, 3 * IDLE_MS // 1000, "the connections to be closed")
    wait_for(lambda: target.memory_bytes() < KEPT_AFTERWARDS, 5, "their memory to be given back")


def _idle_with_fetches(target: Target, scale: float) -> Iterator[None]:
    _fill(target, "unread", int(50_000_000 * scale))
    yield
    request = fetch_request("unread", max_bytes=(1 << 31) - 1)
    _idle_with(target, lambda client: client.send(request, 11), fetch_request("unread", max_bytes=1), 11)


def _idle_with_offsets(target: Target, scale: float) -> Iterator[None]:
    _commit_texts(target, "texts", int(40_000_000 * scale))
    yield
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="texts", topics=None)])
    _idle_with(target, lambda client: client.send(request, 8), request, 8)


def _half_frames(target: Target, scale: float) -> Iterator[None]:
    """Each connection announces a request of 100 MiB and sends most of it."""
    yield
    part = bytes(MIB)
    sockets = [target.connect() for _ in range(10)]
    for socket in sockets:
        try:
            socket.sendall(struct.pack(">i", 100 * MIB))
            for _ in range(int(99 * scale)):
                socket.sendall(part)
                target.sent_bytes += len(part)
        except OSError:
            continue
    for socket in sockets:
        socket.close()


def _many_member_ids(target: Target, scale: float) -> Iterator[None]:
    """JoinGroup without a member id reserves one, in a group that is made for it."""
    yield
    _pipeline(target, (join_request(f"reserved-{number}") for number in range(int(100_000 * scale))), 9)


def _many_long_member_ids(target: Target, scale: float) -> Iterator[None]:
    """The member id begins with the client id, which may have 32 KiB."""
    yield
    requests = (join_request(f"long-{number}") for number in range(int(2_000 * scale)))
    _pipeline(target, requests, 9, client_id="c" * 32_000)


def _long_requests(target: Target, scale: float) -> Iterator[None]:
    """Each connection has a request that takes seconds; the victim's long requests are of the same address."""
    wanted = [OffsetForLeaderPartition(partition=index) for index in range(int(190_000 * scale))]
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic="victim", partitions=wanted)])
    yield
    clients = [target.client() for _ in range(10)]
    sent = [client.send(request, 4) for client in clients]
    for client, each in zip(clients, sent, strict=True):
        client.receive(each)
        client.socket.close()


def _many_member_ids_of_one_group(target: Target, scale: float) -> Iterator[None]:
    yield
    _pipeline(target, (join_request("reserved") for _ in range(int(100_000 * scale))), 9)


def _many_groups(target: Target, scale: float) -> Iterator[None]:
    """Each connection makes groups of one and goes away."""
    yield
    _pipeline(
        target,
        (
            join_request(f"group-{number}", instance_id="one", timeout_ms=60_000)
            for number in range(int(20_000 * scale))
        ),
        5,
        clients=100,
    )


def _many_producer_ids(target: Target, scale: float) -> Iterator[None]:
    yield
    _pipeline(target, (InitProducerIdRequest(transaction_timeout_ms=1_000) for _ in range(int(100_000 * scale))), 4)


def _pipeline(
    target: Target, requests: Iterator[object], version: int, clients: int = 4, client_id: str = "attacker"
) -> None:
    connections = [target.client(client_id) for _ in range(clients)]
    waiting: list[tuple[object, object]] = []
    try:
        for number, request in enumerate(requests):
            client = connections[number % clients]
            waiting.append((client, client.send(request, version)))  # type: ignore[arg-type]
            if len(waiting) >= PIPELINED:
                for each, sent in waiting:
                    each.receive(sent)  # type: ignore[attr-defined]
                waiting.clear()
        for each, sent in waiting:
            each.receive(sent)  # type: ignore[attr-defined]
    except ClientError:
        return
    finally:
        for client in connections:
            client.socket.close()


def _bad_connections(target: Target, scale: float) -> Iterator[None]:
    """What is no request of Kafka: each leaves a line in the log."""
    yield
    for _ in range(int(5_000 * scale)):
        each = target.connect()
        each.sendall(b"\x7f\xff\xff\xffGET / HTTP/1.1\r\n\r\n")
        target.sent_bytes += 22
        each.close()


def _idle_connections(target: Target, scale: float) -> Iterator[None]:
    """More connections than the server may have open files. None of them ever says anything."""
    with target.client() as client:
        client.create_topic("before-the-flood")
        before = target.open_files()
        yield
        flood = [target.connect() for _ in range(int(1_000 * scale))]
        accepted = min(before + len(flood), FEW_OPEN_FILES // 2 * 9 // 10)
        wait_for(lambda: target.open_files() >= accepted, 10, "the flood")
        for number in range(20):
            client.create_topic(f"during-the-flood-{number}")
            client.produce(f"during-the-flood-{number}", build_batch([(None, b"x", [])], timestamp_ms=1))
        for each in flood:
            each.close()
        files_of_topics = 4 * 20
        wait_for(lambda: target.open_files() <= before + files_of_topics, 30, "the descriptors to come back")
    with target.client() as late:
        late.create_topic("after-the-flood")


ATTACKS: Final = (
    Attack("100 fetches parked over 50 MB, 10 records appended", _parked_fetches),
    Attack("10 connections that fetch 20 times 50 MB and read nothing", _unread_fetches),
    Attack(
        "40 connections that ask for 40 MB of a group's offsets and read nothing",
        _unread_offset_fetches,
        memory_max=UNSENT_MEMORY_MAX,
    ),
    Attack("10 idle connections that asked for 50 MB of records", _idle_with_fetches, settings=SOON_IDLE),
    Attack(
        "10 idle connections that asked for 40 MB of offsets",
        _idle_with_offsets,
        settings=SOON_IDLE,
        memory_max=UNSENT_MEMORY_MAX,
    ),
    Attack("10 requests of 100 MiB that never end", _half_frames, memory_max=REQUESTS_MEMORY_MAX),
    Attack("100,000 member ids reserved, each in a new group", _many_member_ids),
    Attack("2,000 member ids of a client id of 32,000 characters", _many_long_member_ids),
    Attack("100,000 member ids reserved in one group", _many_member_ids_of_one_group),
    Attack("10 connections with OffsetForLeaderEpoch of 190,000 partitions", _long_requests),
    Attack("20,000 groups of one static member", _many_groups),
    Attack("100,000 producer ids", _many_producer_ids),
    Attack("5,000 connections that do not speak Kafka", _bad_connections),
    Attack("1,000 idle connections, 256 open files", _idle_connections, FEW_OPEN_FILES),
)
