"""The page in a browser: of a server, by the command, or of a board, served by this process."""

import asyncio
import json
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import uvicorn
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from coordinator.dashboard.app import make_app
from coordinator.dashboard.board import Board
from coordinator.dashboard.links import NO_ORIGIN, Origin
from tests.servers import START_SECONDS
from tests.waiting import wait_for

CHROMIUM: Final = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS: Final = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
LIVE_MS: Final = 5_000
"""Within this time a change is on the page; it is a second on a machine with nothing else to do."""

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")


@contextmanager
def dashboard(bootstrap: str, folder: Path, *options: str) -> Iterator[str]:
    """The address of the page of a server."""
    ready = folder / "dashboard.json"
    command = [sys.executable, "-m", "coordinator.cli", "dashboard", "--bootstrap", bootstrap]
    command += ["--listen", "127.0.0.1:0", "--ready-file", str(ready), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        wait_for(lambda: ready.exists() or process.poll() is not None, START_SECONDS, "the page to be served")
        yield json.loads(ready.read_text())["url"]
    finally:
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=START_SECONDS)
    assert b"Traceback" not in output, output.decode()
    assert process.returncode == 0


@contextmanager
def served(board: Board, origin: Origin = NO_ORIGIN) -> Iterator[str]:
    """The address of the page of a board, which must not change meanwhile."""
    config = uvicorn.Config(
        make_app(board, origin), host="127.0.0.1", port=0, log_level="critical", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()), daemon=True)
    thread.start()
    wait_for(lambda: server.started, START_SECONDS, "the page to be served")
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
    finally:
        server.should_exit = True
        thread.join(START_SECONDS)


class SharedChromium:
    """One Chromium for the tests of a module, started when the first of them needs it (a second of processor time)."""

    def __init__(self) -> None:
        self._held = ExitStack()
        self._browser: Browser | None = None

    def new_context(self, **settings: Any) -> BrowserContext:
        """What a page keeps (cookies, storage) is in its context, so tests do not meet."""
        if self._browser is None:
            playwright = self._held.enter_context(sync_playwright())
            chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
            self._browser = self._held.enter_context(chromium)
        return self._browser.new_context(**settings)

    def close(self) -> None:
        """End it. Until then Playwright's event loop counts as running in this thread: no asyncio.run in it."""
        self._browser = None
        self._held.close()


CHROMIUM_OF_MODULE: Final = SharedChromium()


@contextmanager
def browser(url: str, **settings: Any) -> Iterator[Page]:
    """A page on which no script may fail. `settings` are those of a context of Playwright."""
    problems: list[str] = []
    with CHROMIUM_OF_MODULE.new_context(**{"viewport": {"width": 1400, "height": 1000}, **settings}) as context:
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(url)
        yield page
    assert problems == []
