"""Two watchers of a real Kafka under load: one is killed again and again, the other is left alone. Both tell the same.

`python -m tests.watch.rounds [--kills N] [--seed N] [--topic]`, `make watch-rounds`.
"""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from coordinator.client.bootstrap import Bootstrap
from coordinator.client.groups import coordinator_of
from coordinator.client.wire import ClientError
from coordinator.watch.session import partition_count
from tests.differential.kafka import KafkaMissing
from tests.observe.logged_kafka import LoggedKafka
from tests.waiting import wait_for
from tests.watch.load import Load, make_topic
from tests.watch.rotated_log import RotatedLog
from tests.watch.watching import differences, into, to_topic, wait_for_same
from tests.wire_client import WireClient

GROUPS: Final = 9
TOPIC: Final = "seen"
ROTATED_SECONDS: Final = 5.0
ALIVE_SECONDS: Final = (0.2, 7.0)
"""Between a start and a kill. A watcher holds what it reads for two seconds before it tells of it."""
SETTLED_SECONDS: Final = 60


def play(folder: Path, kills: int, seed: int, *, is_topic: bool = False) -> list[str]:
    """Return what differs. `is_topic`: the one that is killed appends to a topic of the Kafka."""
    choice = random.Random(seed)
    kafka_folder = folder / "kafka"
    kafka_folder.mkdir()
    with LoggedKafka(kafka_folder) as kafka:
        log = folder / "server.log"
        log.touch()
        load = Load(kafka.bootstrap, GROUPS, seed)
        arguments = (kafka.bootstrap, "--broker-log", str(log))
        make_offsets_topic(kafka.bootstrap)
        if is_topic:
            make_topic(kafka.bootstrap, TOPIC, partition_count(Bootstrap(kafka.bootstrap)))
            killed = to_topic(folder / "killed", kafka.bootstrap, TOPIC, *arguments[1:])
        else:
            killed = into(folder / "killed", *arguments)
        # Both see all from the begin: who comes later begins with the file that is written then.
        with (
            into(folder / "undisturbed", *arguments) as undisturbed,
            killed,
            RotatedLog(kafka.server_log, log, seed, ROTATED_SECONDS) as rotated,
        ):
            load.start()
            began = time.monotonic()
            for _ in range(kills):
                time.sleep(choice.uniform(*ALIVE_SECONDS))
                killed.kill()
                killed.start()
            load.stop()
            took = time.monotonic() - began
            first, second = wait_for_same(undisturbed, killed, SETTLED_SECONDS)
        events = sum(map(len, first.values()))
        lines = sum(place["source"] == "broker_log" for of in first.values() for each in of for place in each["places"])
        print(
            f"{kills} kills in {took:.0f} s, {load.changes} changes of members, {rotated.rotations} rotations"
            f" ({rotated.within_lines} within a line), {events} events of {len(first)} groups, {lines} places in logs"
        )
        return list(differences(first, second))


def make_offsets_topic(bootstrap: str) -> None:
    """Kafka makes it when it is asked for a coordinator for the first time."""

    def is_made() -> bool:
        try:
            with WireClient(bootstrap) as client:
                coordinator_of(client, "group-0")
            return partition_count(Bootstrap(bootstrap)) > 0
        except ClientError:
            return False

    wait_for(is_made, SETTLED_SECONDS, "the topic of offsets", every_ms=200)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--topic", action="store_true", help="append to a topic of the Kafka")
    asked = parser.parse_args()
    print(f"seed {asked.seed}")
    try:
        if asked.folder is not None:
            asked.folder.mkdir(parents=True)
            found = play(asked.folder, asked.kills, asked.seed, is_topic=asked.topic)
        else:
            with tempfile.TemporaryDirectory() as folder:
                found = play(Path(folder), asked.kills, asked.seed, is_topic=asked.topic)
    except KafkaMissing as missing:
        print(missing)
        return 2
    print("\n".join(found) if found else "the same events")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
