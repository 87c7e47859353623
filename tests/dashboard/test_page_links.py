"""Ways through the page: from a finding, a generation and a story to what they are about."""

import msgspec
import pytest
from playwright.sync_api import expect

from coordinator.audit.schema import MemberRef
from coordinator.core.causes import Cause
from coordinator.dashboard import views
from coordinator.explain.claims.claim import seen
from coordinator.explain.claims.findings import Kind
from coordinator.explain.findings import findings
from coordinator.explain.findings import in_words as finding_in_words
from coordinator.explain.words import utc_clock
from tests.dashboard.lag_samples import described, sample
from tests.dashboard.pages import browser, needs_chromium, served
from tests.dashboard.test_page_views import NOW, ended_at, live
from tests.explain.consumers import Consumers
from tests.pipeline.history import History, member
from tests.simulation.simulation import GROUP_ID

HOSTILE = "<img src=x onerror=alert(1)>"


def flapping() -> Consumers:
    """`b` leaves and comes back three times."""
    group = Consumers().group_of("a", "b")
    for _ in range(3):
        group.leave("b", "consumer poll timeout has expired.")
        group.settle()
        group.quiet(5_000)
        group.join("b")
        group.settle()
    return group


def test_a_finding_has_the_generations_of_its_evidence():
    group = flapping()
    history = group.history()
    (found,) = findings(history, history.last_ms or 0)
    told = views.finding_json(found, history)
    removals = [generation.generation_id for generation in history.generations if generation.changes.removed]
    assert [number for number, _ in told["generations"]] == removals
    assert told["generations"][0] == (removals[0], f"generation {removals[0]}")


def test_an_event_while_the_group_is_stable_is_of_that_generation():
    group = Consumers().group_of("a", "b")
    group.quiet(1_000)
    history = group.history()
    latest = history.generations[-1]
    for seq in (latest.first_seq, latest.last_seq, latest.last_seq + 5):
        (claim,) = [
            finding.claim for finding in findings(flapping().history(), NOW) if finding.kind is Kind.FLAPPING_MEMBER
        ]
        about = msgspec.structs.replace(claim, evidence=seen(seq))
        told = views.finding_json(finding_in_words(about, utc_clock), history)
        assert told["generations"] == [(latest.generation_id, latest.name)]
    nowhere = msgspec.structs.replace(claim, evidence=seen())
    assert views.finding_json(finding_in_words(nowhere, utc_clock), history)["generations"] == []


@needs_chromium
def test_a_finding_leads_to_its_generations():
    group = flapping()
    board = live(ended_at(group.sim.audited(), NOW))
    history = board.groups[GROUP_ID]
    removals = [generation.generation_id for generation in history.generations if generation.changes.removed]
    with served(board) as url, browser(f"{url}?still#/groups/{GROUP_ID}") as page:
        finding = page.locator(".finding").first
        expect(finding).to_contain_text(f"See generation {removals[0]}, {removals[1]} and {removals[2]}.")
        finding.get_by_role("link", name=f"generation {removals[0]}").click()
        expect(page.get_by_role("heading", name=f"Generation {removals[0]}", exact=True)).to_be_visible()
        page.goto(f"{url}?still#/")
        page.locator(".finding").first.get_by_role("link", name=str(removals[-1]), exact=True).click()
        expect(page.get_by_role("heading", name=f"Generation {removals[-1]}", exact=True)).to_be_visible()


@needs_chromium
def test_a_generation_leads_to_those_beside_it():
    history = History("long").created()
    for _ in range(3):
        history.stable_with(Cause.LEADER_REJOINED, member("a"))
    address = "?still#/groups/long/generations/2?range=1h&compare=1"
    with served(live(ended_at(history.events, NOW))) as url, browser(f"{url}{address}") as page:
        page.locator("#generation-before").click()
        expect(page.get_by_role("heading", name="Generation 1", exact=True)).to_be_visible()
        assert page.url.endswith("/generations/1?range=1h")
        expect(page.locator("#generation-before")).to_have_count(0)
        page.locator("#generation-after").click()
        expect(page.locator("#generation-after")).to_have_text("generation 3 →")
        page.locator("#generation-after").click()
        expect(page.get_by_role("heading", name="Generation 3", exact=True)).to_be_visible()
        expect(page.locator("#generation-after")).to_have_count(0)


@needs_chromium
@pytest.mark.parametrize("name", ["billing-1", HOSTILE, " ", "12:00:00 UTC"])
def test_names_in_a_story_are_links_and_nothing_else(name):
    ref = MemberRef("m/1", name, "/127.0.0.1")
    events = History("told").created().stable_with(Cause.NEW_MEMBER, ref).events
    with served(live(ended_at(events, NOW))) as url, browser(f"{url}?still#/groups/told") as page:
        link = page.locator(".headline a")
        expect(link).to_have_count(1)
        assert name in link.inner_text()
        assert page.locator(".story img").count() == 0
        link.click()
        expect(page.get_by_text("In the group, with")).to_be_visible()
        assert page.url.endswith("/members/m%2F1")


@needs_chromium
def test_rebalances_are_marked_in_the_chart_of_the_lag():
    history = History("lagging").created()
    for _ in range(3):
        history.stable_with(Cause.LEADER_REJOINED, member("a"))
        history.now_ms += 60_000
    board = live(ended_at(history.events, NOW - 60_000))
    for seconds in (150, 100, 50, 0):
        board.apply_lags(sample(NOW - seconds * 1_000, described("lagging", 3, 4)))
    began = [generation.started_ms for generation in board.groups["lagging"].generations]
    with served(board) as url, browser(f"{url}?still#/groups/lagging") as page:
        expect(page.locator("#lag-chart canvas").first).to_be_visible()
        marked = page.evaluate(
            "echarts.getInstanceByDom(document.getElementById('lag-chart'))"
            ".getOption().series[0].markLine.data.map((each) => each.xAxis)"
        )
        assert marked == [each for each in began if each is not None and each >= NOW - 150_000]
        assert len(marked) == 2
        expect(page.locator("#lag-marks")).to_have_text("The upright dashed lines are where 2 rebalances began.")


@needs_chromium
def test_a_finding_of_many_generations_leads_to_the_first_and_the_last():
    group = Consumers().group_of("a", "b")
    for _ in range(8):
        group.leave("b", "consumer poll timeout has expired.")
        group.settle()
        group.quiet(5_000)
        group.join("b")
        group.settle()
    board = live(ended_at(group.sim.audited(), NOW))
    history = board.groups[GROUP_ID]
    told = [views.finding_json(finding, history)["generations"] for finding in board.findings_of(GROUP_ID)]
    many = next(line for line in told if len(line) > 6)
    with served(board) as url, browser(f"{url}?still#/groups/{GROUP_ID}") as page:
        told_in_words = f"See {many[0][1]} to {many[-1][0]} ({len(many)} of them)."
        expect(page.locator(".finding").filter(has_text=told_in_words).first).to_be_visible()
