"""Run franz-go's own integration tests against this server (Go): `make franz-go-tests ROUNDS=5`.

Several of them run at once against one server, because what they find is found on a busy machine: clients that commit
and produce in transactions, rebalance, and go away in the middle. What fails is printed, and the exit status is 1 then.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.servers import RunningServer  # noqa: E402

MODULE: Final = "github.com/twmb/franz-go"
GO_MOD: Final = ROOT / "interop" / "clients" / "franz-go" / "go.mod"
SETTINGS: Final = {"group.initial.rebalance.delay.ms": "0"}
RECORDS: Final = 20_000
"""Of the tests that copy records from topic to topic."""
AT_ONCE: Final = 3
RUN_SECONDS: Final = 240
OF_A_FAILURE: Final = re.compile(r"^\s*(--- FAIL|panic:|FAIL|\S+_test\.go:\d+: )")


def version() -> str:
    """That of the client whose scenarios are played, too."""
    found = re.search(rf"{re.escape(MODULE)} (v\S+)", GO_MOD.read_text(encoding="utf-8"))
    assert found is not None, f"{GO_MOD} has no version of {MODULE}"
    return found[1]


def build(scratch: Path) -> Path:
    """Compile the tests; returns the folder that they run in, with the program `kgo.test`."""
    command = ["go", "mod", "download", "-json", f"{MODULE}@{version()}"]
    downloaded = subprocess.run(command, cwd=scratch, check=True, stdout=subprocess.PIPE, text=True).stdout
    source = scratch / "franz-go"
    shutil.copytree(json.loads(downloaded)["Dir"], source, copy_function=shutil.copyfile)
    folder = source / "pkg" / "kgo"
    for each in (folder, *folder.parents):
        if each == scratch:
            break
        each.chmod(0o755)  # the module cache is read-only
    subprocess.run(["go", "test", "-c", "-o", "kgo.test", "."], cwd=folder, check=True)
    return folder


def run(folder: Path, bootstrap: str, pattern: str, name: str) -> bool:
    """Run the tests once; print what failed."""
    environment = os.environ | {"KGO_SEEDS": bootstrap, "KGO_TEST_RF": "1", "KGO_TEST_RECORDS": str(RECORDS)}
    command = ["./kgo.test", "-test.count=1", f"-test.timeout={RUN_SECONDS}s", f"-test.run={pattern}"]
    done = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    print(f"{name}: {'passed' if done.returncode == 0 else 'FAILED'}", flush=True)
    if done.returncode != 0:
        print("\n".join(line for line in done.stdout.splitlines() if OF_A_FAILURE.match(line)), flush=True)
    return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python interop/franz_go_tests.py", description=__doc__)
    parser.add_argument("--rounds", type=int, default=1, help=f"how often {AT_ONCE} of them run at once")
    parser.add_argument("--only", default=".", help="a regular expression of the names of tests")
    chosen = parser.parse_args()
    if shutil.which("go") is None:
        sys.exit("go is not installed; franz-go's tests are compiled by it")
    with tempfile.TemporaryDirectory(prefix="franz-go-") as name:
        scratch = Path(name)
        folder = build(scratch)
        with RunningServer(scratch, SETTINGS, log_level="warning") as server, ThreadPoolExecutor(AT_ONCE) as pool:
            names = [
                f"round {1 + number // AT_ONCE}.{1 + number % AT_ONCE}" for number in range(chosen.rounds * AT_ONCE)
            ]
            passed = list(pool.map(lambda each: run(folder, server.bootstrap, chosen.only, each), names))
    print(f"{sum(passed)} of {len(passed)} runs of the tests of franz-go {version()} passed")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
