"""Writes the folder that a release keeps for later ones: `make upgrade-folder`, or of another checkout that is built.

python -m tests.upgrade.make_folder VERSION [CHECKOUT]
"""

import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Final

from tests.upgrade.content import fill
from tests.waiting import wait_for

FOLDERS: Final = Path(__file__).parent / "folders"
START_SECONDS: Final = 60
STOP_SECONDS: Final = 30


def main(version: str, checkout: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="upgrade-") as name:
        folder = Path(name)
        ready = folder / "ready.json"
        arguments = ["--listen", "127.0.0.1:0", "--data-dir", str(folder / "data"), "--ready-file", str(ready)]
        settings = ["--set", "group.initial.rebalance.delay.ms=0", "--set", "group.max.session.timeout.ms=1800000"]
        command = [sys.executable, "-m", "coordinator.cli", "serve", *arguments, *settings]
        # From the checkout alone: its own packages come before those of this one.
        server = subprocess.Popen(command, cwd=checkout, env=os.environ | {"PYTHONPATH": str(checkout)})
        try:
            wait_for(lambda: ready.exists() or server.poll() is not None, START_SECONDS, "the server to be ready")
            assert server.poll() is None, "the server does not start"
            facts = fill(json.loads(ready.read_text(encoding="utf-8"))["bootstrap"])
            server.terminate()
            assert server.wait(STOP_SECONDS) == 0
        finally:
            server.kill()
            server.wait(STOP_SECONDS)
        (folder / "facts.json").write_text(json.dumps(facts), encoding="utf-8")
        FOLDERS.mkdir(exist_ok=True)
        with tarfile.open(FOLDERS / f"{version}.tar.xz", "w:xz") as archive:
            for each in ("facts.json", "data"):
                archive.add(folder / each, each, filter=_without_owner)
    print(f"wrote {FOLDERS / version}.tar.xz")


def _without_owner(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    if Path(entry.name).name == ".lock":
        return None
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2] if len(sys.argv) > 2 else ".").resolve())
