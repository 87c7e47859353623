"""Actions on the page in a browser, with a real server."""

import pytest
from playwright.sync_api import expect

from tests.dashboard.pages import LIVE_MS, browser, dashboard, needs_chromium
from tests.dashboard.test_actions import commit, members_of, offsets_of
from tests.servers import RunningServer
from tests.wire_client import WireClient

pytestmark = [pytest.mark.realtime, needs_chromium]

GROUP = "a %2F/\u202e<b>"
SHOWN_MS = LIVE_MS + 10_000


@pytest.fixture
def server(tmp_path):
    with RunningServer(tmp_path) as running:
        with WireClient(running.bootstrap) as client:
            client.create_topic("orders", 2)
        commit(running, GROUP, {0: 3, 1: 0})
        yield running


def test_actions_show_what_they_change_and_then_do_it(server, tmp_path):
    with dashboard(server.bootstrap, tmp_path, "--allow-actions") as url, browser(url) as page:
        page.get_by_role("link", name="a %2F/").first.click(timeout=SHOWN_MS)
        expect(page.locator("#reset-offsets")).to_be_visible(timeout=SHOWN_MS)

        page.locator("#reset-offsets").click()
        page.locator("#plan").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.locator("tbody tr")).to_have_text(["orders-030"])
        expect(dialog).to_contain_text("3 records will be read again.")
        expect(dialog).to_contain_text("1 partition would stay unchanged")
        assert offsets_of(server, GROUP) == {0: 3, 1: 0}
        page.locator("#confirm").click()
        expect(dialog).to_contain_text("Done: reset 1 offset.")
        assert offsets_of(server, GROUP) == {0: 0, 1: 0}
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)

        page.locator("#delete-offsets").click()
        page.locator("#plan").click()
        expect(dialog.locator("tbody tr")).to_have_count(2)
        commit(server, GROUP, {1: 5})
        page.locator("#confirm").click()
        expect(dialog).to_contain_text("the committed offset of orders-1 is 5 and no longer 0; nothing was changed")
        page.locator("#cancel").click()
        assert offsets_of(server, GROUP) == {0: 0, 1: 5}

        page.locator("#delete-group").click()
        expect(dialog).to_contain_text("2 committed offsets will be lost:")
        page.locator("#confirm").click()
        expect(dialog).to_contain_text("Done: delete the group.")
        assert offsets_of(server, GROUP) == {}


def test_chosen_members_are_removed(server, tmp_path):
    with WireClient(server.bootstrap) as client:
        client.join_alone(GROUP)
        with dashboard(server.bootstrap, tmp_path, "--allow-actions") as url, browser(url) as page:
            page.get_by_role("link", name="a %2F/").first.click(timeout=SHOWN_MS)
            page.locator("#delete-group").click(timeout=SHOWN_MS)
            dialog = page.get_by_role("dialog")
            expect(dialog).to_contain_text("The group has 1 member.")
            page.locator("#confirm").click()
            expect(dialog.get_by_role("alert")).to_contain_text("NON_EMPTY_GROUP")
            page.locator("#cancel").click()

            page.locator("#remove-members").click()
            dialog.get_by_role("checkbox").uncheck()
            page.locator("#confirm").click()
            expect(dialog.get_by_role("alert")).to_have_text("No member is chosen.")
            page.locator("#plan").click()
            page.locator("#confirm").click()
            expect(dialog).to_contain_text("Done: remove the chosen members.")
            assert members_of(server, GROUP) == []


def test_there_are_no_actions_without_the_option(server, tmp_path):
    with dashboard(server.bootstrap, tmp_path) as url, browser(url) as page:
        page.get_by_role("link", name="a %2F/").first.click(timeout=SHOWN_MS)
        expect(page.locator("#lag-chart canvas").first).to_be_visible(timeout=SHOWN_MS)
        expect(page.locator("#actions")).to_have_count(0)
        answer = page.request.post(f"{url}api/actions/delete-group/g", data={"group_id": "g"})
        assert answer.status == 403
        assert "--allow-actions" in answer.json()["error"]
