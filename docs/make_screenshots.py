"""Writes docs/images: the live page of a server whose consumers come, go and fall behind (two minutes; Chromium)."""

import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import urlopen

from playwright.sync_api import Browser, sync_playwright

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from _wire.messages.delete_groups import DeleteGroupsRequest  # noqa: E402
from _wire.records import build_batch  # noqa: E402
from tests.dashboard.pages import CHROMIUM, FLAGS, dashboard  # noqa: E402
from tests.dashboard.test_actions import commit  # noqa: E402
from tests.e2e.members import Member, steady, stop_all  # noqa: E402
from tests.servers import RunningServer  # noqa: E402
from tests.waiting import wait_for  # noqa: E402
from tests.wire_client import WireClient  # noqa: E402

IMAGES: Final = ROOT / "docs" / "images"
BYTES_MAX: Final = 150_000
"""Of one picture, so that the repository stays small."""
SIZES: Final = {"overview": (1440, 800), "group": (1440, 820), "member": (1440, 860), "phone": (390, 1100)}
"""Width and height of each picture in pixels."""

GROUP: Final = "billing"
TOPIC: Final = "orders"
PARTITIONS: Final = 8
PRODUCE_EVERY_SECONDS: Final = 0.25
RECORDS_AT_A_TIME: Final = 2
POINTS_SECONDS: Final = 300
"""How long points of the lag may take: there is one every 20 s."""


class SlowMember(Member):
    """Processes one record after the other, slower than they come."""

    RECORD_SECONDS: Final = 0.04

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        self._pause = threading.Event()
        super().__init__(*arguments, max_poll_records=5, **settings)

    def _turn(self) -> None:
        before = len(self.values)
        super()._turn()
        self._pause.wait(self.RECORD_SECONDS * (len(self.values) - before))


def main() -> None:
    if CHROMIUM is None:
        sys.exit("Chromium is missing: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, RunningServer(Path(folder)) as server:
        with WireClient(server.bootstrap) as client:
            client.create_topic(TOPIC, PARTITIONS)
        with producing(server), dashboard(server.bootstrap, Path(folder)) as url:
            members: list[Member] = []
            try:
                play(server, members, lambda points: until(url, points))
                take_pictures(url)
            finally:
                stop_all(members)


@contextmanager
def producing(server: RunningServer) -> Iterator[None]:
    """Append records to all partitions, to some more than to others, in a thread."""
    stopping = threading.Event()

    def produce() -> None:
        with WireClient(server.bootstrap) as client:
            while not stopping.wait(PRODUCE_EVERY_SECONDS):
                for partition in range(PARTITIONS):
                    now_ms = time.time_ns() // 1_000_000
                    count = RECORDS_AT_A_TIME + partition % 3
                    client.produce(TOPIC, build_batch([(None, b"1")] * count, timestamp_ms=now_ms), partition=partition)

    thread = threading.Thread(target=produce, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


def play(server: RunningServer, members: list[Member], until: Callable[[int], None]) -> None:
    """Consumers join one after the other, one leaves, and a further one comes; other groups have offsets alone.

    `until` waits for so many points of the lag: some time passes between the steps.
    """
    for group_id, offset in (("reports", 40), ("search-index", 0), ("mailer", 12), ("fraud-check", 75)):
        commit(server, group_id, dict.fromkeys(range(4), offset), TOPIC)
    for points, name in enumerate(("billing-1", "billing-2", "billing-3"), 1):
        members.append(SlowMember(server.bootstrap, TOPIC, GROUP, client_id=name))
        steady(members, PARTITIONS, f"{name} to join")
        until(points)
    gone = members.pop(1)
    gone.stop()
    steady(members, PARTITIONS, "the others to have the partitions of billing-2")
    until(4)
    members.append(SlowMember(server.bootstrap, TOPIC, GROUP, client_id="billing-4"))
    steady(members, PARTITIONS, "billing-4 to join")
    until(6)
    import_once = Member(server.bootstrap, TOPIC, "import-2024", client_id="import")
    steady([import_once], PARTITIONS, "the import to start")
    import_once.stop()
    with WireClient(server.bootstrap) as client:
        client.request(DeleteGroupsRequest(groups_names=["import-2024"]), 2)


def until(url: str, points: int) -> None:
    wait_for(lambda: len(lag_of(url)) >= points, POINTS_SECONDS, f"{points} points of the lag")


def lag_of(url: str) -> list[Any]:
    try:
        return list(data(url, f"/api/lag/{GROUP}")["history"])
    except HTTPError as problem:
        if problem.code != HTTPStatus.NOT_FOUND:
            raise
        return []  # not sampled yet


def data(url: str, path: str) -> Any:
    with urlopen(f"{url.rstrip('/')}{path}") as answer:
        return json.load(answer)


def take_pictures(url: str) -> None:
    group = data(url, f"/api/groups/{GROUP}")
    member_id = group["members_now"][0]["member"]["member_id"]
    middle = group["generations"][len(group["generations"]) // 2]["generation_id"]
    views = (
        ("overview", "#/", "light"),
        ("group", f"#/groups/{GROUP}/generations/{middle}", "light"),
        ("member", f"#/groups/{GROUP}/members/{quote(member_id, safe='')}", "dark"),
        ("phone", f"#/groups/{GROUP}", "dark"),
    )
    IMAGES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        for name, address, scheme in views:
            picture = save_picture(browser, f"{url}?still{address}", *SIZES[name], scheme)
            if len(picture) > BYTES_MAX:
                sys.exit(f"{name}.png would have {len(picture):,} bytes, more than {BYTES_MAX:,}")
            (IMAGES / f"{name}.png").write_bytes(picture)
            print(f"docs/images/{name}.png: {len(picture):,} bytes")
        browser.close()


def save_picture(browser: Browser, address: str, width: int, height: int, scheme: Any) -> bytes:
    size: Any = {"width": width, "height": height}
    page = browser.new_page(viewport=size, color_scheme=scheme, timezone_id="UTC")
    page.goto(address)
    page.locator(".card").first.wait_for()
    page.wait_for_load_state("networkidle")
    if "/generations/" in address:
        page.locator("h2", has_text="Generations").first.evaluate("(heading) => scrollTo(0, heading.offsetTop - 70)")
    picture = page.screenshot()
    page.close()
    return picture


if __name__ == "__main__":
    main()
