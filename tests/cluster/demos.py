"""What the demonstrations of nodes in front of a Kafka have in common: what they print, the page, and their options."""

import argparse
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from coordinator.demo.harness import Harness
from coordinator.demo.stories import save_picture, start_page
from interop.driver import DriverFailed, DriverMissing
from tests.differential.kafka import KafkaMissing


class Demo(Protocol):
    def play(self) -> None: ...

    def tell(self, dashboard: bool) -> None: ...


def step(what: str, *lines: str) -> None:
    print(f"\n• {what}", flush=True)
    told(*lines)


def told(*lines: str) -> None:
    for line in lines:
        print(f"    {line}", flush=True)


def run(bootstrap: str, *arguments: str) -> None:
    """A command, as an operator would give it."""
    print(f"\n$ coordinator {' '.join(arguments)} --bootstrap {bootstrap}", flush=True)
    subprocess.run([sys.executable, "-m", "coordinator.cli", *arguments, "--bootstrap", bootstrap], check=True)


def show_page(folder: Path, bootstrap: str, group_id: str, *, is_left_open: bool) -> None:
    """Take a picture of the page, and leave the page open until Ctrl-C if that is wanted."""
    with Harness(folder) as harness:
        url = start_page(harness, bootstrap, folder)
        print(f"\npicture of the page: {save_picture(url, group_id, folder / 'dashboard.png')}", flush=True)
        if is_left_open:
            print(f"the page: {url} (Ctrl-C ends it, and all the rest)", flush=True)
            signal.pause()


def main(name: str, description: str | None, make: Callable[[Path], AbstractContextManager[Demo]]) -> None:
    """Play a demonstration by the options of the command; `name` is that of its module."""
    parser = argparse.ArgumentParser(prog=f"python -m tests.cluster.{name}", description=description)
    parser.add_argument("--dashboard", action="store_true", help="leave the page open until Ctrl-C")
    parser.add_argument("--folder", type=Path, default=None, help="a new folder for data, logs and the picture")
    chosen = parser.parse_args()
    # All processes end also after SIGTERM, and after SIGINT in the background, where a shell ignores it.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    folder = chosen.folder or Path(tempfile.mkdtemp(prefix=f"cluster-{name.replace('_', '-')}-"))
    print(f"data and logs in {folder}", flush=True)
    try:
        with make(folder) as demo:
            demo.play()
            demo.tell(chosen.dashboard)
    except (AssertionError, KafkaMissing, DriverMissing, DriverFailed) as problem:
        sys.exit(str(problem))
    except KeyboardInterrupt:
        sys.exit(130)
