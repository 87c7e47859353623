"""The page in a browser, beside a real server and stock consumers."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Final, Literal

import pytest
from kafka import KafkaAdminClient
from kafka.admin import NewTopic
from playwright.sync_api import expect

from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.records import build_batch
from tests.dashboard.pages import LIVE_MS, browser, dashboard, needs_chromium
from tests.e2e.members import Member
from tests.servers import RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient

GROUP = "<b>billing</b>/ü"
SCHEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")

pytestmark = [pytest.mark.realtime, needs_chromium]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    with RunningServer(tmp_path) as running:
        admin = KafkaAdminClient(bootstrap_servers=running.bootstrap)
        admin.create_topics([NewTopic("orders", 4, 1)])
        admin.close()
        yield running


def member(server: RunningServer, name: str) -> Member:
    return Member(server.bootstrap, "orders", GROUP, client_id=name)


def test_a_group_is_watched_from_its_first_member_on(server, tmp_path):
    with dashboard(server.bootstrap, tmp_path) as url, browser(url) as page:
        expect(page.get_by_text("The audit topic holds no events")).to_be_visible()
        first = member(server, "billing-1")
        link = page.get_by_role("link", name=GROUP).first
        expect(link).to_be_visible(timeout=LIVE_MS + 10_000)
        expect(page.locator("#status")).to_have_text("live")

        link.click()
        heading = page.get_by_role("heading", level=1)
        expect(heading).to_contain_text(GROUP)
        expect(heading).to_contain_text("Stable", timeout=LIVE_MS)
        expect(page.locator(".headline")).to_contain_text("billing-1")
        for chart in ("timeline", "members", "partitions"):
            expect(page.locator(f"#{chart} canvas").first).to_be_visible()

        second = member(server, "billing-2<script>")
        expect(page.get_by_role("link", name="billing-2<script>").first).to_be_visible(timeout=LIVE_MS + 10_000)

        page.get_by_role("link", name="1", exact=True).first.click()
        expect(page.get_by_role("heading", name="Generation 1")).to_be_visible()
        assert page.url.endswith("/generations/1")
        page.locator("#story select").select_option("2")
        expect(page.locator("#difference")).to_contain_text("beside")

        slider = page.get_by_label("moment")
        slider.focus()
        page.keyboard.press("Home")
        expect(page.get_by_role("cell", name="nobody")).to_be_visible()

        page.get_by_role("link", name="billing-1").last.click()
        expect(page.get_by_text("In the group, with")).to_be_visible()
        for consumer in (first, second):
            consumer.stop()


def produce(server: RunningServer, count: int) -> None:
    with WireClient(server.bootstrap) as client:
        for partition in range(4):
            client.produce(
                "orders", build_batch([(None, b"1")] * count, timestamp_ms=1_700_000_000_000), partition=partition
            )


def commit(server: RunningServer, group_id: str, offsets: list[int]) -> None:
    partitions = [
        OffsetCommitRequestPartition(partition_index=index, committed_offset=offset)
        for index, offset in enumerate(offsets)
    ]
    request = OffsetCommitRequest(
        group_id=group_id, topics=[OffsetCommitRequestTopic(name="orders", partitions=partitions)]
    )
    with WireClient(server.bootstrap) as client:
        client.request(request, 8)


def test_lag_is_first_and_kept_up_to_date_also_without_members(server, tmp_path):
    hostile = "<i>batch</i>\u202e\n"
    produce(server, 10)
    commit(server, "done", [10, 10, 10, 10])
    commit(server, hostile, [0, 7, 10, 10])
    with dashboard(server.bootstrap, tmp_path) as url, browser(url) as page:
        cards = page.locator(".card")
        expect(cards.first).to_have_text("13records of lag", timeout=LIVE_MS + 10_000)
        rows = page.locator("tbody tr")
        expect(rows.first).to_contain_text("<i>batch</i>\\u{202e}\\u{a}")
        page.get_by_role("link", name="<i>batch</i>").first.click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("<i>batch</i>\\u{202e}\\u{a}")
        expect(page.locator("#lag-chart canvas").first).to_be_visible()
        lags = page.locator("#lag tbody tr")
        expect(lags).to_contain_text(["orders-010", "orders-13", "orders-20", "orders-30"])
        page.get_by_role("button", name="orders-1").click()
        expect(page.locator("#lag .bar").first).to_contain_text("orders-1")
        commit(server, hostile, [10, 7, 10, 10])
        expect(cards.first).to_have_text("3records of lag", timeout=LIVE_MS + 10_000)
        expect(lags.first).to_contain_text("orders-13")
        page.get_by_role("button", name="all partitions").click()
        expect(page.locator("#lag .bar").first).to_contain_text("all partitions")


def test_no_page_is_wider_than_the_window(server, tmp_path):
    name = "x" * 240
    produce(server, 1)
    commit(server, name, [0, 0, 0, 0])
    with dashboard(server.bootstrap, tmp_path) as url, browser(url) as page:
        for width, scheme, address in product((390, 1440), SCHEMES, ("#/", f"#/groups/{name}")):
            page.set_viewport_size({"width": width, "height": 800})
            page.emulate_media(color_scheme=scheme)
            page.goto(f"{url}{address}")
            expect(page.get_by_text(name).first).to_be_visible(timeout=LIVE_MS + 10_000)
            expect(page.locator(".card").first).to_have_text("4records of lag", timeout=LIVE_MS + 10_000)
            is_wider = page.evaluate("document.documentElement.scrollWidth > innerWidth")
            assert not is_wider, (width, scheme, address)


def test_groups_are_filtered_and_unknown_addresses_explained(server, tmp_path):
    consumer = member(server, "billing-1")
    wait_for(lambda: consumer.membership, 20, "the member to have its partitions")
    with dashboard(server.bootstrap, tmp_path) as url, browser(url) as page:
        expect(page.get_by_role("link", name=GROUP).first).to_be_visible(timeout=LIVE_MS)
        page.keyboard.press("/")
        page.keyboard.type("nothing like it")
        expect(page.get_by_text("No group matches.")).to_be_visible(timeout=LIVE_MS)
        page.locator("#query").fill("BILL")
        expect(page.get_by_text("1 group found")).to_be_visible(timeout=LIVE_MS)
        page.locator("#theme").click()
        theme = page.evaluate("document.documentElement.dataset.theme")
        page.goto(f"{url}#/groups/unknown")
        expect(page.get_by_text("there are no events of a group unknown")).to_be_visible(timeout=LIVE_MS)
        assert page.evaluate("document.documentElement.dataset.theme") == theme

        server.stop()
        expect(page.locator("#status")).to_contain_text("cannot", timeout=LIVE_MS + 10_000)
        server.start()
        expect(page.locator("#status")).to_have_text("live", timeout=LIVE_MS + 10_000)
    consumer.stop()
