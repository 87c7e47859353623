"""Play random histories of real clients, and check what is claimed: `python -m tests.world.real 40 1`.

Exit status 1: a claim was contradicted, or a client said that it has what nobody assigned. 2: a play broke.
"""

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from interop.driver import DriverMissing
from tests.world.real.playing import built
from tests.world.real.script import KINDS

PLAY_SECONDS: Final = 240
AT_ONCE: Final = 3


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.world.real", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=1, help="how many histories")
    parser.add_argument("seed", type=int, nargs="?", default=1, help="the first seed")
    parser.add_argument("--clients", default=",".join(KINDS), help="clients of the matrix, with commas between")
    parser.add_argument("--at-once", type=int, default=AT_ONCE, help="so many beside each other")
    parser.add_argument("--reports", help="a file to which the reports are appended, one line of JSON each")
    chosen = parser.parse_args()
    clients = ",".join(there(chosen.clients.split(",")))
    told, checked, false = Counter[str](), Counter[str](), Counter[str]()
    broken = strange = 0
    with ThreadPoolExecutor(chosen.at_once) as pool:
        seeds = range(chosen.seed, chosen.seed + chosen.count)
        for seed, report in zip(seeds, pool.map(lambda seed: play(seed, clients), seeds), strict=True):
            if isinstance(report, str):
                broken += 1
                print(f"seed {seed} broke: {report}")
                continue
            told += Counter(report["told"])
            checked += Counter(report["checked"])
            false += Counter(set(each["kind"] for each in report["false"]))
            strange += bool(report["strange"])
            tell(report)
            if chosen.reports:
                with open(chosen.reports, "a", encoding="utf-8") as file:
                    file.write(json.dumps(report) + "\n")
    print(f"{'claim':26} {'told':>7} {'checked':>8} {'false in histories':>19}")
    for name, times in sorted(told.items()):
        wrong = sum(count for kind, count in false.items() if kind.split()[0] == name)
        print(f"{name:26} {times:7,} {checked[name]:8,} {wrong or '':>19}")
    print(f"{chosen.count} histories, {broken} broke, {strange} with a report that no event has")
    return 2 if broken else 1 if false or strange else 0


def there(clients: list[str]) -> list[str]:
    """The clients whose drivers can be started; they are built before several plays want them at once."""
    found = []
    for client in clients:
        try:
            built(client)
            found.append(client)
        except DriverMissing as missing:
            print(f"{client} is left out: {missing}")
    return found


def play(seed: int, clients: str) -> dict[str, Any] | str:
    """The report of a play; or in one line why there is none."""
    command = [sys.executable, "-m", "tests.world.real.play", str(seed), clients]
    environment = {**os.environ, "WORLD_OF_REAL_CLIENTS": "1"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PLAY_SECONDS, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        return f"it took longer than {PLAY_SECONDS} s"
    if done.returncode:
        return " | ".join(done.stderr.strip().splitlines()[-3:])
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def tell(report: dict[str, Any]) -> None:
    clients, claims = ", ".join(report["clients"]), sum(report["told"].values())
    print(f"seed {report['seed']}: {clients}; {report['generations']} generations, {claims} claims", flush=True)
    for each in report["false"]:
        print(f"  {each['kind']} is false, generation {each['generation']}, {each['reported_ms']} ms: {each['why']}")
    for each in report["strange"]:
        print(f"  {each}")


if __name__ == "__main__":
    sys.exit(main())
