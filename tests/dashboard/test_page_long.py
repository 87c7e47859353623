"""Long tables of the page: they begin short, find and sort; and names that would not be seen."""

import pytest
from playwright.sync_api import Page, expect

from coordinator.audit.schema import MemberRef
from coordinator.client.group_description import DescribedGroup, PartitionLag
from coordinator.client.group_members import DescribedMember
from coordinator.core.causes import Cause
from coordinator.dashboard import views
from coordinator.dashboard.board import Board
from coordinator.dashboard.names import MemberNames
from coordinator.explain.generation import Generation
from coordinator.explain.history import GroupHistory
from tests.dashboard.groups import crowd, emptied, renamed, story
from tests.dashboard.lag_samples import described, sample
from tests.dashboard.pages import browser, needs_chromium, served
from tests.dashboard.test_page_views import NOW, ended_at, live
from tests.pipeline.history import History

CROWD = 1_000
PIXELS_MAX = 6_000
PIXELS_MAX_NARROW = 7_500
"""On a phone each row of a table is a list of its own."""

MEMBERS_NOW = "[id='members now of crowd']"
LAGS = "[id='lag by partition of  of crowd']"


def lag_of_crowd(members: int) -> DescribedGroup:
    owners = [
        DescribedMember(f"consumer-{number:04}-id", f"consumer-{number:04}", "/127.0.0.1", None, {"orders": [number]})
        for number in range(members - 1)
    ]
    partitions = [
        PartitionLag("orders", number, 10, 10 + number % 7, owners[number].member_id if number < members - 1 else None)
        for number in range(members)
    ]
    return DescribedGroup("crowd", "Stable", "consumer", "range", owners, partitions)


def crowded(members: int = CROWD) -> Board:
    board = live(ended_at(crowd(members), NOW))
    board.apply_lags(sample(NOW, lag_of_crowd(members)))
    return board


def names_in(page: Page, table: str) -> list[str]:
    return page.locator(f"{table} tbody tr td:first-child").all_inner_texts()


@needs_chromium
@pytest.mark.parametrize(("width", "most"), [(1400, PIXELS_MAX), (400, PIXELS_MAX_NARROW)])
def test_the_page_of_a_thousand_members_has_an_end(width: int, most: int):
    viewport = {"width": width, "height": 1_000}
    with served(crowded()) as url, browser(f"{url}?still#/groups/crowd", viewport=viewport) as page:
        expect(page.locator(f"{LAGS} tbody tr").first).to_be_visible()
        expect(page.locator(f"{MEMBERS_NOW} tbody tr").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollHeight") <= most
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@needs_chromium
def test_all_rows_are_shown_when_asked_for_and_stay_so():
    with served(crowded(40)) as url, browser(f"{url}?still#/groups/crowd") as page:
        expect(page.locator(MEMBERS_NOW)).to_contain_text("and 30 more")
        assert names_in(page, MEMBERS_NOW) == [f"consumer-{number:04}" for number in range(10)]
        page.locator(f"{MEMBERS_NOW} button", has_text="show all 40").click()
        expect(page.locator(f"{MEMBERS_NOW} tbody tr")).to_have_count(40)
        page.locator("#zone").click()
        expect(page.locator("#zone")).to_have_text("UTC")
        expect(page.locator(f"{MEMBERS_NOW} tbody tr")).to_have_count(40)
        page.locator(f"{MEMBERS_NOW} button", has_text="show 10").click()
        expect(page.locator(f"{MEMBERS_NOW} tbody tr")).to_have_count(10)
        page.locator("#members-more").click()
        expect(page.locator("#members-more")).to_have_text("show fewer lanes")
        expect(page.get_by_role("heading", name="Members over time")).to_have_text("Members over time")


@needs_chromium
def test_a_row_is_found_while_the_page_is_drawn_again():
    with served(crowded(40)) as url, browser(f"{url}?still#/groups/crowd") as page:
        find = page.locator(f"{MEMBERS_NOW} input")
        find.click()
        page.keyboard.type("R-0033")
        expect(page.locator(f"{MEMBERS_NOW} tbody tr")).to_have_count(1)
        assert names_in(page, MEMBERS_NOW) == ["consumer-0033"]
        page.keyboard.press("ArrowLeft")
        page.evaluate("document.getElementById('zone').click()")
        expect(page.locator("#zone")).to_have_text("UTC")
        page.keyboard.press("Backspace")
        expect(find).to_have_value("R-003")
        page.keyboard.press("Backspace")
        expect(find).to_have_value("R-03")
        find.fill("nobody has this name")
        expect(page.locator(MEMBERS_NOW)).to_contain_text("No row matches.")


@needs_chromium
def test_heads_sort_and_the_third_click_gives_the_first_order_back():
    with served(crowded(40)) as url, browser(f"{url}?still#/groups/crowd") as page:
        head = page.locator(f"{LAGS} th", has_text="partition")
        expect(head).to_have_attribute("aria-sort", "none")
        first = names_in(page, LAGS)
        head.get_by_role("button").click()
        expect(head).to_have_attribute("aria-sort", "ascending")
        assert names_in(page, LAGS) == [f"orders-{number}" for number in range(10)]
        page.keyboard.press("Enter")
        expect(head).to_have_attribute("aria-sort", "descending")
        assert names_in(page, LAGS) == [f"orders-{39 - number}" for number in range(10)]
        head.get_by_role("button").click()
        expect(head).to_have_attribute("aria-sort", "none")
        assert names_in(page, LAGS) == first
        page.locator(f"{LAGS} th", has_text="lag").first.get_by_role("button").click()
        lags = page.locator(f"{LAGS} tbody tr td:nth-child(2)").all_inner_texts()
        assert lags == sorted(lags, reverse=True)
        assert lags[0] == "6"


@needs_chromium
def test_on_a_phone_a_list_sorts_in_place_of_the_heads():
    viewport = {"width": 400, "height": 1_000}
    with served(crowded(40)) as url, browser(f"{url}?still#/groups/crowd", viewport=viewport) as page:
        page.locator(f"{LAGS} select").select_option("log end offset")
        expect(page.locator(f"{LAGS} tbody tr").first).to_contain_text("16")


@needs_chromium
def test_the_heads_of_the_list_of_groups_sort_it():
    board = live(renamed(ended_at(story(), NOW), "a"), renamed(ended_at(story(), NOW - 1_000), "b"))
    board.apply_lags(sample(NOW, described("a", 3, 4), described("b", 9, 9)))
    with served(board) as url, browser(f"{url}?still#/") as page:
        rows = page.locator("section:has(#choose-state) tbody tr")
        expect(rows).to_contain_text(["b", "a"])
        page.get_by_role("columnheader", name="group", exact=True).get_by_role("link").first.click()
        expect(rows).to_contain_text(["a", "b"])
        assert page.url.endswith("sort=group")
        expect(page.locator("th:has(#sort-group)")).to_have_attribute("aria-sort", "ascending")
        expect(page.locator("th:has(#sort-lag)")).to_have_attribute("aria-sort", "none")


@needs_chromium
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (" ", '" "'),
        ("   ", '"   "'),
        (" a", '" a"'),
        ('" "', '"" ""'),
        ("\ufe0f", "\\u{fe0f}"),
        ("\u034f\u17b4", "\\u{34f}\\u{17b4}"),
        ("\u0301", "\\u{301}"),
        ("\u3164", "\\u{3164}"),
        ("a b", "a b"),
        ("é", "é"),
    ],
)
def test_a_name_that_would_not_be_seen_is_spelled_out(name: str, shown: str):
    ref = MemberRef(f"m-{name}", name, "/127.0.0.1")
    board = live(ended_at(History(name).created().stable_with(Cause.NEW_MEMBER, ref).events, NOW))
    board.apply_lags(sample(NOW, described(name, 3, 4)))
    with served(board) as url, browser(f"{url}?still#/") as page:
        link = page.locator("section:has(#choose-state) tbody a").first
        expect(link).to_have_text(shown, use_inner_text=True)
        link.click()
        assert page.locator("h1 bdi").inner_text() == shown
        assert page.title() == f"{' '.join(shown.split())} · consumer groups"
        member = page.locator("[id^='members now of'] tbody a").first
        assert member.inner_text() == shown
        member.click()
        expect(page.get_by_text("In the group, with")).to_be_visible()
        assert page.locator("h1 bdi").inner_text() == shown


def test_the_lanes_are_those_of_the_members_that_were_there_last():
    events = crowd(views.LANES_SHOWN + 5)
    history = GroupHistory.of("crowd", events)
    told = views.member_lanes(history.generations, MemberNames.of_history(history))
    assert told["lanes_total"] == views.LANES_SHOWN + 5
    assert len(told["lanes"]) == views.LANES_SHOWN
    gone = history.generations[0].member  # it left before the last generation
    assert gone is not None
    assert gone.member_id not in {each["member"]["member_id"] for each in told["lanes"]}
    history = GroupHistory.of("orders", emptied())
    told = views.member_lanes(history.generations, MemberNames.of_history(history))
    assert told["lanes_total"] == len(told["lanes"]) == 2


def test_of_many_generations_the_lanes_of_fewer_members_are_shown(monkeypatch: pytest.MonkeyPatch):
    history = GroupHistory.of("crowd", crowd(20))
    monkeypatch.setattr(views, "SPANS_SHOWN", 21)
    told = views.member_lanes(history.generations, MemberNames.of_history(history))
    assert (len(told["lanes"]), told["lanes_total"]) == (7, 20)
    assert sum(len(each["spans"]) for each in told["lanes"]) == 21


def test_of_many_generations_the_owners_of_fewer_partitions_are_told(monkeypatch: pytest.MonkeyPatch):
    history = GroupHistory.of("crowd", crowd(20))
    everything = views.ownership(history)["partitions"]
    assert len(everything) == 20
    spans = [len(each["spans"]) for each in everything]
    monkeypatch.setattr(views, "OWNER_SPANS_SHOWN", sum(spans[:7]))
    told = views.ownership(history)
    assert (told["partitions"], told["total"]) == (everything[:7], 20)


def test_the_members_of_a_generation_are_looked_at_once_for_all_its_partitions(monkeypatch: pytest.MonkeyPatch):
    history = GroupHistory.of("crowd", crowd(20))
    looked: list[int] = []

    def is_cooperative(self: Generation) -> bool:
        looked.append(self.generation_id)
        return False

    monkeypatch.setattr(Generation, "is_cooperative", property(is_cooperative))
    views.ownership(history)
    assert sorted(looked) == [generation.generation_id for generation in history.generations]
