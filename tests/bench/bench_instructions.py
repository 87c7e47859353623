"""Instructions that the server takes for a request, by callgrind: nearly the same figure however busy the machine is.

    python tests/bench/bench_instructions.py [--check | --write] [CHECKOUT ...]

Each CHECKOUT is a folder of this project that is built (`make build`); without one, this folder. Of each, a server runs
under valgrind, 50 times slower than usual, and gets the same requests one after the other. Prints the instructions of
its event loop per request, without those of the kernel and those that the idle server takes in the same time: three
measurements each, whose spread shows how far to trust them. Of groups whose members change it prints those per member.
Needs valgrind (Debian: valgrind).

--check compares the lowest of them (two, and three more where it has risen) with what is kept in
`instructions/instructions.toml`, and ends with 1 if one is 2 % above; --write keeps the middle ones.

Environment: REQUESTS= per measurement, as many as it needs without; ONLY=TEXT what has this in its name.
"""

import os
import shutil
import signal
import sys
import tempfile
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.bench.coordinator import consumer_changes  # noqa: E402
from tests.bench.instructions import ledger  # noqa: E402
from tests.bench.instructions.counting import CountedServer, repeat  # noqa: E402
from tests.bench.instructions.loads import (  # noqa: E402
    JOINS,
    REPLACES,
    STORM,
    changes_of_consumers,
    requests_of,
    storm_of,
)
from tests.wire_client import WireClient  # noqa: E402

REQUESTS: Final = int(os.environ["REQUESTS"]) if os.environ.get("REQUESTS") else None
ONLY: Final = os.environ.get("ONLY", "")
MEASUREMENTS: Final = 3
CHECKED_MEASUREMENTS: Final = 2
"""What seems to have risen is counted again."""
WARM_UP: Final = 100
SETTINGS: Final = {
    "group.audit.offsets.interval.ms": "3600000",
    # What goes by the clock would fall into one measurement and not into another.
    "log.cleaner.enable": "false",
    "log.retention.check.interval.ms": "3600000",
    "log.initial.task.delay.ms": "3600000",
}
CONSUMER_KEYS: Final = "coordinator/config/consumer_group_keys.py"
"""What a checkout has that knows consumer groups and their settings."""


def main() -> int:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", nargs="*", type=Path, default=[ROOT], metavar="CHECKOUT")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true")
    what.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("left out: there is no valgrind (Debian: apt-get install valgrind)")
        return 0
    if arguments.check and ledger.kept().built_with != ledger.built_with():
        print(f"left out: the figures are kept for {ledger.kept().built_with}; this is {ledger.built_with()}")
        return 0
    counted: dict[str, list[float]] = {}
    measurements = CHECKED_MEASUREMENTS if arguments.check else MEASUREMENTS
    for checkout in arguments.checkouts:
        counted = shown(checkout, ONLY, measurements)
    if arguments.write:
        before = ledger.kept() if ledger.FILE.exists() else ledger.Ledger(built_with="", figures={})
        middle = {name: sorted(figures)[len(figures) // 2] for name, figures in counted.items()}
        ledger.FILE.write_text(ledger.text_of(ledger.updated(before, middle)))
    return check({name: min(figures) for name, figures in counted.items()}) if arguments.check else 0


def check(lowest: dict[str, float]) -> int:
    """Compare with what is kept; what seems to have risen is counted again."""
    kept = ledger.kept()
    for name in ledger.risen(kept, lowest):
        lowest[name] = min([lowest[name], *shown(ROOT, name, MEASUREMENTS)[name]])
    for line in (*ledger.savings(kept, lowest), *(risen := ledger.risen(kept, lowest).values())):
        print(line)
    print(f"{len(risen)} of {len(lowest)} figures are above what is kept in {ledger.FILE.relative_to(ROOT)}")
    return 1 if risen else 0


def shown(checkout: Path, only: str, measurements: int) -> dict[str, list[float]]:
    """What is measured → its figures, which are printed."""
    counted = {}
    for name, figures in measured(checkout.resolve(), only, measurements):
        print(f"{checkout}  {name}: {'  '.join(f'{figure:,.0f}' for figure in figures)}", flush=True)
        counted[name] = figures
    return counted


def measured(checkout: Path, only: str, measurements: int) -> Iterator[tuple[str, list[float]]]:
    """What is measured, and its figures."""
    has_consumers = (checkout / CONSUMER_KEYS).exists()
    settings = SETTINGS | (consumer_changes.SETTINGS if has_consumers else {})
    at_once = settings | {"group.initial.rebalance.delay.ms": "0"}
    with tempfile.TemporaryDirectory() as scratch, CountedServer(checkout, Path(scratch), at_once) as server:
        yield from requests(server, only, measurements)
    # Their audit has snapshots of other groups, too: groups that change have a server of their own.
    if not any(only in name for name in (STORM, JOINS, REPLACES)):
        return
    with tempfile.TemporaryDirectory() as scratch, CountedServer(checkout, Path(scratch), settings) as server:
        server.measure_idle()
        if has_consumers:
            for name, figure in changes_of_consumers(server, only):
                yield name, [figure]
        if only in STORM:
            with ExitStack() as stack:
                storm = storm_of(server, stack)
                yield STORM, [storm() for _ in range(measurements)]


def requests(server: CountedServer, only: str, measurements: int) -> Iterator[tuple[str, list[float]]]:
    with ExitStack() as stack:
        client = stack.enter_context(WireClient(server.bootstrap))
        sends = {name: send for name, send in requests_of(client).items() if only in name}
        for send in sends.values():
            repeat(send, WARM_UP)
        if sends:
            server.measure_idle()
        for name, send in sends.items():
            yield name, [server.per_request(send, REQUESTS) for _ in range(measurements)]


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
