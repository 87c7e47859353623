"""How fast the live page is: events taken in, and the first paint in a browser, with EVENTS events of GROUPS groups.

    python tests/bench/bench_dashboard.py            # EVENTS=1000000 GROUPS=10000; needs Chromium

The events are applied in this process, which then serves the page. First paint is that of the browser (Paint Timing);
"list shown" is when the groups are on the page, "filtered" the time from the last key of a search to its result.
"""

import asyncio
import os
import resource
import shutil
import statistics
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec
import uvicorn
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from coordinator.audit.schema import decode_event  # noqa: E402
from coordinator.dashboard.app import make_app  # noqa: E402
from coordinator.dashboard.board import Board  # noqa: E402
from tests.pipeline.histories import GROUPS_AT_ONCE, realistic  # noqa: E402
from tests.servers import START_SECONDS  # noqa: E402
from tests.waiting import wait_for  # noqa: E402

EVENTS = int(os.environ.get("EVENTS", "1000000"))
GROUPS = int(os.environ.get("GROUPS", "10000"))
PAINTS = 5
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")


def fill(board: Board) -> tuple[int, float]:
    """Copies of a generated history under other names; the number of events and the seconds that it took."""
    copies = max(1, GROUPS // GROUPS_AT_ONCE)
    template = [decode_event(value) for value in realistic(EVENTS // copies)]
    seconds = 0.0
    for copy in range(copies):
        events = [msgspec.structs.replace(event, group_id=f"{event.group_id}-{copy:04}") for event in template]
        began = perf_counter()
        board.apply(events)
        seconds += perf_counter() - began
    return copies * len(template), seconds


def serve(board: Board, stack: ExitStack) -> str:
    server = uvicorn.Server(uvicorn.Config(make_app(board), host="127.0.0.1", port=0, log_level="critical"))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()), daemon=True)
    thread.start()

    def stop() -> None:
        server.should_exit = True
        thread.join(START_SECONDS)

    stack.callback(stop)
    wait_for(lambda: server.started, START_SECONDS, "the page to be served")
    return f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"


def measure(page: Page, url: str) -> dict[str, float]:
    """Milliseconds of one visit."""
    began = perf_counter()
    page.goto(url)
    page.wait_for_selector("table tbody tr")
    shown = perf_counter() - began
    paint: Any = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    began = perf_counter()
    page.fill("input[type=search]", "group-7-")
    page.get_by_role("heading", name="groups found").wait_for()
    return {"first paint": paint, "list shown": shown * 1000, "filtered": (perf_counter() - began) * 1000}


def main() -> None:
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        sys.exit("Chromium is missing: apt-get install chromium")
    board = Board()
    count, seconds = fill(board)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{count:,} events of {len(board.groups):,} groups: {count / seconds:,.0f} events/s, {peak_mb} MB at most")
    with ExitStack() as stack:
        url = serve(board, stack)
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        visits = [measure(browser.new_page(), url) for _ in range(PAINTS)]
        for name in visits[0]:
            times = [visit[name] for visit in visits]
            print(f"{name:12} {statistics.median(times):6.0f} ms ({min(times):.0f} to {max(times):.0f})")
        browser.close()


if __name__ == "__main__":
    main()
