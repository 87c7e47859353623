"""Which requests about records of share groups need no handler; what they do `tests/simulation/shares` compares."""

from typing import Any, Final

import pytest

from _wire.errors import ErrorCode
from _wire.headers import decode_response_header, encode_request, encode_response
from _wire.messages.share_acknowledge import AcknowledgementBatch as AcknowledgedBatch
from _wire.messages.share_acknowledge import (
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
)
from _wire.messages.share_fetch import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    ForgottenTopic,
    ShareFetchRequest,
    ShareFetchResponse,
)
from coordinator.broker.share.record_counts import RecordCounts
from coordinator.broker.share.sessions import ShareSession, ShareSessions
from coordinator.broker.share.settings import ShareRecordSettings
from coordinator.broker.share.share_partition_parts import Phase
from coordinator.broker.share.steady_requests import SteadyShareRequest, SteadyShares
from coordinator.front.request_context import Endpoint
from tests.broker.share.virtual_shares import GROUP, MAX_BYTES, VirtualShares
from tests.broker.virtual_broker import batch

TOPIC: Final = "jobs"
LENGTH_BYTES: Final = 4
VERSION: Final = 2
ACCEPT: Final = [1]
ELEMENTS_MAX: Final = 4_400
NODE_ID: Final = 7


class Client:
    """A member with a session of all partitions of a topic, which are loaded."""

    endpoint = Endpoint("PLAINTEXT", "kafka-7.example", 9092)

    def __init__(self, partitions: int = 1, configs: dict[str, str] | None = None) -> None:
        self.shares = VirtualShares(configs=configs)
        self.topic_id = self.shares.create_topic(TOPIC, partitions)
        self.shares.share_fetch(TOPIC, *range(partitions))
        self.sessions = ShareSessions(10, lambda session: None, lambda group_id: None)
        self.session = self.open()
        image = self.shares.metadata_store.image
        self.total = RecordCounts()
        self.steady = SteadyShares(
            self.sessions,
            self.shares.share_partitions,
            self.shares.waiting,
            image,
            ShareRecordSettings(self.shares.broker_config, image),
            self.shares.fetch_service,
            self.total,
            node_id=NODE_ID,
            max_bytes=MAX_BYTES,
            elements_max=ELEMENTS_MAX,
        )
        self.frames: list[bytes] = []

    def open(self) -> ShareSession:
        session = self.sessions.open(GROUP, "a", object())
        assert isinstance(session, ShareSession)
        for partition in range(self.shares.metadata_store.image.partition_count(TOPIC)):
            session.add((self.topic_id, partition), True, is_opening=True)
        return session

    def send_frame(self, frame: bytes) -> None:
        self.frames.append(frame)

    def fetch(
        self, *acks: tuple[int, int, list[int]], version: int = VERSION, **fields: Any
    ) -> SteadyShareRequest | None:
        batches = [AcknowledgementBatch(first_offset=a, last_offset=b, acknowledge_types=types) for a, b, types in acks]
        partition = FetchPartition(partition_index=0, acknowledgement_batches=batches)
        topics = [FetchTopic(topic_id=self.topic_id, partitions=[partition])] if acks else []
        given: dict[str, Any] = {
            "max_wait_ms": 0,
            "min_bytes": 1,
            "max_bytes": 1 << 20,
            "max_records": 500,
            "batch_size": 500,
        }
        given |= {"group_id": GROUP, "member_id": "a", "share_session_epoch": self.session.epoch, "topics": topics}
        return self.read(ShareFetchRequest(**given | fields), version)

    def acknowledge(self, *acks: tuple[int, int, list[int]], **fields: Any) -> SteadyShareRequest | None:
        batches = [AcknowledgedBatch(first_offset=a, last_offset=b, acknowledge_types=types) for a, b, types in acks]
        partition = AcknowledgePartition(partition_index=0, acknowledgement_batches=batches)
        given: dict[str, Any] = {"group_id": GROUP, "member_id": "a", "share_session_epoch": self.session.epoch}
        topics = [AcknowledgeTopic(topic_id=self.topic_id, partitions=[partition])]
        return self.read(ShareAcknowledgeRequest(**given | {"topics": topics} | fields), VERSION)

    def read(self, request: Any, version: int) -> SteadyShareRequest | None:
        before = self.session.epoch
        steady = self.steady.read(
            encode_request(1, "c", request, version)[LENGTH_BYTES:], self, self.shares.clock.now_ms()
        )
        assert self.session.epoch == before + (steady is not None), "what is left to the handler changes nothing"
        return steady

    def acquired(self, request: SteadyShareRequest | None) -> list[tuple[int, int, int]]:
        assert request is not None
        assert request.answer is not None
        _, start = decode_response_header(request.answer, ShareFetchRequest.API_KEY, VERSION, LENGTH_BYTES)
        answer = ShareFetchResponse.decode(request.answer, VERSION, start)
        return [
            (data.partition_index, one.first_offset, one.last_offset)
            for topic in answer.responses
            for data in topic.partitions
            for one in data.acquired_records
        ]

    @property
    def count(self) -> int:
        return len(self.shares.states.writes)


def test_a_fetch_acquires_and_what_it_acknowledges_is_stored_before_the_answer():
    client = Client()
    client.shares.produce(TOPIC, batch(b"a", b"b"))
    client.shares.produce(TOPIC, batch(b"c"))
    assert client.acquired(client.fetch(max_records=2)) == [(0, 0, 1)]
    client.shares.states.is_held = True
    request = client.fetch((0, 1, ACCEPT))
    assert request is not None
    assert (request.answer, client.frames) == (None, [])
    client.shares.states.let_go()
    assert client.frames == [request.answer]
    assert client.acquired(request) == [(0, 2, 2)]
    assert (client.total.accepted, client.shares.share_partition(TOPIC).window.start_offset) == (2, 2)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.FENCED_STATE_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ],
)
def test_an_acknowledgement_that_is_not_stored_is_answered_with_its_error(error, expected):
    client = Client()
    client.shares.produce(TOPIC, batch(b"a"))
    client.fetch()
    share_partition = client.shares.share_partition(TOPIC)
    client.shares.states.answer = error
    request = client.fetch((0, 0, ACCEPT))
    assert request is not None
    assert request.answer is not None
    _, start = decode_response_header(request.answer, ShareFetchRequest.API_KEY, VERSION, LENGTH_BYTES)
    (topic,) = ShareFetchResponse.decode(request.answer, VERSION, start).responses
    assert [data.acknowledge_error_code for data in topic.partitions] == [expected]
    assert client.total.accepted == 0
    is_fenced = expected is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (share_partition.phase is Phase.GONE) == is_fenced


@pytest.mark.parametrize(
    ("error", "names_leader"), [(ErrorCode.UNKNOWN_SERVER_ERROR, False), (ErrorCode.FENCED_STATE_EPOCH, True)]
)
def test_a_share_acknowledge_of_an_altered_state_says_who_leads(error, names_leader):
    client = Client()
    client.shares.metadata_store.image.leader_epoch = 3
    client.shares.produce(TOPIC, batch(b"a"))
    client.fetch()
    client.shares.states.answer = error
    request = client.acknowledge((0, 0, ACCEPT))
    assert request is not None
    assert request.answer is not None
    _, start = decode_response_header(request.answer, ShareAcknowledgeRequest.API_KEY, VERSION, LENGTH_BYTES)
    answer = ShareAcknowledgeResponse.decode(request.answer, VERSION, start)
    assert encode_response(1, answer, VERSION) == request.answer, "nothing comes after it"
    (data,) = answer.responses[0].partitions
    leader = data.current_leader.leader_id, data.current_leader.leader_epoch
    nodes = [(node.node_id, node.host, node.port, node.rack) for node in answer.node_endpoints]
    if names_leader:
        assert (leader, nodes) == ((NODE_ID, 3), [(NODE_ID, "kafka-7.example", 9092, None)])
    else:
        assert (leader, nodes) == ((0, 0), [])


def test_a_late_acknowledgement_is_counted_and_changes_nothing():
    client = Client()
    client.shares.produce(TOPIC, batch(b"a", b"b"))
    client.fetch()
    client.shares.advance(30_000)
    assert client.acknowledge((0, 1, ACCEPT)) is not None
    assert client.shares.share_partition(TOPIC).tally.of("a").late == 1
    assert client.acquired(client.fetch()) == [(0, 0, 1)]


def test_one_wrong_batch_undoes_the_others_of_its_partition():
    client = Client()
    client.shares.produce(TOPIC, batch(b"a"))
    client.shares.produce(TOPIC, batch(b"b"))
    client.fetch(max_records=1)
    before = client.count
    assert client.acknowledge((0, 0, ACCEPT), (1, 1, ACCEPT)) is not None
    assert client.count == before
    assert client.acknowledge((0, 0, ACCEPT)) is not None
    assert client.total.accepted == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"share_session_epoch": 7},
        {"share_session_epoch": 0},
        {"share_session_epoch": -1},
        {"member_id": "b"},
        {"member_id": "a" * 37},
        {"member_id": ""},
        {"group_id": "other"},
        {"group_id": "grüße"},
        {"max_records": 0},
        {"max_records": -1},
        {"max_bytes": 0},
        {"max_bytes": -5},
        {"max_wait_ms": 10, "min_bytes": 1 << 20},
        {"is_renew_ack": True},
        {"forgotten_topics_data": [ForgottenTopic(topic_id=bytes(16), partitions=[0])]},
        {"topics": [FetchTopic(topic_id=bytes(16), partitions=[FetchPartition(partition_index=0)])]},
    ],
)
def test_unusual_fetches_are_left_to_the_handler(fields):
    client = Client()
    client.shares.produce(TOPIC, batch(b"a"))
    assert client.fetch(**fields) is None
    assert client.acquired(client.fetch()) == [(0, 0, 0)]


@pytest.mark.parametrize(
    "acks",
    [
        [(1, 0, ACCEPT)],
        [(0, 0, [])],
        [(0, 1, [1, 1, 1])],
        [(0, 0, [4])],
        [(0, 0, [-1])],
        [(0, 0, [5])],
        [(0, 1, ACCEPT), (0, 1, ACCEPT)],
        [(-1, 0, ACCEPT)],
        [(-1, (1 << 63) - 1, [1, 1])],
        [(offset, offset, ACCEPT) for offset in range(501)],
        [(0, 4_000, [1] * 4_001)],
        [*((offset, offset, ACCEPT) for offset in range(400)), (400, 3_999, [1] * 3_600)],
    ],
)
def test_batches_that_cannot_be_right_and_very_many_are_left_to_the_handler(acks):
    client = Client()
    client.shares.produce(TOPIC, batch(b"a", b"b"))
    client.fetch()
    assert client.fetch(*acks) is None
    assert client.acknowledge(*acks) is None
    assert client.acknowledge((0, 1, ACCEPT)) is not None


def test_groups_that_read_committed_records_are_left_to_the_handler():
    client = Client(configs={"share.isolation.level": "read_committed"})
    client.shares.produce(TOPIC, batch(b"a"))
    assert client.fetch() is None


def test_who_waits_for_a_share_partition_comes_first():
    client = Client()
    waiting = client.shares.share_fetch(TOPIC, member_id="b", max_wait_ms=1_000)
    assert waiting.is_waiting
    assert client.fetch() is None
    client.shares.produce(TOPIC, batch(b"a"))
    client.shares.end_iteration()
    assert waiting.acquired == [(0, 0, 0, 1)]
    assert client.acquired(client.fetch()) == []


def test_a_fetch_that_has_much_to_read_is_left_to_the_handler():
    client = Client(3)
    for partition in range(3):
        client.shares.produce(TOPIC, batch(bytes(100_000)), partition=partition)
    assert client.fetch() is None
    assert client.fetch(max_bytes=200_000) is not None


def test_each_fetch_begins_with_another_partition_and_those_with_records_come_last():
    client = Client(3)
    for partition in range(3):
        client.shares.produce(TOPIC, batch(b"a"), partition=partition)
    found = [client.acquired(client.fetch(max_records=1))[0][0] for _ in range(3)]
    assert sorted(found) == [0, 1, 2]
    assert found[0] == 1
    assert list(client.session.partitions) == [(client.topic_id, partition) for partition in found]


def test_frames_that_are_cut_are_left_to_the_handler():
    client = Client()
    client.shares.produce(TOPIC, batch(b"a"))
    client.fetch()
    partition = FetchPartition(
        partition_index=0,
        acknowledgement_batches=[AcknowledgementBatch(first_offset=0, last_offset=0, acknowledge_types=ACCEPT)],
    )
    request = ShareFetchRequest(
        group_id=GROUP,
        member_id="a",
        share_session_epoch=client.session.epoch,
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=1,
        max_records=1,
        batch_size=1,
        topics=[FetchTopic(topic_id=client.topic_id, partitions=[partition])],
    )
    frame = encode_request(1, "c", request, VERSION)[LENGTH_BYTES:]
    for size in range(len(frame)):
        assert client.steady.read(frame[:size], client, 0) is None
    assert client.steady.read(frame, client, 0) is not None
