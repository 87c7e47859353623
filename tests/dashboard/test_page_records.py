"""The records of a share group on its page, in a browser."""

import pytest
from playwright.sync_api import expect

from coordinator.audit.schema import EndedRecords, FirstRecord
from coordinator.dashboard.board import Board
from tests.dashboard.pages import browser, needs_chromium, served
from tests.explain.test_share_findings import Intervals, partition
from tests.simulation.simulation import GROUP_ID

pytestmark = needs_chromium


def board_with_records() -> Board:
    group = Intervals()
    first = FirstRecord(group.now_ms, 4, group.ref("a"))
    poison = EndedRecords(4, 5, 5, "lock_ended", group.ref("a"))
    for _ in range(3):
        group.tell(
            partition(first, poison, delivered_again=7, lock_ended=6, archived=2),
            a={"acquired": 1200, "accepted": 1100, "lock_ended": 6},
            b={"acquired": 90, "accepted": 90},
        )
    board = Board()
    board.groups[GROUP_ID] = group.history
    board.newest_ms = group.now_ms
    board.progress.is_live = True
    return board


@pytest.mark.parametrize("width", [390, 1400])
def test_the_records_of_a_share_group(width):
    viewport = {"width": width, "height": 1000}
    with served(board_with_records()) as url, browser(f"{url}?still#/groups/{GROUP_ID}", viewport=viewport) as page:
        section = page.locator("#records")
        expect(section.locator(".card", has_text="delivered again")).to_have_text("21delivered again")
        expect(section.locator(".card", has_text="archived at the limit")).to_have_text("6archived at the limit")
        row = section.get_by_role("row").filter(has_text="held by").first
        expect(row).to_contain_text("t-0")
        expect(row).to_contain_text("held by client-a")
        expect(section.get_by_role("row").filter(has_text="4 to 5").first).to_contain_text("lock ended at the limit")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than its window"


def test_a_group_of_another_kind_has_no_such_section():
    group = Intervals()
    board = Board()
    board.groups[GROUP_ID] = group.history
    board.progress.is_live = True
    with served(board) as url, browser(f"{url}?still#/groups/{GROUP_ID}") as page:
        expect(page.get_by_role("heading", name="Members now")).to_be_visible()
        expect(page.locator("#records")).to_have_count(0)
