"""Restart the server under 500 members of four client libraries, and look at what they notice.

    python -m tests.restarts [--restarts 3] [--members 500] [--down-seconds 10] [--refused] [--folder DIR]

The server is stopped with SIGTERM and started again --down-seconds later. No member may see a rebalance, no commit that
was acknowledged may be lost, and all records are read. The port stays open, as with deploy/systemd; with --refused it
does not, and then franz-go gives up its partitions by itself. Needs Java, Maven and Go, and about 2 GiB of memory.
"""

import argparse
import signal
import sys
import tempfile
from pathlib import Path
from typing import Final, NoReturn

from coordinator.client.wire import ClientError
from interop.driver import DriverFailed, DriverMissing
from tests.restarts.play import GROUP_MEMBERS, Restarts

SIGTERM_EXIT: Final = 128 + signal.SIGTERM


def terminated(*_: object) -> NoReturn:
    """Leave as on Ctrl-C, so that what was started is ended."""
    sys.exit(SIGTERM_EXIT)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.restarts", description=__doc__)
    parser.add_argument("--restarts", type=int, default=3)
    parser.add_argument("--members", type=int, default=500, help=f"a multiple of {GROUP_MEMBERS}")
    parser.add_argument("--down-seconds", type=float, default=10.0, help="from SIGTERM until the next start")
    parser.add_argument("--refused", action="store_true", help="the port is closed while the server is away")
    parser.add_argument("--folder", type=Path, help="a new folder for data and logs; it is kept")
    chosen = parser.parse_args()
    if chosen.members % GROUP_MEMBERS or chosen.members < GROUP_MEMBERS:
        parser.error(f"--members has to be a multiple of {GROUP_MEMBERS}")
    signal.signal(signal.SIGTERM, terminated)
    with tempfile.TemporaryDirectory(prefix="restarts-") as temporary:
        folder = chosen.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        with Restarts(folder, chosen.members, socket_unit=not chosen.refused) as restarts:
            print(restarts.begin(), flush=True)
            for number in range(1, chosen.restarts + 1):
                print(f"restart {number}: {restarts.restart(chosen.down_seconds)}", flush=True)
            print(restarts.end())


if __name__ == "__main__":
    try:
        main()
    except DriverMissing as missing:
        sys.exit(str(missing))
    except (AssertionError, ClientError, DriverFailed) as problem:
        sys.exit(f"failed: {problem}")
    except KeyboardInterrupt:
        sys.exit("stopped")
