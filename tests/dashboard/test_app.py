import asyncio
import json

import pytest
from starlette.testclient import TestClient

from coordinator.dashboard import app as module
from coordinator.dashboard.app import changes, make_app
from coordinator.dashboard.board import Board
from tests.dashboard.groups import GROUP_ID, board_of, renamed, story

HOSTILE = "<img src=x onerror=alert(1)>/../ü?#"


def client(*groups):
    return TestClient(make_app(board_of(*groups)))


def quoted(group_id: str) -> str:
    return "".join(f"%{byte:02x}" for byte in group_id.encode())


def test_the_page_and_its_files_come_from_here_alone():
    answer = client().get("/")
    assert answer.status_code == 200
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    for name in ("main.js", "style.css", "vendor/echarts.min.js", "vendor/echarts.LICENSE"):
        assert client().get(f"/static/{name}").status_code == 200, name


@pytest.mark.parametrize("group_id", [GROUP_ID, "a/b", "generation/1/x", "two\nlines\n", "", HOSTILE])
def test_groups_of_any_name_are_found(group_id):
    browser, name = client(renamed(story(), group_id)), quoted(group_id)
    told = browser.get(f"/api/groups/{name}").json()
    assert told["group_id"] == group_id
    latest = told["generations"][-1]["generation_id"]
    assert browser.get(f"/api/generation/{latest}/{name}").json()["generation_id"] == latest
    assert browser.get(f"/api/ownership/{name}").json()["total"] == 4
    assert browser.get(f"/api/diff/1/{latest}/{name}").json()["b"]["generation_id"] == latest
    member_id = told["members_now"][0]["member"]["member_id"]
    assert browser.get(f"/api/member/{name}", params={"member_id": member_id}).json()["member_id"] == member_id


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/api/groups/unknown", "there are no events of a group unknown"),
        ("/api/groups/un%0aknown", "there are no events of a group un\\nknown"),
        (f"/api/generation/99/{GROUP_ID}", "there are no events of a generation 99"),
        (f"/api/member/{GROUP_ID}?member_id=m", "has never had a member m"),
    ],
)
def test_what_does_not_exist_is_said_in_one_line(path, words):
    answer = client(story()).get(path)
    assert answer.status_code == 404
    assert words in answer.json()["error"]


@pytest.mark.parametrize("query", ["sort=colour", "dead=maybe", "offset=-1", "limit=x", "limit=99999999999"])
def test_wrong_query_parameters_are_rejected(query):
    answer = client(story()).get(f"/api/groups?{query}")
    assert answer.status_code == 400
    assert "expected" in answer.json()["error"]


def test_an_empty_board_is_answered():
    told = client().get("/api/overview").json()
    assert (told["groups"], told["worst"], told["progress"]["is_live"]) == (0, [], False)
    assert client().get("/api/groups").json() == {"total": 0, "groups": []}


async def messages(board: Board, act, count: int) -> list[dict]:
    async def connected() -> bool:
        return False

    stream = changes(board, connected)
    found = []
    async for message in stream:
        found.append(json.loads(message.decode().removeprefix("data: ")))
        if len(found) == count:
            break
        act()
    await stream.aclose()
    return found


def test_changes_are_pushed(monkeypatch):
    monkeypatch.setattr(module, "REPORT_EVERY_SECONDS", 0)
    board = board_of()
    first, second = asyncio.run(messages(board, lambda: board.apply(story()), 2))
    assert (first["groups"], second["groups"]) == ([], [GROUP_ID])
    assert second["newest_ms"] == board.newest_ms
    assert not board._listeners


def test_more_changes_than_a_message_names_are_all(monkeypatch):
    monkeypatch.setattr(module, "REPORT_EVERY_SECONDS", 0)
    monkeypatch.setattr(module, "CHANGED_NAMED_MAX", 1)
    board = board_of()
    events = story()
    _, second = asyncio.run(messages(board, lambda: board.apply([*events, *renamed(events, "other")]), 2))
    assert second["groups"] is None
