"""A disk on which an fsync of the metadata log takes long: who changes the metadata waits, and nobody else does."""

import select
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from _wire.errors import ErrorCode
from _wire.messages.alter_client_quotas import (
    AlterClientQuotasEntity,
    AlterClientQuotasEntry,
    AlterClientQuotasOp,
    AlterClientQuotasRequest,
)
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from _wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from _wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from _wire.messages.describe_client_quotas import DescribeClientQuotasRequest
from _wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from _wire.messages.init_producer_id import InitProducerIdRequest
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from _wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from _wire.structs import Message
from coordinator.log.names import METADATA_LOG
from coordinator.metadata.producer_ids import PRODUCER_IDS_PER_BLOCK, RESERVED_AHEAD_FROM
from tests.node.faulty_serve import CONTROL
from tests.node.test_faulty_disk import Client, FaultyServer
from tests.waiting import wait_for
from tests.wire_client import ConnectionClosed

BLOCKED: Final = f"flush BLOCK {METADATA_LOG}-0/"
FAILING: Final = f"flush EIO {METADATA_LOG}-0/"
HEARTBEATS: Final = 20


class Server(FaultyServer):
    """A server beside which a member of a group sends heartbeats."""

    def prepare(self) -> None:
        super().prepare()
        self.other = Client(self.bootstrap)
        self.member_id = self.other.join_alone("g2")

    def block(self) -> None:
        self._control.with_suffix(".blocked").unlink(missing_ok=True)
        self.fail(BLOCKED)

    def check_others_are_served(self) -> None:
        for _ in range(HEARTBEATS):
            assert self.other.heartbeat_error("g2", self.member_id) == 0
        assert self.other.send_value(b"beside") is ErrorCode.NONE

    def begin_stop(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)


@pytest.fixture
def settings() -> dict[str, str]:
    return {}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str]) -> Iterator[Server]:
    monkeypatch.setenv(CONTROL, str(tmp_path / "faults"))
    with Server(tmp_path, settings) as server:
        server.prepare()
        yield server
        assert "Traceback" not in server.log.read_text()


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    with Client(server.bootstrap) as client:
        yield client


def is_answered(client: Client) -> bool:
    return bool(select.select([client.socket], [], [], 0)[0])


def creation(*names: str) -> CreateTopicsRequest:
    topics = [CreatableTopic(name=name, num_partitions=2, replication_factor=1) for name in names]
    return CreateTopicsRequest(topics=topics, timeout_ms=5000)


def topic_error(client: Client, name: str) -> ErrorCode:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
    return ErrorCode(client.request(request, 8).topics[0].error_code)


def topic_names(client: Client) -> set[str]:
    return {topic.name for topic in client.request(MetadataRequest(topics=None), 8).topics}


# ---- each API that changes the metadata


class Change(NamedTuple):
    """A request, its version, its error codes, and what others see of what it changes."""

    request: Message
    version: int
    errors: Callable[[Any], list[int]]
    seen: Callable[[Client], object]


def partitions_of_t(client: Client) -> int:
    request = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
    return len(client.request(request, 8).topics[0].partitions)


def retention_of_t(client: Client) -> str | None:
    wanted = DescribeConfigsResource(resource_type=2, resource_name="t", configuration_keys=["retention.ms"])
    value: str | None = client.request(DescribeConfigsRequest(resources=[wanted]), 4).results[0].configs[0].value
    return value


def quotas(client: Client) -> list[Any]:
    found: list[Any] = client.request(DescribeClientQuotasRequest(), 1).entries
    return found


def features(client: Client) -> dict[str, int]:
    answer = client.request(ApiVersionsRequest(client_software_name="a", client_software_version="1"), 4)
    return {
        finalized_feature.name: finalized_feature.max_version_level for finalized_feature in answer.finalized_features
    }


CHANGES: Final = {
    "CreateTopics": Change(
        creation("new"), 7, lambda answer: [topic.error_code for topic in answer.topics], topic_names
    ),
    "CreatePartitions": Change(
        CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="t", count=9, assignments=None)], timeout_ms=5000),
        3,
        lambda answer: [result.error_code for result in answer.results],
        partitions_of_t,
    ),
    "DeleteTopics": Change(
        DeleteTopicsRequest(topics=[DeleteTopicState(name="u")], timeout_ms=5000),
        6,
        lambda answer: [response.error_code for response in answer.responses],
        topic_names,
    ),
    "IncrementalAlterConfigs": Change(
        IncrementalAlterConfigsRequest(
            resources=[
                AlterConfigsResource(
                    resource_type=2, resource_name="t", configs=[AlterableConfig(name="retention.ms", value="77")]
                )
            ]
        ),
        1,
        lambda answer: [response.error_code for response in answer.responses],
        retention_of_t,
    ),
    "AlterClientQuotas": Change(
        AlterClientQuotasRequest(
            entries=[
                AlterClientQuotasEntry(
                    entity=[AlterClientQuotasEntity(entity_type="client-id", entity_name="x")],
                    ops=[AlterClientQuotasOp(key="producer_byte_rate", value=1e9)],
                )
            ]
        ),
        1,
        lambda answer: [entry.error_code for entry in answer.entries],
        quotas,
    ),
    "UpdateFeatures": Change(
        UpdateFeaturesRequest(
            feature_updates=[FeatureUpdateKey(feature="transaction.version", max_version_level=1, upgrade_type=2)]
        ),
        2,
        lambda answer: [answer.error_code],
        features,
    ),
}


@pytest.mark.parametrize("api", CHANGES)
def test_a_change_is_answered_and_seen_when_it_is_durable_and_others_do_not_wait(server, client, api):
    change = CHANGES[api]
    before = change.seen(server.other)
    server.block()
    sent = client.send(change.request, change.version)
    server.wait_until_blocked()
    server.check_others_are_served()
    assert change.seen(server.other) == before
    assert not is_answered(client)
    server.fail()
    assert set(change.errors(client.receive(sent))) == {ErrorCode.NONE}
    after = change.seen(server.other)
    assert after != before
    server.kill()
    server.start()
    with Client(server.bootstrap) as again:
        assert change.seen(again) == after


@pytest.mark.parametrize("settings", [{"auto.create.topics.enable": "true"}], ids=["auto"])
def test_a_topic_that_is_created_for_its_metadata_is_described_after_the_answer(server, client):
    server.block()
    request = MetadataRequest(topics=[MetadataRequestTopic(name="auto")])
    sent = client.send(request, 8)
    server.wait_until_blocked()
    server.check_others_are_served()
    assert topic_error(server.other, "auto") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert not is_answered(client)
    server.fail()
    assert client.receive(sent).topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert client.request(request, 8).topics[0].error_code == ErrorCode.NONE


# ---- several changes


def test_the_second_of_two_that_create_a_topic_gets_the_error_when_the_topic_is_durable(server, client):
    with Client(server.bootstrap) as second:
        server.block()
        sent = client.send(creation("new"), 7)
        server.wait_until_blocked()
        rejected = second.send(creation("new", "of-the-second"), 7)
        server.check_others_are_served()
        assert not is_answered(client)
        assert not is_answered(second)
        server.fail()
        assert [topic.error_code for topic in client.receive(sent).topics] == [ErrorCode.NONE]
        errors = {topic.name: topic.error_code for topic in second.receive(rejected).topics}
        assert errors == {"new": ErrorCode.TOPIC_ALREADY_EXISTS, "of-the-second": ErrorCode.NONE}


def test_many_clients_and_large_requests_at_once(server):
    with ExitStack() as stack:
        clients = [stack.enter_context(Client(server.bootstrap)) for _ in range(30)]
        server.block()
        sent = [
            client.send(creation(*(f"c{number}-{topic}" for topic in range(150 if number % 10 == 0 else 1))), 7)
            for number, client in enumerate(clients)
        ]
        server.wait_until_blocked()
        server.check_others_are_served()
        assert not any(map(is_answered, clients))
        server.fail()
        for client, request in zip(clients, sent, strict=True):
            results = client.receive(request).topics
            assert {result.error_code for result in results} == {ErrorCode.NONE}
            assert bytes(16) not in {result.topic_id for result in results}
    assert len([name for name in topic_names(server.other) if name.startswith("c")]) == 3 * 150 + 27


def test_a_topic_can_be_deleted_and_created_again_while_nothing_is_durable(server, client):
    with Client(server.bootstrap) as deleting, Client(server.bootstrap) as creating:
        server.block()
        sent = client.send(creation("new"), 7)
        server.wait_until_blocked()
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name="t"), DeleteTopicState(name="new")], timeout_ms=1)
        deletion = deleting.send(request, 6)
        assert server.other.send_value(b"still there") is ErrorCode.NONE
        again = creating.send(creation("t"), 7)
        server.check_others_are_served()
        server.fail()
        first_id = client.receive(sent).topics[0].topic_id
        assert {response.error_code for response in deleting.receive(deletion).responses} == {ErrorCode.NONE}
        (created,) = creating.receive(again).topics
    assert (created.error_code, created.topic_id != first_id) == (ErrorCode.NONE, True)
    assert topic_error(server.other, "new") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert server.other.fetch() == (ErrorCode.NONE, []), "the records were those of the deleted topic"


def test_a_client_that_disconnects_leaves_its_change(server):
    server.block()
    with Client(server.bootstrap) as client:
        client.send(creation("new"), 7)
        server.wait_until_blocked()
    server.check_others_are_served()
    server.fail()
    wait_for(lambda: topic_error(server.other, "new") is ErrorCode.NONE, 10, "the topic")


# ---- producer ids and transactions


def new_producer_ids(client: Client, count: int) -> list[int]:
    answers = [client.request(InitProducerIdRequest(transactional_id=None), 4) for _ in range(count)]
    assert {answer.error_code for answer in answers} == {ErrorCode.NONE}
    return [answer.producer_id for answer in answers]


def test_the_first_producers_wait_for_their_block(server, client):
    with Client(server.bootstrap) as second:
        server.block()
        sent = [each.send(InitProducerIdRequest(transactional_id=None), 4) for each in (client, second)]
        server.wait_until_blocked()
        server.check_others_are_served()
        assert not is_answered(client)
        assert not is_answered(second)
        server.fail()
        answers = [each.receive(request) for each, request in zip((client, second), sent, strict=True)]
    assert {answer.error_code for answer in answers} == {ErrorCode.NONE}
    assert len({answer.producer_id for answer in answers}) == 2


def test_no_producer_waits_for_the_next_block_and_a_kill_assigns_no_id_twice(server, client):
    ids = new_producer_ids(client, PRODUCER_IDS_PER_BLOCK - RESERVED_AHEAD_FROM)
    server.block()
    ids += new_producer_ids(client, RESERVED_AHEAD_FROM)
    server.wait_until_blocked()
    request = InitProducerIdRequest(transactional_id=None)
    client.send(request, 4)
    server.check_others_are_served()
    assert not is_answered(client)
    server.kill()
    server.fail()
    server.start()
    with Client(server.bootstrap) as again:
        ids += new_producer_ids(again, PRODUCER_IDS_PER_BLOCK + 1)
    assert len(set(ids)) == len(ids)


def test_the_topic_of_transactions_is_created_before_its_coordinator_is_named(server, client):
    server.block()
    request = FindCoordinatorRequest(key_type=1, coordinator_keys=["x"])
    sent = client.send(request, 4)
    server.wait_until_blocked()
    server.check_others_are_served()
    assert not is_answered(client)
    server.fail()
    assert [coordinator.error_code for coordinator in client.receive(sent).coordinators] == [ErrorCode.NONE]


def test_a_transactional_producer_waits_for_its_id(server, client):
    client.request(FindCoordinatorRequest(key_type=1, coordinator_keys=["x"]), 4)
    server.block()
    sent = client.send(InitProducerIdRequest(transactional_id="x", transaction_timeout_ms=60_000), 4)
    server.wait_until_blocked()
    server.check_others_are_served()
    assert not is_answered(client)
    server.fail()
    assert client.receive(sent).error_code in (ErrorCode.NONE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


# ---- the end


def test_a_kill_during_a_flush_leaves_all_topics_of_the_request_or_none(server, client):
    server.block()
    client.send(creation(*(f"new-{number}" for number in range(50))), 7)
    server.wait_until_blocked()
    server.kill()
    server.fail()
    server.start()
    with Client(server.bootstrap) as again:
        created = {name for name in topic_names(again) if name.startswith("new-")}
        assert len(created) in (0, 50)
        assert again.fetch()[1] == [b"before"]
        results = again.request(creation(*(f"new-{number}" for number in range(50))), 7).topics
        expected = ErrorCode.TOPIC_ALREADY_EXISTS if created else ErrorCode.NONE
        assert {result.error_code for result in results} == {expected}


def test_a_stop_waits_for_the_change_under_way(server, client):
    server.block()
    client.send(creation("new"), 7)
    server.wait_until_blocked()
    server.begin_stop()
    assert client.is_closed_by_peer()
    server.fail()
    assert server.wait_for_end() == 0
    server.start()
    with Client(server.bootstrap) as again:
        assert topic_error(again, "new") is ErrorCode.NONE
    assert "cut" not in server.log.read_text()


def test_a_flush_that_fails_ends_the_process_and_answers_nobody(server, client):
    with Client(server.bootstrap) as second:
        server.block()
        sent = client.send(creation("new"), 7)
        server.wait_until_blocked()
        waiting = second.send(creation("other"), 7)
        server.check_others_are_served()
        server.fail(FAILING)
        assert server.wait_for_end() == 1
        for each, request in ((client, sent), (second, waiting)):
            with pytest.raises(ConnectionClosed):
                each.receive(request)
    assert "stopping: acknowledged data may be lost" in server.log.read_text()
    server.fail()
    server.start()
    with Client(server.bootstrap) as again:
        assert again.fetch()[1][0] == b"before"
