"""Actions of the page against a real server, and the ways in which they are refused."""

from collections.abc import Mapping

import pytest
from starlette.testclient import TestClient

from _wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from _wire.records import build_batch
from coordinator.client.cluster import Cluster
from coordinator.client.committed_offsets import committed_offsets
from coordinator.client.group_description import described_members
from coordinator.dashboard import actions as module
from coordinator.dashboard.app import make_app
from coordinator.dashboard.board import Board
from coordinator.dashboard.links import Origin
from coordinator.http_guard import HttpGuard
from tests.servers import RunningServer
from tests.wire_client import WireClient

HOUR_MS = 3_600_000
BORN_MS = 1_700_000_000_000
HOSTILE = "<b>/\u202e\n ü?#"
RECORDS = 10
ACTIONS = ("reset-offsets", "delete-offsets", "remove-members", "delete-group")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A topic of two partitions with ten records each, one an hour."""
    with RunningServer(tmp_path_factory.mktemp("actions")) as running:
        with WireClient(running.bootstrap) as client:
            client.create_topic("orders", 2)
            for partition in range(2):
                for number in range(RECORDS):
                    batch = build_batch([(None, b"v")], timestamp_ms=BORN_MS + number * HOUR_MS)
                    client.produce("orders", batch, partition=partition)
        yield running


@pytest.fixture
def group(server, request):
    """A group without members, with the offsets 3 and 7."""
    group_id = f"{HOSTILE}{request.node.name}"
    commit(server, group_id, {0: 3, 1: 7})
    return group_id


def commit(server: RunningServer, group_id: str, offsets: Mapping[int, int], topic: str = "orders") -> None:
    partitions = [
        OffsetCommitRequestPartition(partition_index=index, committed_offset=offset)
        for index, offset in offsets.items()
    ]
    topics = [OffsetCommitRequestTopic(name=topic, partitions=partitions)]
    with WireClient(server.bootstrap) as client:
        response = client.request(OffsetCommitRequest(group_id=group_id, topics=topics), 8)
    assert all(not partition.error_code for topic in response.topics for partition in topic.partitions)


def page_of(server) -> TestClient:
    return TestClient(make_app(Board(), Origin(server.bootstrap), allow_actions=True))


def quoted(group_id: str) -> str:
    return "".join(f"%{byte:02x}" for byte in group_id.encode())


def plan(server, action, group_id, **query):
    answer = page_of(server).get(f"/api/plans/{action}/{quoted(group_id)}", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def act(server, action, group_id, body):
    return page_of(server).post(f"/api/actions/{action}/{quoted(group_id)}", json=body)


def offsets_of(server, group_id):
    with Cluster(server.bootstrap, "test", 10) as cluster:
        found = committed_offsets(cluster.coordinator(group_id), group_id)
    return {partition: offset for (_, partition), offset in found.items()}


def members_of(server, group_id):
    with Cluster(server.bootstrap, "test", 10) as cluster:
        return [
            described_member.member_id
            for described_member in described_members(cluster.coordinator(group_id), group_id)
        ]


@pytest.mark.parametrize(
    ("query", "after"),
    [
        ({"to": "earliest"}, [0, 0]),
        ({"to": "latest"}, [10, 10]),
        ({"to": "time", "at": BORN_MS + 4 * HOUR_MS - 1}, [4, 4]),
        ({"to": "time", "at": BORN_MS + 100 * HOUR_MS}, [10, 10]),
        ({"to": "offset", "at": 5}, [5, 5]),
        ({"to": "offset", "at": 2**63 - 1}, [10, 10]),
    ],
)
def test_offsets_are_reset_as_they_were_planned(server, group, query, after):
    planned = plan(server, "reset-offsets", group, **query)
    assert planned["offsets"] == [["orders", 0, 3, after[0]], ["orders", 1, 7, after[1]]]
    assert offsets_of(server, group) == {0: 3, 1: 7}
    answer = act(server, "reset-offsets", group, {"offsets": planned["offsets"]})
    assert (answer.status_code, answer.json()) == (200, {"done": "2 partitions"})
    assert offsets_of(server, group) == dict(enumerate(after))


def test_one_partition_is_reset(server, group):
    planned = plan(server, "reset-offsets", group, to="latest", topic="orders", partition=1)
    assert planned["offsets"] == [["orders", 1, 7, 10]]
    act(server, "reset-offsets", group, planned)
    assert offsets_of(server, group) == {0: 3, 1: 7}  # a plan has more fields than a confirmation: nothing happened
    assert act(server, "reset-offsets", group, {"offsets": planned["offsets"]}).status_code == 200
    assert offsets_of(server, group) == {0: 3, 1: 10}


def test_all_partitions_of_a_topic_are_reset_also_without_an_offset(server):
    commit(server, "half", {0: 3})
    planned = plan(server, "reset-offsets", "half", to="earliest", topic="orders")
    assert planned["offsets"] == [["orders", 0, 3, 0], ["orders", 1, None, 0]]
    assert act(server, "reset-offsets", "half", {"offsets": planned["offsets"]}).status_code == 200
    assert offsets_of(server, "half") == {0: 0, 1: 0}


def test_offsets_that_moved_after_the_plan_are_left_alone(server, group):
    planned = plan(server, "reset-offsets", group, to="earliest")
    commit(server, group, {1: 8})
    answer = act(server, "reset-offsets", group, {"offsets": planned["offsets"]})
    assert answer.status_code == 409
    assert answer.json()["error"] == "the committed offset of orders-1 is 8 and no longer 7; nothing was changed"
    assert offsets_of(server, group) == {0: 3, 1: 8}


def test_offsets_of_a_topic_are_deleted(server, group):
    planned = plan(server, "delete-offsets", group, topic="orders")
    assert planned["offsets"] == [["orders", 0, 3, None], ["orders", 1, 7, None]]
    assert act(server, "delete-offsets", group, {"offsets": planned["offsets"]}).status_code == 200
    assert offsets_of(server, group) == {}


def test_members_are_removed_and_offsets_are_kept_from_a_group_with_members(server, group):
    with WireClient(server.bootstrap) as client:
        member_id = client.join_alone(group, instance_id="blue")
        planned = plan(server, "remove-members", group)
        (member,) = planned["members"]
        assert (member["member_id"], member["name"]) == (member_id, "blue")

        rejected = act(server, "reset-offsets", group, {"offsets": [["orders", 0, 3, 0]]})
        assert rejected.status_code == 502
        assert rejected.json()["error"].endswith("UNKNOWN_MEMBER_ID, the group has members; stop its consumers first")
        assert rejected.json()["error"].isprintable()
        rejected = act(server, "delete-group", group, {"group_id": group})
        assert "NON_EMPTY_GROUP" in rejected.json()["error"]
        assert offsets_of(server, group) == {0: 3, 1: 7}

        assert act(server, "remove-members", group, {"member_ids": [member_id]}).status_code == 200
        assert members_of(server, group) == []
        again = act(server, "remove-members", group, {"member_ids": [member_id]})
        assert again.status_code == 502
        assert "has no member" in again.json()["error"]


def test_a_group_is_deleted_with_its_offsets(server, group):
    planned = plan(server, "delete-group", group)
    assert planned == {"members": [], "offsets": [["orders", 0, 3, None], ["orders", 1, 7, None]]}
    other = act(server, "delete-group", group, {"group_id": "other"})
    assert (other.status_code, offsets_of(server, group)) == (400, {0: 3, 1: 7})
    assert act(server, "delete-group", group, {"group_id": group}).status_code == 200
    assert offsets_of(server, group) == {}
    assert "GROUP_ID_NOT_FOUND" in act(server, "delete-group", group, {"group_id": group}).json()["error"]


@pytest.mark.parametrize("action", ACTIONS)
def test_nothing_is_done_or_planned_without_the_option(server, group, action):
    page = TestClient(make_app(Board(), Origin(server.bootstrap)))
    body = {"offsets": [["orders", 0, 3, 0]], "member_ids": ["m"], "group_id": group}
    for answer in (
        page.post(f"/api/actions/{action}/{quoted(group)}", json=body),
        page.get(f"/api/plans/{action}/{quoted(group)}?to=earliest"),
    ):
        assert (answer.status_code, answer.json()["error"]) == (403, module.FORBIDDEN)
    assert offsets_of(server, group) == {0: 3, 1: 7}


def test_actions_are_posts_of_json_from_the_page_itself(server, group):
    address, body = f"/api/actions/delete-group/{quoted(group)}", {"group_id": group}
    page = TestClient(HttpGuard(make_app(Board(), Origin(server.bootstrap), allow_actions=True), "127.0.0.1", (), "x"))
    page.base_url = "http://localhost:8080"
    assert page.get(address).status_code == 405
    assert page.post(address, data={"group_id": group}).status_code == 415
    assert (
        page.post(address, content=f'{{"group_id": "{group}"}}', headers={"content-type": "text/plain"}).status_code
        == 415
    )
    for headers in (
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"host": "evil.example"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ):
        assert page.post(address, json=body, headers=headers).status_code == 403, headers
    assert page.options(address, headers={"origin": "http://evil.example"}).status_code == 403
    assert offsets_of(server, group) == {0: 3, 1: 7}
    same = {"origin": "http://localhost:8080", "sec-fetch-site": "same-origin"}
    assert page.post(address, json=body, headers=same).status_code == 200
    assert offsets_of(server, group) == {}


@pytest.mark.parametrize(
    ("action", "body"),
    [
        ("reset-offsets", {}),
        ("reset-offsets", {"offsets": []}),
        ("reset-offsets", {"offsets": [["orders", -1, 3, 0]]}),
        ("reset-offsets", {"offsets": [["orders", 0, 3, -1]]}),
        ("reset-offsets", {"offsets": [["orders", 0, 3, 2**63]]}),
        ("reset-offsets", {"offsets": [["orders", 0, 3, None]]}),
        ("reset-offsets", {"offsets": [["orders", 0, 3]]}),
        ("delete-offsets", {"offsets": [["orders", 0, 3, 4]]}),
        ("remove-members", {"member_ids": []}),
        ("remove-members", {"member_ids": "all"}),
        ("delete-group", {"group_id": None}),
        ("delete-group", {"group_id": "g", "force": True}),
        ("delete-group", []),
    ],
)
def test_a_body_that_confirms_nothing_is_400_in_one_line(server, group, action, body):
    answer = act(server, action, group, body)
    assert answer.status_code == 400
    assert answer.json()["error"].isprintable()
    assert offsets_of(server, group) == {0: 3, 1: 7}


def test_a_body_that_is_too_large_is_413(server, monkeypatch):
    monkeypatch.setattr(module, "BODY_BYTES_MAX", 100)
    assert act(server, "delete-group", "g", {"group_id": "g" * 200}).status_code == 413


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"to": ""}, "to=: expected earliest, latest, time or offset"),
        ({"to": "offset"}, "at=: expected a number"),
        ({"to": "offset", "at": "-1"}, "at=-1: expected a number"),
        ({"to": "time", "at": str(2**63)}, "expected a number from 0 to 9223372036854775807"),
        ({"to": "latest", "partition": "0"}, "a partition needs a topic"),
        ({"to": "latest", "topic": "orders", "partition": "x"}, "partition=x: expected a number"),
    ],
)
def test_a_plan_with_a_wrong_parameter_is_400(server, query, words):
    answer = page_of(server).get("/api/plans/reset-offsets/g", params=query)
    assert answer.status_code == 400
    assert words in answer.json()["error"]


@pytest.mark.parametrize(
    ("action", "query", "words"),
    [
        ("reset-offsets", {"to": "latest"}, "group none has no committed offsets"),
        ("reset-offsets", {"to": "latest", "topic": "none"}, "there is no topic none"),
        ("reset-offsets", {"to": "latest", "topic": "orders", "partition": "9"}, "there is no partition orders-9"),
        ("delete-offsets", {"topic": "orders"}, "there is no topic orders, or group none has no offsets of it"),
    ],
)
def test_what_cannot_be_planned_is_one_line(server, action, query, words):
    answer = page_of(server).get(f"/api/plans/{action}/none", params=query)
    assert answer.status_code == 502
    assert words in answer.json()["error"]


def test_an_unknown_action_and_a_server_that_is_gone_are_one_line(server):
    assert page_of(server).get("/api/plans/explode/g").status_code == 404
    assert act(server, "explode", "g", {}).status_code == 404
    gone = TestClient(make_app(Board(), Origin("127.0.0.1:1"), allow_actions=True))
    answer = gone.get("/api/plans/delete-group/g")
    assert answer.status_code == 502
    assert answer.json()["error"].startswith("cannot reach 127.0.0.1:1")
