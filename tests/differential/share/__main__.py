"""Random requests about the states and offsets of share groups, to this server and to Apache Kafka 4.3.1.

    python -m tests.differential.share [--seed N] [--steps N]

Both get the same requests, one after the other: 83 to 87, 90 to 92, DeleteGroups and ListGroups. The answers must be
the same but for the words of errors, and so must the records of `__share_group_state` and of the groups in
`__consumer_offsets` be, but for the time.
"""

import argparse
import random
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from tests.differential.kafka import KafkaMissing, RunningKafka
from tests.differential.share.records import group_records, state_records
from tests.differential.share.requests import GROUPS, TOPICS, Side, random_step
from tests.servers import QUICK_GROUPS, RunningServer

SETTINGS: Final = {
    "share.coordinator.snapshot.update.records.per.snapshot": "3",
    "share.coordinator.state.topic.num.partitions": "5",
    "offsets.topic.num.partitions": "4",
    "auto.create.topics.enable": "false",
}
ONE_NODE: Final = {
    "offsets.topic.replication.factor": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.append.linger.ms": "0",
}
NO_KAFKA: Final = 2


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.differential.share", description=__doc__)
    parser.add_argument("--seed", type=int, default=None, help="of the requests; a random one by default")
    parser.add_argument("--steps", type=int, default=2_000, help="how many requests (2,000)")
    chosen = parser.parse_args()
    seed = random.randrange(1_000_000) if chosen.seed is None else chosen.seed
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="share-") as scratch:
        folder = Path(scratch)
        for name in ("ours", "kafka"):
            (folder / name).mkdir()
        try:
            with (
                RunningServer(folder / "ours", QUICK_GROUPS | SETTINGS) as ours,
                RunningKafka(folder / "kafka", SETTINGS | ONE_NODE) as kafka,
            ):
                return 1 if _compare(Side(ours.bootstrap), Side(kafka.bootstrap), seed, chosen.steps) else 0
        except KafkaMissing as missing:
            print(missing, file=sys.stderr)
            return NO_KAFKA


def _compare(ours: Side, kafka: Side, seed: int, steps: int) -> int:
    """How many differences there are; the first ones are printed."""
    rng = random.Random(seed)
    found: list[str] = []
    for side in (ours, kafka):
        side.prepare()
    for number in range(steps):
        step = random_step(rng)
        answers = ours.ask(step), kafka.ask(step)
        if answers[0] != answers[1]:
            found.append(f"step {number}, {step}:\n  ours  {answers[0]}\n  Kafka {answers[1]}")
    count = 0
    for what, read in (("states", state_records), ("groups", group_records)):
        written: tuple[dict[str, Any], dict[str, Any]] = (
            read(ours, int(SETTINGS["share.coordinator.state.topic.num.partitions"])),
            read(kafka, int(SETTINGS["share.coordinator.state.topic.num.partitions"])),
        )
        count += sum(map(len, written[1].values()))
        for key in sorted(written[0].keys() | written[1].keys()):
            if (mine := written[0].get(key)) != (theirs := written[1].get(key)):
                found.append(f"records of {what}, {key}:\n  ours  {mine}\n  Kafka {theirs}")
    about = f"{len(GROUPS)} groups and {len(TOPICS)} topics"
    print(f"{steps} requests about {about}, {count} records: {len(found)} differences")
    for each in found[:10]:
        print(each)
    return len(found)


if __name__ == "__main__":
    sys.exit(main())
