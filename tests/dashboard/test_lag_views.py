import pytest
from starlette.testclient import TestClient

from coordinator.dashboard.app import make_app
from coordinator.dashboard.board import Board
from coordinator.dashboard.lags import POINT_EVERY_MS
from tests.dashboard.groups import GROUP_ID, story
from tests.dashboard.lag_samples import described, sample

NOW = 10 * POINT_EVERY_MS
HOSTILE = "<b>\u202e/../ü?#\x07"


def browser(*groups):
    board = Board()
    board.apply(story())
    board.apply_lags(sample(NOW, *groups))
    return TestClient(make_app(board))


def quoted(group_id: str) -> str:
    return "".join(f"%{byte:02x}" for byte in group_id.encode())


def test_groups_are_listed_by_lag_also_those_without_events():
    page = browser(described(GROUP_ID, 4), described("behind", 90, oldest_ms=NOW - 7), described("unknown", None))
    rows = page.get("/api/groups").json()["groups"]
    assert [(row["group_id"], row["lag"], row["lag_ms"]) for row in rows] == [
        ("behind", 90, 7),
        (GROUP_ID, 4, None),
        ("unknown", None, None),
    ]
    assert (rows[0]["state"], rows[0]["generation_id"]) == ("Stable", None)
    by_age = page.get("/api/groups?sort=age").json()["groups"]
    assert by_age[0]["group_id"] == "behind"


def test_the_overview_has_the_lag_of_all_groups():
    told = (
        browser(described(GROUP_ID, 4), described("behind", 90), described("unknown", None)).get("/api/overview").json()
    )
    assert told["lag"] == {
        "time_ms": NOW,
        "problem": "",
        "lag": 94,
        "groups": 2,
        "groups_behind": 2,
        "groups_left_out": 0,
    }


@pytest.mark.parametrize("group_id", ["behind", HOSTILE])
def test_a_group_without_events_has_lag_by_partition_and_member(group_id):
    page, path = browser(described(group_id, 5, 0, 7, None, oldest_ms=NOW - 60_000)), quoted(group_id)
    lag = page.get(f"/api/lag/{path}").json()
    assert (lag["lag"], lag["lag_ms"], lag["partitions_total"]) == (12, 60_000, 4)
    assert [each["lag"] for each in lag["partitions"]] == [5, 0, 7, None]
    assert [(each["member"], each["host"]) for each in lag["partitions"][1:3]] == [("app", "/127.0.0.1"), (None, None)]
    assert [(each["name"], each["lag"], each["partitions_owned"]) for each in lag["members"]] == [("app", 5, 2)]
    assert lag["history"] == [[NOW, 12, 60]]
    assert page.get(f"/api/lag-history/2/{path}?topic=t").json() == [[NOW, 7, 60]]
    assert page.get(f"/api/lag-history/2/{path}?topic=other").json() == []
    group = page.get(f"/api/groups/{path}").json()
    assert (group["has_events"], group["lag"], group["generations"], group["topics"]) == (False, 12, [], ["t"])
    member = page.get(f"/api/member/{path}", params={"member_id": "m-1"}).json()
    assert (member["now"], member["lag"]["lag"], member["lag"]["topics"]) == (None, 5, ["t"])
    assert member["lag"]["history"] == [[NOW, 5, 60]]


def test_what_has_no_lag_is_said_in_one_line():
    page = browser(described("g", 1))
    for path, words in (
        ("/api/lag/none", "there is no lag of a group none: the server has no such group"),
        (f"/api/lag-history/1/{GROUP_ID}?topic=t", f"there is no lag of a group {GROUP_ID}"),
        ("/api/member/g?member_id=x", "has never had a member x"),
    ):
        answer = page.get(path)
        assert answer.status_code == 404, path
        assert words in answer.json()["error"]


def test_a_member_that_is_gone_has_no_lag():
    page = browser()
    (gone,) = [each for each in page.get(f"/api/groups/{GROUP_ID}").json()["lanes"] if each["spans"][-1][1] is not None]
    member_id = gone["member"]["member_id"]
    assert page.get(f"/api/member/{GROUP_ID}", params={"member_id": member_id}).json()["lag"] is None


def test_a_problem_of_the_sampler_is_told_until_the_next_sample():
    board = Board()
    told: list[set[str]] = []
    board.listen(told.append)
    board.note_lag_problem("cannot reach it")
    page = TestClient(make_app(board))
    assert page.get("/api/overview").json()["lag"]["problem"] == "cannot reach it"
    board.apply_lags(sample(NOW, described("g", 1)))
    assert page.get("/api/overview").json()["lag"]["problem"] == ""
    assert told == [set(), set()]


def test_no_more_partitions_are_answered_than_are_shown():
    page = browser(described("wide", *range(2_000, 0, -1)))
    lag = page.get("/api/lag/wide").json()
    assert (len(lag["partitions"]), lag["partitions_total"], lag["lag"]) == (1_000, 2_000, 2_001_000)
