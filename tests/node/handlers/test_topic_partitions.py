"""DescribeTopicPartitions, as a client sees it; what it answers was recorded from Kafka 4.3.1."""

from collections.abc import Iterator
from typing import Any

import pytest

from _wire.errors import ErrorCode
from _wire.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest, TopicRequest
from tests.node.handlers.inspecting import client_of
from tests.node.handlers.test_configs import ConfigClient

INVALID: list[tuple[str, ErrorCode, list[int]]] = [
    ("ta", ErrorCode.INVALID_REQUEST, []),
    ("tc", ErrorCode.INVALID_REQUEST, []),
]


@pytest.fixture(scope="module")
def client() -> Iterator[ConfigClient]:
    with client_of({"tb": 1, "tc": 5, "ta": 3}) as connected:
        yield connected


def ask(client: ConfigClient, *names: str, limit: int = 2000, cursor: tuple[str, int] | None = None) -> Any:
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=None if cursor is None else Cursor(topic_name=cursor[0], partition_index=cursor[1]),
    )
    return client.request(request, 0)


def page(response: Any) -> tuple[list[tuple[str, int, list[int]]], tuple[str, int] | None]:
    described = [
        (topic.name, topic.error_code, [partition.partition_index for partition in topic.partitions])
        for topic in response.topics
        if not topic.name.startswith("__")
    ]
    cursor = response.next_cursor
    return described, None if cursor is None else (cursor.topic_name, cursor.partition_index)


def test_topics_come_in_the_order_of_their_names_and_each_once(client):
    described, cursor = page(ask(client, "tc", "ta", "tc"))
    assert described == [("ta", 0, [0, 1, 2]), ("tc", 0, [0, 1, 2, 3, 4])]
    assert cursor is None


def test_a_partition_has_its_leader_as_its_only_replica(client):
    (topic,) = ask(client, "tb").topics
    (partition,) = topic.partitions
    assert (partition.leader_id, partition.leader_epoch, partition.replica_nodes, partition.isr_nodes) == (
        1,
        0,
        [1],
        [1],
    )
    assert (partition.eligible_leader_replicas, partition.last_known_elr, partition.offline_replicas) == ([], [], [])
    assert topic.topic_authorized_operations == 3576
    assert topic.topic_id != bytes(16)


def test_no_topic_asks_for_all(client):
    assert [name for name, _, _ in page(ask(client))[0]] == ["ta", "tb", "tc"]


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("nope", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("x" * 300, ErrorCode.INVALID_TOPIC_EXCEPTION),
    ],
)
def test_a_topic_that_is_not_there_has_an_error(client, name, error):
    assert page(ask(client, name)) == ([(name, error, [])], None)


@pytest.mark.parametrize(
    ("limit", "described", "cursor"),
    [
        (2, [("ta", 0, [0, 1])], ("ta", 2)),
        (3, [("ta", 0, [0, 1, 2])], ("tc", 0)),
        (4, [("ta", 0, [0, 1, 2]), ("tc", 0, [0])], ("tc", 1)),
        (8, [("ta", 0, [0, 1, 2]), ("tc", 0, [0, 1, 2, 3, 4])], None),
        (1, [("ta", 0, [0])], ("ta", 1)),
        (0, [("ta", 0, [0])], ("ta", 1)),
        (-1, [("ta", 0, [0])], ("ta", 1)),
        (2**31 - 1, [("ta", 0, [0, 1, 2]), ("tc", 0, [0, 1, 2, 3, 4])], None),
    ],
)
def test_a_page_ends_at_the_limit(client, limit, described, cursor):
    assert page(ask(client, "ta", "tc", limit=limit)) == (described, cursor)


def test_an_unknown_topic_after_a_full_page_comes_with_the_next(client):
    assert page(ask(client, "ta", "tz", limit=3)) == ([("ta", 0, [0, 1, 2])], ("tz", 0))


def test_following_the_cursor_gives_every_partition_once(client):
    seen, cursor = [], None
    while True:
        described, cursor = page(ask(client, "ta", "tb", "tc", limit=2, cursor=cursor))
        seen += [(name, index) for name, _, indexes in described for index in indexes]
        if cursor is None:
            break
    expected = [(name, index) for name, count in (("ta", 3), ("tb", 1), ("tc", 5)) for index in range(count)]
    assert seen == expected


@pytest.mark.parametrize(
    ("cursor", "described"),
    [
        (("ta", 2), [("ta", 0, [2]), ("tc", 0, [0, 1, 2, 3, 4])]),
        (("tc", 3), [("tc", 0, [3, 4])]),
        (("tc", 99), [("tc", 0, [])]),
        (("tc", 2**31 - 1), [("tc", 0, [])]),
        (("ta", -1), INVALID),
        (("tb", 0), INVALID),
        (("nope", 0), INVALID),
    ],
)
def test_the_cursor_says_where_a_page_begins(client, cursor, described):
    assert page(ask(client, "ta", "tc", cursor=cursor)) == (described, None)


def test_a_cursor_among_all_topics_may_name_one_that_is_gone(client):
    assert [name for name, _, _ in page(ask(client, cursor=("taa", 5)))[0]] == ["tb", "tc"]
