"""What the server is asked while its instructions are counted: requests one after the other, and groups that change."""

import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from typing import Final

from _wire.errors import ErrorCode
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from _wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from _wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from _wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from _wire.records import build_batch
from tests.bench.coordinator.consumer_changes import ChangingGroup
from tests.bench.instructions.counting import START_SECONDS, CountedServer, repeat
from tests.bench.instructions.reader import Reader
from tests.bench.instructions.share_records import RecordsOfShareGroup
from tests.bench.instructions.storms import LONG_SESSION_MS, StormedGroup
from tests.streams_members import StreamsMember
from tests.waiting import wait_for
from tests.wire_client import BEFORE_MEMBER_ID_REQUIRED, WireClient, join_request, produce_request

PARTITIONS: Final = 10
GROUP, REJOINED_GROUP, STORMED_GROUP, TOPIC = "group", "rejoined-group", "stormed-group", "topic"
CONSUMER_GROUP, SHARE_GROUP, RECORDS_GROUP = "consumers", "share-consumers", "share-records-consumers"
STREAMS_GROUP = "streams-instances"
CONSUMER_MEMBER_ID: Final = "U3Vpk1sCTd-kRLk1BCpuGw"

STORM_MEMBERS: Final = 100
STORM: Final = f"storm: {STORM_MEMBERS} members join and sync, per member"

CHANGING_CONNECTIONS: Final = 50
CHANGING_PARTITIONS: Final = 1_000
CHANGING_TOPIC: Final = "changing-topic"
JOINED_MEMBERS: Final = 300
REPLACED_MEMBERS: Final = 100
REPLACED_ROUNDS: Final = 2
CHANGING_SECONDS: Final = 600
CHANGING_GROUPS = WARMED_UP, JOINED, REPLACED = "warmed-up", "joined", "replaced"
JOINS: Final = f"{JOINED_MEMBERS} members join a consumer group at once, per member"
REPLACES: Final = f"one of {REPLACED_MEMBERS} members leaves a consumer group and another joins, per member"

Requests = Mapping[str, Callable[[], object]]


def requests_of(client: WireClient) -> Requests:
    """What is asked → how it is asked once."""
    client.create_topic(TOPIC, PARTITIONS)
    member_id = _joined(client)
    partitions = [OffsetCommitRequestPartition(partition_index=each, committed_offset=5) for each in range(PARTITIONS)]
    commit = OffsetCommitRequest(
        group_id=GROUP,
        generation_id_or_member_epoch=1,
        member_id=member_id,
        topics=[OffsetCommitRequestTopic(name=TOPIC, partitions=partitions)],
    )
    fetch_offsets = OffsetFetchRequest(
        group_id=GROUP, topics=[OffsetFetchRequestTopic(name=TOPIC, partition_indexes=list(range(PARTITIONS)))]
    )
    metadata = MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)])
    find_coordinator = FindCoordinatorRequest(coordinator_keys=[GROUP])
    rejoining = itertools.count(2)
    rejoined_id = client.join_alone(REJOINED_GROUP, session_timeout_ms=LONG_SESSION_MS)
    new_groups = (f"new-group-{number}" for number in itertools.count())
    batch = build_batch([(None, bytes(100), ())], timestamp_ms=round(time.time() * 1000))
    return {
        "Heartbeat": lambda: client.heartbeat_error(GROUP, member_id),
        **_consumer_requests(client),
        "OffsetCommit of 10 partitions": lambda: client.request(commit, 8),
        "OffsetFetch of 10 partitions": lambda: client.request(fetch_offsets, 7),
        "Produce of one record": lambda: client.request(produce_request(TOPIC, batch), 9),
        "Fetch of 2 KB that goes on where one ended": Reader(client).fetch,
        "Metadata of one topic": lambda: client.request(metadata, 12),
        "FindCoordinator": lambda: client.request(find_coordinator, 4),
        "connect, ApiVersions, close": partial(_connect, client.bootstrap),
        "JoinGroup and SyncGroup of a rebalance": lambda: _rebalance(client, rejoined_id, next(rejoining)),
        "JoinGroup and SyncGroup of a new group": lambda: client.join_alone(
            next(new_groups), session_timeout_ms=LONG_SESSION_MS
        ),
    }


def storm_of(server: CountedServer, stack: ExitStack) -> Callable[[], float]:
    """Count a storm, per member."""
    clients = [stack.enter_context(WireClient(server.bootstrap)) for _ in range(STORM_MEMBERS)]
    for client in clients:
        client.socket.settimeout(CHANGING_SECONDS)
    group = StormedGroup(STORMED_GROUP, clients)
    for _ in range(2):
        group.rebalance()
    return lambda: server.count(group.rebalance) / STORM_MEMBERS


def changes_of_consumers(server: CountedServer, only: str) -> Iterator[tuple[str, float]]:
    """What happens, and the instructions for it per member, on a server without other groups.

    `only`: what has this in its name.
    """
    with ExitStack() as stack:
        clients = [stack.enter_context(WireClient(server.bootstrap)) for _ in range(CHANGING_CONNECTIONS)]
        for client in clients:
            client.socket.settimeout(CHANGING_SECONDS)
        for group_id in CHANGING_GROUPS:
            wait_for(partial(_is_loaded, clients[0], group_id), START_SECONDS, "the consumer groups")
        clients[0].create_topic(CHANGING_TOPIC, CHANGING_PARTITIONS)
        new_group = partial(ChangingGroup, topic=CHANGING_TOPIC, partition_count=CHANGING_PARTITIONS, clients=clients)
        if only in JOINS:
            for group_id, members in ((WARMED_UP, CHANGING_CONNECTIONS), (JOINED, JOINED_MEMBERS)):
                group = new_group(group_id)
                group.add_members(members)
                count = server.count(group.join_at_once)
                group.leave()
            yield JOINS, count / JOINED_MEMBERS
        if only in REPLACES:
            group = new_group(REPLACED)
            group.set_assignment_interval(0)
            group.add_members(REPLACED_MEMBERS)
            group.become_stable()
            group.replace()
            count = server.count(lambda: repeat(group.replace, REPLACED_ROUNDS))
            yield REPLACES, count / REPLACED_MEMBERS / REPLACED_ROUNDS


def _connect(bootstrap: str) -> None:
    with WireClient(bootstrap) as client:
        client.request(ApiVersionsRequest(client_software_name="bench", client_software_version="1.0"), 4)


def _rebalance(client: WireClient, member_id: str, generation_id: int) -> None:
    """The only member of a group joins it again."""
    request = join_request(REJOINED_GROUP, member_id, timeout_ms=LONG_SESSION_MS)
    joined = client.request(request, BEFORE_MEMBER_ID_REQUIRED)
    assert joined.generation_id == generation_id, joined
    assignment = SyncGroupRequestAssignment(member_id=member_id, assignment=b"all")
    sync = SyncGroupRequest(
        group_id=REJOINED_GROUP, generation_id=generation_id, member_id=member_id, assignments=[assignment]
    )
    synced = client.request(sync, 3)
    assert synced.error_code == 0, synced


def _is_loaded(client: WireClient, group_id: str) -> bool:
    """Whether a request of a group that does not exist is answered."""
    unknown = ConsumerGroupHeartbeatRequest(group_id=group_id, member_id=CONSUMER_MEMBER_ID, member_epoch=1)
    code: int = client.request(unknown, 1).error_code
    return code == ErrorCode.GROUP_ID_NOT_FOUND


def _consumer_requests(client: WireClient) -> Requests:
    """Those of the new group protocol, if the server has it."""
    apis = {api_key.api_key for api_key in client.request(ApiVersionsRequest(), 0).api_keys}
    if ConsumerGroupHeartbeatRequest.API_KEY not in apis:
        return {}
    heartbeat = _steady_consumer(client)
    found: Requests = {"ConsumerGroupHeartbeat": lambda: client.request(heartbeat, 1)}
    if ShareGroupHeartbeatRequest.API_KEY in apis:
        share_heartbeat = _steady_share_member(client)
        records = RecordsOfShareGroup(client, RECORDS_GROUP, CONSUMER_MEMBER_ID)
        found = {
            **found,
            "ShareGroupHeartbeat": lambda: client.request(share_heartbeat, 1),
            "ShareFetch of 100 records that accepts 100": records.fetch,
            "ShareAcknowledge and ShareFetch of 100 records": records.acknowledge_and_fetch,
        }
    if StreamsGroupHeartbeatRequest.API_KEY in apis:
        streams_heartbeat = _steady_streams_member(client)
        found = {**found, "StreamsGroupHeartbeat": lambda: client.request(streams_heartbeat, 0)}
    return found


def _steady_consumer(client: WireClient) -> ConsumerGroupHeartbeatRequest:
    """The heartbeat of the only member of a consumer group, which has all that it is to have."""
    joining = ConsumerGroupHeartbeatRequest(
        group_id=CONSUMER_GROUP,
        member_id=CONSUMER_MEMBER_ID,
        rebalance_timeout_ms=LONG_SESSION_MS,
        subscribed_topic_names=[TOPIC],
        topic_partitions=[],
    )

    def epoch() -> int:
        found: int = client.request(joining, 1).member_epoch
        return found

    member_epoch = wait_for(epoch, START_SECONDS, "the consumer group")
    return ConsumerGroupHeartbeatRequest(
        group_id=CONSUMER_GROUP, member_id=CONSUMER_MEMBER_ID, member_epoch=member_epoch
    )


def _steady_share_member(client: WireClient) -> ShareGroupHeartbeatRequest:
    """The heartbeat of the only member of a share group, which has all partitions of the topic."""
    steady = ShareGroupHeartbeatRequest(group_id=SHARE_GROUP, member_id=CONSUMER_MEMBER_ID)
    joining = ShareGroupHeartbeatRequest(
        group_id=SHARE_GROUP, member_id=CONSUMER_MEMBER_ID, subscribed_topic_names=[TOPIC]
    )

    def has_all() -> bool:
        answer = client.request(joining, 1)
        assigned = answer.assignment.topic_partitions if answer.assignment else []
        steady.member_epoch = answer.member_epoch
        return sum(len(topic.partitions) for topic in assigned) == PARTITIONS

    wait_for(has_all, START_SECONDS, "the share group")
    return steady


def _steady_streams_member(client: WireClient) -> StreamsGroupHeartbeatRequest:
    """The heartbeat of the only member of a streams group, which has all tasks."""
    member = StreamsMember(client, STREAMS_GROUP, CONSUMER_MEMBER_ID)
    member.join([TOPIC], timeout_ms=LONG_SESSION_MS)

    def has_all() -> bool:
        member.beat()
        return member.status == [] and member.task_count() == PARTITIONS

    wait_for(has_all, START_SECONDS, "the streams group")
    return member.steady_request()


def _joined(client: WireClient) -> str:
    """The member id of the only member, once the group is loaded."""

    def join() -> str:
        with suppress(AssertionError):
            return client.join_alone(GROUP, session_timeout_ms=LONG_SESSION_MS)
        return ""

    return wait_for(join, START_SECONDS, "the group")
