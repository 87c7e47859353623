"""Play rounds of exactly once: python -m tests.eos [--clients NAME] [--rounds N] [--seed N]."""

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.eos.flink_rounds import NAMINGS, FlinkRounds
from tests.eos.java_programs import ProgramsMissing, copier, flink_sink, word_count
from tests.eos.play import Play, librdkafka
from tests.eos.rounds import Rounds
from tests.eos.word_count import WordCounts

JAVA_RECORDS_PER_ROUND: Final = 1_500

CLIENTS: Final[dict[str, Callable[[Path, int], Rounds | FlinkRounds]]] = {
    "librdkafka": lambda folder, seed: Play(folder, librdkafka, seed),
    "java": lambda folder, seed: Play(folder, copier(), seed, JAVA_RECORDS_PER_ROUND),
    "streams": lambda folder, seed: WordCounts(folder, word_count(), seed),
    "streams-protocol": lambda folder, seed: WordCounts(folder, word_count("streams"), seed),
    "flink": lambda folder, seed: FlinkRounds(folder, flink_sink(), seed, NAMINGS[seed % len(NAMINGS)]),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.eos", description=__doc__)
    parser.add_argument("--clients", choices=CLIENTS, default="librdkafka")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="eos-"))
    print(f"seed {arguments.seed}, logs in {folder}", flush=True)
    began = time.monotonic()
    try:
        play = CLIENTS[arguments.clients](folder, arguments.seed)
    except ProgramsMissing as missing:
        sys.exit(str(missing))
    play.run(arguments.rounds, lambda line: print(line, flush=True))
    print(f"{arguments.rounds} rounds in {time.monotonic() - began:.0f} s: {dict(play.events)}; {play.figures}")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
