"""The views of the page in a browser, of boards that do not change."""

import time

import msgspec
import pytest
from playwright.sync_api import expect

from coordinator.audit.schema import AuditEvent, MemberRef
from coordinator.core.causes import Cause
from coordinator.dashboard.board import Board
from coordinator.dashboard.links import Origin
from coordinator.dashboard.views import ownership
from coordinator.explain.history import GroupHistory
from tests.audit.consumer_stories import named
from tests.core.consumer.world import World
from tests.dashboard.groups import emptied, renamed, story
from tests.dashboard.lag_samples import described, sample
from tests.dashboard.pages import browser, needs_chromium, served
from tests.pipeline.history import History, member

pytestmark = needs_chromium

NOW = time.time_ns() // 1_000_000
HOUR_MS = 3_600_000
HOSTILE = "<b>\u202egnp\u2066.exe\u200b\x07\n"
SPELLED = "<b>\\u{202e}gnp\\u{2066}.exe\\u{200b}\\u{7}\\u{a}"


def ended_at(events: list[AuditEvent], time_ms: int) -> list[AuditEvent]:
    """The same events, the last of them at this time."""
    shift_ms = time_ms - max(event.time_ms for event in events)
    return [msgspec.structs.replace(event, time_ms=event.time_ms + shift_ms) for event in events]


def live(*groups: list[AuditEvent]) -> Board:
    board = Board()
    for events in groups:
        board.apply(events)
    board.progress.is_live = board.progress.is_following = True
    return board


def long_story(group_id: str = "long") -> list[AuditEvent]:
    """Generations 1 and 2 two hours before 3."""
    history = History(group_id).created()
    for apart_ms in (0, 0, 2 * HOUR_MS):
        history.now_ms += apart_ms
        history.stable_with(Cause.LEADER_REJOINED, member("a"))
    return ended_at(history.events, NOW)


def axis(page, chart="timeline"):
    """From and to of the time axis of a chart."""
    return page.evaluate(
        f"echarts.getInstanceByDom(document.getElementById('{chart}')).getModel().getComponent('xAxis').axis.scale.getExtent()"
    )


def test_the_range_of_the_timelines_is_chosen_and_in_the_address():
    with served(live(long_story())) as url, browser(f"{url}?still#/groups/long") as page:
        expect(page.locator("#timeline canvas").first).to_be_visible()
        begin, end = axis(page)
        assert end - begin > 2 * HOUR_MS
        for name, length_ms in (("15m", HOUR_MS / 4), ("1h", HOUR_MS)):
            page.locator(f"#range-{name}").click()
            expect(page.locator(f"#range-{name}")).to_have_attribute("aria-current", "true")
            assert page.url.endswith(f"range={name}")
            for chart in ("timeline", "members", "partitions"):
                begin, end = axis(page, chart)
                assert end - begin == pytest.approx(length_ms, rel=0.02)
            assert NOW <= end <= time.time() * 1000
        page.get_by_role("link", name="2", exact=True).first.click()
        expect(page.get_by_role("heading", name="Generation 2")).to_be_visible()
        assert page.url.endswith("range=1h")


def test_the_axis_of_a_dead_group_ends_with_its_last_event():
    history = History("dead").created().stable_with(Cause.NEW_MEMBER, member("a")).removed()
    events = ended_at(history.events, NOW - HOUR_MS)
    with served(live(events, long_story())) as url, browser(f"{url}?still#/groups/dead") as page:
        expect(page.locator("#timeline canvas").first).to_be_visible()
        assert axis(page)[1] == events[-1].time_ms
        expect(page.get_by_text("Gone: an administrator deleted the group.")).to_be_visible()


def test_dead_groups_are_shown_when_asked_for():
    board = live(story(), History("gone").created().removed().events)
    with served(board) as url, browser(f"{url}?still#/") as page:
        rows = page.locator("section:has(#choose-state) tbody tr")
        expect(rows).to_have_count(1)
        page.get_by_label("show 1 dead group").check()
        expect(rows).to_have_count(2)
        assert page.url.endswith("dead=1")
        page.reload()
        expect(rows).to_have_count(2)


def test_what_cannot_be_seen_is_spelled_out_everywhere():
    evil = MemberRef(f"m-{HOSTILE}", HOSTILE, "/127.0.0.1")
    history = History(HOSTILE).created().stable_with(Cause.NEW_MEMBER, evil)
    board = live(ended_at(history.events, NOW))
    board.apply_lags(sample(NOW, described(HOSTILE, 3, 4)))
    with served(board) as url, browser(f"{url}?still#/") as page:
        page.get_by_role("link", name=SPELLED).first.click()
        expect(page.get_by_role("heading", level=1)).to_contain_text(SPELLED)
        expect(page.get_by_role("link", name=SPELLED).first).to_be_visible()
        page.locator("#members-table").click()
        everything = page.locator("html").inner_text() + page.title() + page.content()
        assert not set(everything) & {"\u202e", "\u2066", "\u200b", "\x07"}
        assert page.locator("h1 bdi").count() == 1
        assert page.title().startswith(SPELLED)


def test_lanes_of_one_client_id_are_told_apart_and_their_labels_are_whole_in_the_title():
    refs = [
        MemberRef(f"rdkafka-{digit * 8}-77b1-4a4b-8f3c-{digit * 12}", "rdkafka" * 5, "/127.0.0.1") for digit in "12"
    ]
    history = History("twins").created().rebalance(Cause.NEW_MEMBER, refs[0]).started(2)
    for number, ref in enumerate(refs):
        history.assigned(ref, [number])
    history.stable(2, moved=2)
    with served(live(ended_at(history.events, NOW))) as url, browser(f"{url}?still#/groups/twins") as page:
        expect(page.locator("#members canvas").first).to_be_visible()
        labels = page.evaluate(
            "(({axis}) => axis.getTicksCoords().length && axis.getViewLabels().map(each => each.formattedLabel))"
            "(echarts.getInstanceByDom(document.getElementById('members')).getModel().getComponent('yAxis'))"
        )
        assert len(set(labels)) == 2
        assert all("…" in label and label.endswith(digit * 8) for label, digit in zip(labels, "12", strict=True))
        page.locator("#members").scroll_into_view_if_needed()
        box = page.locator("#members").bounding_box()
        assert box is not None
        # Labels end where the lanes begin, whatever the fonts of this machine are.
        right, middle = page.evaluate(
            "(chart => [chart.getModel().getComponent('grid').coordinateSystem.getRect().x,"
            " chart.convertToPixel({ yAxisIndex: 0 }, 0)])"
            "(echarts.getInstanceByDom(document.getElementById('members')))"
        )
        page.mouse.move(box["x"] + right - 20, box["y"] + middle)
        expect(page.locator("#members")).to_have_attribute("title", f"{'rdkafka' * 5}-11111111")


def test_enter_opens_the_one_group_that_is_found():
    board = live(story(), renamed(emptied(), "other"), renamed(emptied(), "other 2"))
    with served(board) as url, browser(f"{url}?still#/") as page:
        page.keyboard.press("/")
        page.keyboard.type("other 2")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_contain_text("other 2")
        page.locator("#query").fill("other")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_contain_text("other")
        page.locator("#query").fill("o")
        page.keyboard.press("Enter")
        expect(page.get_by_text("groups found")).to_be_visible()


def test_times_are_local_and_switch_to_utc():
    board = live(long_story())
    with served(board) as url, browser(f"{url}?still#/groups/long", timezone_id="Asia/Kolkata") as page:
        headline = page.locator(".headline")
        expect(headline).to_be_visible()
        local = time.strftime("%H:%M", time.gmtime(NOW / 1000 + 5.5 * 3600))
        utc = time.strftime("%H:%M", time.gmtime(NOW / 1000))
        expect(headline).to_contain_text(local)
        expect(page.locator("#zone")).to_have_attribute(
            "title", "Times are in local time (Asia/Calcutta). Switch to UTC."
        )
        page.locator("#zone").click()
        expect(headline).to_contain_text(f"{utc}")
        expect(headline).to_contain_text("UTC")
        expect(page.locator("#zone")).to_have_text("UTC")


def test_the_command_for_a_terminal_is_copied():
    name = "a b\u202e"
    board = live(renamed(ended_at(story(), NOW), name))
    with served(board, Origin("127.0.0.1:9092")) as url, browser(f"{url}?still#/") as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.get_by_role("link", name="a b").first.click()
        page.locator("#copy-command").click()
        expect(page.locator("#copy-command")).to_have_text("copied")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied.startswith(
            "coordinator groups why $'a b\\xe2\\x80\\xae' --bootstrap 127.0.0.1:9092 --generation "
        )
        assert copied == page.locator(".command code").inner_text()


def test_a_page_that_is_drawn_again_stays_where_it_was():
    board = live(long_story())
    board.apply_lags(sample(NOW, described("long", *range(40))))
    with served(board) as url, browser(f"{url}?still#/groups/long") as page:
        expect(page.locator("#lag tbody tr").first).to_be_visible()
        page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        before = page.evaluate("scrollY")
        assert before > 1_000
        page.evaluate("document.querySelector('#lag .bar').dataset.drawn = 'before'")
        page.locator("#zone").click()
        expect(page.locator("#zone")).to_have_text("UTC")
        expect(page.locator("#lag .bar:not([data-drawn])").first).to_be_visible()
        assert page.evaluate("scrollY") == pytest.approx(before, abs=5)


def test_the_keyboard_skips_to_the_content_and_opens_a_generation():
    with served(live(long_story())) as url, browser(f"{url}?still#/groups/long") as page:
        expect(page.locator(".headline")).to_be_visible()
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "page"
        expect(page).to_have_title("long · consumer groups")
        link = page.get_by_role("link", name="2", exact=True)
        for _ in range(100):
            page.keyboard.press("Tab")
            if link.evaluate("(each) => each === document.activeElement"):
                break
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Generation 2")).to_be_visible()


def test_a_topic_has_its_groups_and_each_view_its_title():
    board = live(renamed(ended_at(story(), NOW), "billing"))
    board.apply_lags(sample(NOW, described("billing", 3, 4), described("behind", 9)))
    with served(board) as url, browser(f"{url}?still#/") as page:
        expect(page).to_have_title("Overview · consumer groups")
        page.get_by_role("link", name="Topics").click()
        expect(page).to_have_title("Topics · consumer groups")
        page.get_by_role("link", name="t", exact=True).click()
        expect(page).to_have_title("t · consumer groups")
        expect(page.locator("tbody tr")).to_contain_text(["behind9", "billing7"])
        page.get_by_role("link", name="billing").click()
        expect(page).to_have_title("billing · consumer groups")
        page.get_by_role("link", name="app").first.click()
        expect(page).to_have_title("app in billing · consumer groups")
        expect(page.locator("dl.facts")).to_contain_text("topicst")


def test_a_member_keeps_its_partitions_while_others_reconcile():
    world = named(World())
    world.enter("a")
    world.advance(1_000)
    world.enter("b")
    world.advance(300)
    world.beat("a", 2)
    world.advance(1_700)
    world.beat("a", 2, owned={"t": [0, 1]})
    world.advance(200)
    world.beat("b", 3)
    history = GroupHistory.of("orders", world.audited())
    first_ms = history.first_ms or 0
    spans = {
        each["partition"]: [[began - first_ms, end and end - first_ms, who] for began, end, who in each["spans"]]
        for each in ownership(history)["partitions"]
    }
    assert spans[0] == spans[1] == [[0, None, "client-a"]]
    assert spans[2] == [[0, 3_000, "client-a"], [3_200, None, "client-b"]]


def test_a_consumer_group_has_group_epochs():
    """The page does not speak of what its protocol does not have (KIP-848)."""
    world = named(World())
    world.enter("a")
    world.advance(1_000)
    world.enter("b")
    world.beat("a", 2)
    world.advance(2_000)
    world.beat("a", 2, owned={"t": [0, 1]})
    world.beat("b", 3)
    events = world.audited()
    group_id = events[0].group_id
    with served(live(ended_at(events, NOW))) as url, browser(f"{url}?still#/") as page:
        page.goto(f"{url}?still#/groups/{group_id}/generations/3?compare=2")
        for shown in (
            "Group epochs",
            "Group epoch 3",
            "2 group epochs since",
            "client-a was asked to give up t-2, and took 2 s to do so. client-b waited for it.",
            "Group epoch 2 beside 3",
        ):
            expect(page.get_by_text(shown).first).to_be_visible()
        words = page.locator("main").inner_text().lower().replace("--generation", "")
        assert not [word for word in ("generation", "rejoined", "synced") if word in words], words
        page.goto(f"{url}?still#/groups/{group_id}/members/a")
        expect(page.get_by_role("columnheader", name="had its target after")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_table_is_cut_on_a_phone(scheme):
    name = "x" * 249
    evil = MemberRef(f"m-{name}", name, "/127.0.0.1")
    history = History(name).created().stable_with(Cause.NEW_MEMBER, evil).stable_with(Cause.LEADER_REJOINED, evil)
    board = live(ended_at(history.events, NOW))
    board.apply_lags(sample(NOW, described(name, 3, 4)))
    viewport = {"width": 390, "height": 800}
    with served(board) as url, browser(f"{url}?still#/", viewport=viewport, color_scheme=scheme) as page:
        for address, shown in (
            ("#/", "All groups"),
            (f"#/groups/{name}", "Generation 2"),
            (f"#/groups/{name}/generations/1?compare=2", "Generation 2 beside 1"),
            (f"#/groups/{name}/members/m-{name}", "In the group, with"),
            ("#/topics", "1 topic that"),
            ("#/topics/t", "Groups that consume it"),
        ):
            page.goto(f"{url}?still{address}")
            expect(page.get_by_text(shown).first).to_be_visible()
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address
            wider = page.evaluate(
                "[...document.querySelectorAll('.scroll')]"
                ".filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => each.innerText)"
            )
            assert wider == [], address
