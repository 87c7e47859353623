"""Play rounds of exactly once: python -m tests.eos [--rounds N] [--seed N] [--java JARS]."""

import argparse
import random
import shutil
import tempfile
import time
from pathlib import Path

from tests.eos.play import Play, java, librdkafka


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.eos", description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument(
        "--java", type=Path, help="workers in Java instead of librdkafka: the folder of kafka-clients' jars"
    )
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="eos-"))
    print(f"seed {arguments.seed}, logs in {folder}", flush=True)
    began = time.monotonic()
    play = Play(folder, java(arguments.java, folder) if arguments.java else librdkafka, arguments.seed)
    play.run(arguments.rounds, lambda line: print(line, flush=True))
    print(f"{arguments.rounds} rounds in {time.monotonic() - began:.0f} s: {dict(play.events)}; each record once")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
