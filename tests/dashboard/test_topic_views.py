import pytest
from starlette.testclient import TestClient

from coordinator.dashboard import topic_views
from coordinator.dashboard.app import make_app
from coordinator.dashboard.board import Board
from tests.dashboard.groups import GROUP_ID, story
from tests.dashboard.lag_samples import described, sample

NOW = 100_000


def browser(*groups):
    board = Board()
    board.apply(story())
    board.apply_lags(sample(NOW, *groups))
    return TestClient(make_app(board))


def test_a_topic_has_the_groups_that_consume_it_by_lag():
    page = browser(described(GROUP_ID, 4, 0), described("behind", 90, None, 3, oldest_ms=NOW - 7), described("idle"))
    found = page.get("/api/topics/t").json()
    assert (found["lag"], found["lag_ms"], found["groups_total"]) == (97, 7, 2)
    rows = [
        (each["group_id"], each["lag"], each["partitions_committed"], each["partitions_owned"])
        for each in found["groups"]
    ]
    assert rows == [("behind", 93, 2, 2), (GROUP_ID, 4, 2, 2)]


def test_a_group_that_only_subscribes_to_a_topic_consumes_it():
    found = browser().get("/api/topics/t").json()
    assert [(each["group_id"], each["lag"], each["members_subscribed"]) for each in found["groups"]] == [
        (GROUP_ID, None, 1)
    ]


def test_topics_are_listed_by_lag():
    found = browser(described("behind", 90)).get("/api/topics").json()
    assert found == {"total": 1, "topics": [{"topic": "t", "groups": 2, "lag": 90, "lag_ms": None}]}


@pytest.mark.parametrize("topic", ["", "other", "a/b", "%00"])
def test_a_topic_that_no_group_consumes_is_not_found(topic):
    answer = browser().get(f"/api/topics/{topic}")
    assert answer.status_code == 404
    assert "no group consumes a topic" in answer.json()["error"]


def test_no_more_groups_and_topics_are_answered_than_are_shown(monkeypatch):
    monkeypatch.setattr(topic_views, "GROUPS_SHOWN", 2)
    found = browser(*(described(f"g{number}", number) for number in range(1, 5))).get("/api/topics/t").json()
    assert (found["groups_total"], [each["group_id"] for each in found["groups"]]) == (5, ["g4", "g3"])
