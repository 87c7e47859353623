"""Kill, suspend, stop, add and remove nodes and brokers under stock clients, and look for all that was acknowledged.

    python -m tests.cluster.rounds [--rounds 100] [--seed N] [--only FAULT] [--watched] [--folder DIR]

What is checked after each round is said in tests/cluster/rounds/play.py.
"""

import argparse
import random
import shutil
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Final, NoReturn

from confluent_kafka import KafkaException

from coordinator.client.wire import ClientError
from interop.driver import DriverFailed, DriverMissing
from tests.cluster.rounds.play import Rounds
from tests.differential.kafka import KafkaMissing

SIGTERM_EXIT: Final = 128 + signal.SIGTERM


def terminated(*_: object) -> NoReturn:
    """Leave as on Ctrl-C, so that what was started is ended."""
    sys.exit(SIGTERM_EXIT)


def play(folder: Path, rounds: int, seed: int, only: str, *, is_watched: bool) -> None:
    """Raises AssertionError: what is wrong, with the number of the round."""
    number = 0
    try:
        with Rounds(folder, seed, is_watched=is_watched) as playing:
            playing.settle()
            for number in range(1, rounds + 1):
                began = time.monotonic()
                told = playing.play(only)
                seconds = time.monotonic() - began
                stable = playing.recovery_seconds[-1]
                print(f"round {number}: {told}; stable after {stable:.1f} s; {seconds:.0f} s", flush=True)
            median = statistics.median(playing.recovery_seconds or [0])
            print(f"{dict(playing.faults)}; stable after {median:.1f} s (median); {playing.figures}")
    except (AssertionError, ClientError, DriverFailed, KafkaException) as problem:
        raise AssertionError(f"seed {seed}, round {number}: {problem}") from problem


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.rounds", description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--only", default="", help="always this fault, such as kill-node")
    parser.add_argument("--watched", action="store_true", help="the groups stay with the cluster, and nodes watch them")
    parser.add_argument("--folder", type=Path, default=None, help="a new folder for data and logs; it is kept")
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, terminated)
    folder = chosen.folder or Path(tempfile.mkdtemp(prefix="cluster-rounds-"))
    print(f"{chosen.rounds} rounds, seed {chosen.seed}, data and logs in {folder}", flush=True)
    began = time.monotonic()
    try:
        play(folder, chosen.rounds, chosen.seed, chosen.only, is_watched=chosen.watched)
    except (KafkaMissing, DriverMissing) as missing:
        sys.exit(str(missing))
    except AssertionError as problem:
        sys.exit(f"{problem}\nthe logs of the nodes and the brokers are in {folder}")
    print(f"{chosen.rounds} rounds in {time.monotonic() - began:.0f} s, and nothing differs")
    if chosen.folder is None:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
