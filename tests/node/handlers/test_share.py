"""ShareFetch and ShareAcknowledge, as members of share groups send them."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from time import monotonic
from typing import Any, Final

import pytest

from _wire.errors import ErrorCode
from _wire.messages import alter_share_group_offsets
from _wire.messages.create_acls import AclCreation, CreateAclsRequest
from _wire.messages.delete_topics import DeleteTopicsRequest
from _wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from _wire.messages.share_acknowledge import AcknowledgementBatch as AcknowledgedBatch
from _wire.messages.share_acknowledge import (
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from _wire.messages.share_fetch import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    ForgottenTopic,
    ShareFetchRequest,
)
from _wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from _wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from _wire.records import build_batch
from coordinator.config.authorizer_keys import STANDARD_AUTHORIZER
from coordinator.node.share_plane import RELEASED_AT_ONCE
from coordinator.runtime import slices
from coordinator.security.acls.model import AclOperation, PatternType, PermissionType, ResourceType
from coordinator.testing import Coordinator
from tests.front.quota_client import QuotaClient
from tests.steady_shares import carry_out_steady_shares
from tests.waiting import wait_for as wait_for_seconds
from tests.wire_client import WireClient

GROUP: Final = "g"
GROUP_RESOURCE: Final = 32
Batch = tuple[int, int, list[int]]
ACCEPT, RELEASE, RENEW = [1], [2], [4]


def wait_for(condition: Callable[[], object]) -> None:
    wait_for_seconds(condition, 10, "records or partitions")


class ShareClient(WireClient):
    """A member of a share group that knows one topic."""

    def __init__(self, bootstrap: str, member_id: str = "a", topic_id: bytes = b"") -> None:
        super().__init__(bootstrap, member_id)
        self.member_id = member_id
        self.topic_id = topic_id
        self.epoch = 0

    def make_topic(self, name: str, partitions: int = 1) -> None:
        self.topic_id = self.create_topic(name, partitions)

    def configure(self, **configs: str) -> None:
        given = [AlterableConfig(name=name.replace("_", "."), value=value) for name, value in configs.items()]
        resource = AlterConfigsResource(resource_type=GROUP_RESOURCE, resource_name=GROUP, configs=given)
        (answer,) = self.request(IncrementalAlterConfigsRequest(resources=[resource]), 1).responses
        assert answer.error_code == 0, answer

    def initialize(self, *topics: str) -> None:
        """Be assigned partitions: then they are initialized."""
        request = ShareGroupHeartbeatRequest(
            group_id=GROUP, member_id=self.member_id, member_epoch=0, subscribed_topic_names=topics
        )
        wait_for(lambda: (answer := self.request(request, 1).assignment) and answer.topic_partitions)

    def alter_offset(self, topic: str, offset: int) -> None:
        """Let the group begin at an offset of the first partition; its member joins, for a new epoch, and leaves."""
        self.initialize(topic)
        leave = ShareGroupHeartbeatRequest(group_id=GROUP, member_id=self.member_id, member_epoch=-1)
        self.request(leave, 1)
        partition = alter_share_group_offsets.RequestPartition(partition_index=0, start_offset=offset)
        topics = [alter_share_group_offsets.RequestTopic(topic_name=topic, partitions=[partition])]
        request = alter_share_group_offsets.AlterShareGroupOffsetsRequest(group_id=GROUP, topics=topics)
        answer = self.request(request, 0)
        assert (answer.error_code, answer.responses[0].partitions[0].error_code) == (0, 0)

    def put(self, topic: str, *values: bytes, partition: int = 0) -> None:
        for value in values:
            assert self.produce(topic, build_batch([(None, value, ())]), partition=partition).error_code == 0

    def fetch(
        self, *partitions: int, acks: dict[int, list[Batch]] | None = None, version: int = 2, **fields: Any
    ) -> Any:
        named: dict[int, list[Batch]] = {partition: [] for partition in partitions} | (acks or {})
        epoch = fields.pop("share_session_epoch", self.epoch)
        given = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, "max_records": 500, "batch_size": 500}
        request = ShareFetchRequest(
            group_id=GROUP,
            member_id=self.member_id,
            share_session_epoch=epoch,
            topics=[
                FetchTopic(
                    topic_id=self.topic_id,
                    partitions=[
                        FetchPartition(
                            partition_index=index,
                            acknowledgement_batches=[
                                AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=types)
                                for first, last, types in batches
                            ],
                        )
                        for index, batches in named.items()
                    ],
                )
            ]
            if named
            else [],
            **(given | fields),
        )
        answer = self.request(request, version)
        if answer.error_code == 0 and epoch >= 0:
            self.epoch = epoch + 1
        return answer

    def acknowledge(self, batches: dict[int, list[Batch]], version: int = 2, **fields: Any) -> Any:
        epoch = fields.pop("share_session_epoch", self.epoch)
        request = ShareAcknowledgeRequest(
            group_id=GROUP,
            member_id=self.member_id,
            share_session_epoch=epoch,
            topics=[
                AcknowledgeTopic(
                    topic_id=self.topic_id,
                    partitions=[
                        AcknowledgePartition(
                            partition_index=index,
                            acknowledgement_batches=[
                                AcknowledgedBatch(first_offset=first, last_offset=last, acknowledge_types=types)
                                for first, last, types in given
                            ],
                        )
                        for index, given in batches.items()
                    ],
                )
            ],
            **fields,
        )
        answer = self.request(request, version)
        if answer.error_code == 0 and epoch >= 0:
            self.epoch = epoch + 1
        return answer


def acquired(answer: Any) -> list[tuple[int, int, int, int]]:
    assert answer.error_code == 0, ErrorCode(answer.error_code)
    return [
        (data.partition_index, each.first_offset, each.last_offset, each.delivery_count)
        for topic in answer.responses
        for data in topic.partitions
        for each in data.acquired_records
    ]


def delivery_counts(answer: Any) -> dict[int, int]:
    """Of the partitions that have given a record."""
    return {partition: count for partition, _, _, count in acquired(answer)}


def errors(answer: Any) -> dict[int, ErrorCode]:
    assert answer.error_code == 0, ErrorCode(answer.error_code)
    return {data.partition_index: ErrorCode(data.error_code) for topic in answer.responses for data in topic.partitions}


def acknowledge_errors(answer: Any) -> dict[int, ErrorCode]:
    return {
        data.partition_index: ErrorCode(data.acknowledge_error_code)
        for topic in answer.responses
        for data in topic.partitions
    }


AUTHORIZED: Final = {
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "super.users": "User:admin",
    "allow.everyone.if.no.acl.found": "true",
}
"""With an authorizer all requests go to their handlers; without one, most need none."""
with_authorizer = pytest.mark.parametrize("server", [AUTHORIZED], indirect=True)


@pytest.fixture(params=[AUTHORIZED, {}], ids=["handlers", "steady"])
def server(request: pytest.FixtureRequest) -> Iterator[Coordinator]:
    with Coordinator({"group.share.max.share.sessions": "200"} | request.param) as running:
        if not request.param:
            carry_out_steady_shares(running)
        yield running


@pytest.fixture
def client(server: Coordinator) -> Iterator[ShareClient]:
    with ShareClient(server.bootstrap) as connected:
        connected.make_topic("orders", 2)
        connected.configure(share_auto_offset_reset="earliest")
        connected.initialize("orders")
        connected.put("orders", b"a", b"b", b"c")
        yield connected


def another(server: Coordinator, client: ShareClient, member_id: str = "b") -> ShareClient:
    return ShareClient(server.bootstrap, member_id, client.topic_id)


def first_fetch(client: ShareClient, *partitions: int) -> Any:
    """Open the session; share partitions that are not loaded yet are in the second answer."""
    answer = client.fetch(*(partitions or (0,)))
    return answer if acquired(answer) else client.fetch(max_wait_ms=5000)


def test_records_are_acquired_acknowledged_and_gone(server, client):
    assert acquired(first_fetch(client)) == [(0, 0, 2, 1)]
    answer = client.acknowledge({0: [(0, 2, [1, 2, 3])]})
    assert (errors(answer), answer.acquisition_lock_timeout_ms) == ({0: ErrorCode.NONE}, 30_000)
    with another(server, client) as other:
        assert acquired(other.fetch(0)) == [(0, 1, 1, 2)]


@pytest.mark.parametrize("server", [{}], indirect=True)
def test_steady_requests_need_no_handler(server):
    counted = carry_out_steady_shares(server)
    with ShareClient(server.bootstrap) as client:
        client.make_topic("orders")
        client.configure(share_auto_offset_reset="earliest")
        client.initialize("orders")
        client.put("orders", b"a", b"b")
        assert acquired(first_fetch(client)) == [(0, 0, 1, 1)]
        before = counted.carried_out
        assert acknowledge_errors(client.fetch(acks={0: [(0, 0, ACCEPT)]})) == {0: ErrorCode.NONE}
        assert errors(client.acknowledge({0: [(1, 1, ACCEPT)]})) == {0: ErrorCode.NONE}
        assert counted.carried_out == before + 2


def test_acknowledgements_come_along_with_a_fetch(client):
    first_fetch(client)
    answer = client.fetch(acks={0: [(0, 0, ACCEPT), (1, 2, RELEASE)]})
    assert acknowledge_errors(answer) == {0: ErrorCode.NONE}
    assert acquired(client.fetch(max_wait_ms=100)) + acquired(answer) == [(0, 1, 2, 2)]


def test_a_client_that_does_not_wait_for_its_answers_gets_them_in_order(client):
    """More than are answered before others have their turn; the rest go to their handlers."""
    first_fetch(client)
    requests = [
        ShareFetchRequest(
            group_id=GROUP,
            member_id="a",
            share_session_epoch=client.epoch + number,
            max_wait_ms=0,
            min_bytes=1,
            max_bytes=1 << 20,
            max_records=500,
            batch_size=500,
            topics=[],
        )
        for number in range(40)
    ]
    sent = [client.send(request, 2) for request in requests]
    assert [client.receive(request).error_code for request in sent] == [ErrorCode.NONE] * len(requests)


def test_a_bad_acknowledgement_costs_its_partition_only(client):
    client.put("orders", b"x", partition=1)
    assert acquired(first_fetch(client, 0)) == [(0, 0, 2, 1)]
    assert acquired(client.fetch(1, max_wait_ms=5000)) == [(1, 0, 0, 1)]
    answer = client.fetch(acks={0: [(0, 9, ACCEPT)], 1: [(0, 0, ACCEPT)]})
    assert acknowledge_errors(answer) == {0: ErrorCode.INVALID_REQUEST, 1: ErrorCode.NONE}


def test_a_state_that_was_altered_says_who_leads_to_share_acknowledge_only(client):
    first_fetch(client)
    for asks, acknowledges, names_leader in ((client.fetch, True, False), (client.acknowledge, False, True)):
        client.alter_offset("orders", 1)
        answer = asks(acks={0: [(0, 0, ACCEPT)]}) if acknowledges else asks({0: [(1, 1, ACCEPT)]})
        found = acknowledge_errors(answer) if acknowledges else errors(answer)
        assert found == {0: ErrorCode.NOT_LEADER_OR_FOLLOWER}
        (data,) = answer.responses[0].partitions
        assert (data.current_leader.leader_id > 0, bool(answer.node_endpoints)) == (names_leader, names_leader)
        assert acquired(client.fetch(max_wait_ms=5000)) == [(0, 1, 2, 1)]


def test_locks_end(server, client):
    first_fetch(client)
    with another(server, client) as other:
        assert acquired(other.fetch(0)) == []
        server.advance(30)
        assert acquired(other.fetch()) == [(0, 0, 2, 2)]
    assert errors(client.acknowledge({0: [(0, 2, ACCEPT)]})) == {0: ErrorCode.INVALID_RECORD_STATE}


def test_a_renewed_lock_does_not_end(server, client):
    first_fetch(client)
    server.advance(29)
    nothing = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 0, "max_records": 0}
    assert acknowledge_errors(client.fetch(acks={0: [(0, 2, RENEW)]}, is_renew_ack=True, **nothing)) == {
        0: ErrorCode.NONE
    }
    server.advance(29)
    assert errors(client.acknowledge({0: [(0, 2, ACCEPT)]})) == {0: ErrorCode.NONE}


def test_what_renews_fetches_nothing(client):
    first_fetch(client)
    epoch = client.epoch
    answer = client.fetch(acks={0: [(0, 2, RENEW)]}, is_renew_ack=True)
    assert (answer.error_code, client.epoch) == (ErrorCode.INVALID_REQUEST, epoch)
    assert errors(client.acknowledge({0: [(0, 2, RENEW)]})) == {0: ErrorCode.INVALID_REQUEST}, "it was not announced"


def test_a_connection_that_closes_releases_its_records(server, client):
    with another(server, client) as other:
        assert acquired(first_fetch(other)) == [(0, 0, 2, 1)]
    wait_for(lambda: acquired(client.fetch(0, share_session_epoch=0)) == [(0, 0, 2, 2)])


def test_a_connection_that_closes_releases_the_records_of_all_its_partitions(server, client, monkeypatch):
    """Also those that are released in a later turn: the share partitions of its group are kept until then."""
    partitions = range(RELEASED_AT_ONCE + 10)
    client.make_topic("many", len(partitions))
    client.initialize("orders", "many")
    for partition in partitions:
        client.put("many", b"a", partition=partition)
    readings = itertools.count()
    monkeypatch.setattr(slices, "seconds", lambda: next(readings) * slices.TURN_SECONDS)
    for member_id, delivery_count in (("b", 1), ("c", 2)):
        counts: dict[int, int] = {}
        with another(server, client, member_id) as other:
            counts.update(delivery_counts(other.fetch(*partitions)))
            while len(counts) < len(partitions):
                counts.update(delivery_counts(other.fetch(max_wait_ms=5000)))
            assert set(counts.values()) == {delivery_count}, member_id


def test_a_session_that_is_closed_releases_its_records(server, client):
    first_fetch(client)
    answer = client.acknowledge({0: [(0, 0, ACCEPT)]}, share_session_epoch=-1)
    assert errors(answer) == {0: ErrorCode.NONE}
    assert client.fetch(0, share_session_epoch=5).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    with another(server, client) as other:
        wait_for(lambda: acquired(other.fetch(0, share_session_epoch=0)) == [(0, 1, 2, 2)])


def test_a_close_by_fetch_acknowledges_and_fetches_nothing(server, client):
    first_fetch(client)
    answer = client.fetch(acks={0: [(0, 1, ACCEPT)]}, share_session_epoch=-1)
    assert (acknowledge_errors(answer), acquired(answer)) == ({0: ErrorCode.NONE}, [])
    with another(server, client) as other:
        wait_for(lambda: acquired(other.fetch(0, share_session_epoch=0)) == [(0, 2, 2, 2)])


def test_forgotten_partitions_are_not_fetched(client):
    first_fetch(client, 0, 1)
    client.put("orders", b"x", partition=1)
    forgotten = [ForgottenTopic(topic_id=client.topic_id, partitions=[1])]
    assert acquired(client.fetch(forgotten_topics_data=forgotten, max_wait_ms=50)) == []
    assert acquired(client.fetch(1, max_wait_ms=5000)) == [(1, 0, 0, 1)]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"group_id": None}, ErrorCode.INVALID_REQUEST),
        ({"member_id": None}, ErrorCode.INVALID_REQUEST),
        ({"member_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"member_id": "m" * 37}, ErrorCode.INVALID_REQUEST),
        ({"share_session_epoch": 7}, ErrorCode.SHARE_SESSION_NOT_FOUND),
        ({"share_session_epoch": -1}, ErrorCode.SHARE_SESSION_NOT_FOUND),
    ],
)
def test_requests_without_a_session_are_refused(client, fields, error):
    asked = {"group_id": GROUP, "member_id": "x", "share_session_epoch": 0, "max_records": 1, "max_bytes": 1} | fields
    answer = client.request(ShareFetchRequest(**asked), 2)
    assert (answer.error_code, answer.acquisition_lock_timeout_ms) == (error, 0)
    of_both = {name: asked[name] for name in ("group_id", "member_id", "share_session_epoch")}
    expected = error if asked["share_session_epoch"] else error or ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert client.request(ShareAcknowledgeRequest(**of_both), 2).error_code == expected


def test_the_first_fetch_of_a_session_acknowledges_nothing(client):
    first_fetch(client)
    answer = client.fetch(acks={0: [(0, 2, ACCEPT)]}, share_session_epoch=0)
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert client.acknowledge({}, share_session_epoch=0).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH


def test_sessions_are_limited_and_the_answer_comes_after_max_wait(server, client):
    with ExitStack() as stack:
        clients = [stack.enter_context(another(server, client, f"m{number}")) for number in range(200)]
        for each in clients:
            assert each.fetch(0).error_code == 0
        late = stack.enter_context(another(server, client, "late"))
        assert late.fetch(0).error_code == ErrorCode.SHARE_SESSION_LIMIT_REACHED
        begun = monotonic()
        assert late.fetch(0, max_wait_ms=100).error_code == ErrorCode.SHARE_SESSION_LIMIT_REACHED
        assert monotonic() - begun >= 0.09
        clients[0].fetch(share_session_epoch=-1)
        assert late.fetch(0).error_code == 0


def test_a_topic_that_is_deleted_is_unknown_and_others_go_on(client):
    first_fetch(client)
    client.request(DeleteTopicsRequest(topic_names=["orders"], timeout_ms=5000), 5)
    assert errors(client.fetch()) == {0: ErrorCode.UNKNOWN_TOPIC_ID}
    assert errors(client.acknowledge({0: [(0, 2, ACCEPT)]})) == {0: ErrorCode.UNKNOWN_TOPIC_ID}


def test_partitions_that_were_never_initialized_are_an_error(client):
    client.make_topic("other")
    client.put("other", b"a")
    assert errors(client.fetch(0, max_wait_ms=50)) == {0: ErrorCode.UNKNOWN_SERVER_ERROR}


@with_authorizer
def test_a_topic_that_may_not_be_read_is_refused_at_every_fetch(client):
    first_fetch(client)
    allow_only_admin(client, ResourceType.TOPIC, "orders")
    assert errors(client.fetch()) == {0: ErrorCode.TOPIC_AUTHORIZATION_FAILED}
    assert errors(client.fetch()) == {0: ErrorCode.TOPIC_AUTHORIZATION_FAILED}
    assert errors(client.acknowledge({0: [(0, 2, ACCEPT)]})) == {0: ErrorCode.TOPIC_AUTHORIZATION_FAILED}


@with_authorizer
def test_a_group_that_may_not_be_read_is_refused_as_a_whole(client):
    first_fetch(client)
    allow_only_admin(client, ResourceType.GROUP, GROUP)
    assert client.fetch().error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert client.acknowledge({0: [(0, 2, ACCEPT)]}).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED


def allow_only_admin(client: ShareClient, resource_type: ResourceType, name: str) -> None:
    creation = AclCreation(
        resource_type=resource_type,
        resource_name=name,
        resource_pattern_type=PatternType.LITERAL,
        principal="User:somebody",
        host="*",
        operation=AclOperation.READ,
        permission_type=PermissionType.ALLOW,
    )
    (result,) = client.request(CreateAclsRequest(creations=[creation]), 3).results
    assert result.error_code == 0, result


def test_share_groups_that_are_switched_off_forget_what_is_in_memory(client):
    first_fetch(client)
    set_level(client, 0)
    assert client.fetch().error_code == ErrorCode.UNSUPPORTED_VERSION
    assert client.acknowledge({0: [(0, 2, ACCEPT)]}).error_code == ErrorCode.UNSUPPORTED_VERSION
    set_level(client, 1)
    assert client.fetch().error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    client.epoch = 0
    assert acquired(first_fetch(client)) == [(0, 0, 2, 1)]


def set_level(client: ShareClient, level: int) -> None:
    update = FeatureUpdateKey(feature="share.version", max_version_level=level, upgrade_type=2 if level == 0 else 1)
    answer = client.request(UpdateFeaturesRequest(feature_updates=[update], timeout_ms=5000), 1)
    assert answer.error_code == 0, answer


def test_what_was_accepted_does_not_come_again_after_a_restart(server, client):
    first_fetch(client)
    client.acknowledge({0: [(0, 0, ACCEPT)]})
    topic_id = client.topic_id
    server.restart()
    with ShareClient(server.bootstrap, "b", topic_id) as other:
        assert acquired(first_fetch(other)) == [(0, 1, 2, 1)]


def test_a_fetch_above_the_quota_is_answered_in_full_and_throttled(server, client):
    first_fetch(client)
    client.put("orders", bytes(20_000))
    with QuotaClient(server.bootstrap) as admin:
        admin.set("a", consumer_byte_rate=1000.0)
        answer = client.fetch(max_wait_ms=5000)
        assert acquired(answer) == [(0, 3, 3, 1)]
        assert answer.throttle_time_ms > 0
        admin.set("a", consumer_byte_rate=None)
