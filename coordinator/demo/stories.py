"""The end of the demo: what happened to the group in words, a picture of the page, and the page itself."""

import json
import shutil
import subprocess
from itertools import cycle
from pathlib import Path
from threading import Event
from typing import Final
from urllib.parse import quote

from rich.console import Console
from rich.text import Text

from coordinator.client.audit_topic import AuditTopic
from coordinator.demo.harness import Harness
from coordinator.explain.history import GroupHistory
from coordinator.explain.story import story_of

PAGE_SECONDS: Final = 30
PICTURE_SECONDS: Final = 60
PICTURE_SIZE: Final = "1400,1750"
CHANGE_SECONDS: Final = 8
"""How often a consumer comes or goes while the page is left open."""

FLAGS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--hide-scrollbars",
    "--virtual-time-budget=10000",
)


def print_stories(console: Console, bootstrap: str, group_id: str) -> None:
    """Print the story of each generation of a group."""
    with AuditTopic(bootstrap) as topic:
        events = [record.event for record in topic.group_events(group_id)]
    history = GroupHistory.of(group_id, [event for event in events if event is not None])
    for generation in history.generations:
        story = story_of(history, generation)
        console.print(Text(story.headline, style="bold"), soft_wrap=True)
        for paragraph in story.paragraphs:
            console.print(Text(f"    {paragraph}"), soft_wrap=True)
    console.print()


def start_page(harness: Harness, bootstrap: str, folder: Path) -> str:
    """Start `coordinator dashboard` on a free port; return its address."""
    ready = folder / "dashboard.json"
    arguments = ["coordinator.cli", "dashboard", "--bootstrap", bootstrap, "--listen", "127.0.0.1:0"]
    harness.start("dashboard", [*arguments, "--ready-file", str(ready)])
    harness.wait_until("the page", ready.exists, PAGE_SECONDS)
    return str(json.loads(ready.read_text())["url"])


def save_picture(url: str, group_id: str, target: Path) -> str:
    """Save a picture of the group's page; return what came of it, in one line."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        return "no picture of the page: Chromium is not installed"
    address = f"{url}?still#/groups/{quote(group_id, safe='')}"
    profile = target.with_suffix(".profile")
    command = [browser, *FLAGS, f"--user-data-dir={profile}", f"--window-size={PICTURE_SIZE}", f"--screenshot={target}"]
    try:
        subprocess.run([*command, address], capture_output=True, timeout=PICTURE_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"no picture of the page: Chromium took longer than {PICTURE_SECONDS} s"
    finally:
        shutil.rmtree(profile, ignore_errors=True)
    return str(target) if target.exists() else "no picture of the page: Chromium failed"


def keep_rebalancing(harness: Harness, bootstrap: str, topic: str, group_id: str) -> None:
    """Let a consumer come or go every few seconds, beside one that stays, until Ctrl-C."""
    arguments = ["coordinator.demo.consumer", "--bootstrap", bootstrap, "--topic", topic, "--group", group_id]
    harness.start("stays", [*arguments, "--name", "stays"])
    pause = Event()
    for number in cycle(range(1, 4)):
        guest = harness.start(f"guest-{number}", [*arguments, "--name", f"guest-{number}"])
        pause.wait(CHANGE_SECONDS)
        guest.request_stop()
        pause.wait(CHANGE_SECONDS)
