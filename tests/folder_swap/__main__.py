"""Swap data folders between this server and Apache Kafka 4.3.1, both ways, and compare all that clients see.

    python -m tests.folder_swap [--seed N] [--folder DIR]

In each round one of them writes topics of all sorts in two log directories (compressed, idempotent, transactional,
compacted, with deleted records, with several segments, committed offsets) and is stopped or killed. `coordinator log
export-kafka` or `import-kafka` makes the folders ones of the other, which serves them: records, offsets, ListOffsets by
timestamp, committed offsets, topic ids and groups of each kind must be the same; writing and the members must go on.
Kafka's DumpLogSegments reads all files that this server wrote; `coordinator log verify` those that Kafka wrote.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from tests.differential.kafka import KafkaMissing, RunningKafka
from tests.folder_swap.consumer_groups import differences_of_groups, fill_groups
from tests.folder_swap.content import COMPACTED_TOPICS, Seen, differences, fill, go_on, look
from tests.folder_swap.dump import dump
from tests.folder_swap.share_groups import differences_of_share_group, fill_share_group
from tests.folder_swap.streams_groups import StreamedGroup
from tests.servers import RunningServer

CLEANING: Final = {
    "log.cleaner.backoff.ms": "100",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "2",
    "auto.create.topics.enable": "false",
    "group.consumer.assignment.interval.ms": "0",
    "group.consumer.session.timeout.ms": "60000",
    "group.share.assignment.interval.ms": "0",
    "group.share.session.timeout.ms": "60000",
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.session.timeout.ms": "60000",
    "group.streams.num.standby.replicas": "1",
    "share.coordinator.state.topic.num.partitions": "3",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.snapshot.update.records.per.snapshot": "5",
}
NO_CLEANING: Final = CLEANING | {"log.cleaner.enable": "false"}
"""What serves the folders does not compact them further, so that the same records are there."""
LOG_DIRS: Final = ("one", "two")
NO_KAFKA: Final = 2


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.folder_swap", description=__doc__)
    parser.add_argument("--seed", type=int, default=None, help="of what is written; a random one by default")
    parser.add_argument("--folder", type=Path, default=None, help="an existing directory that is kept")
    chosen = parser.parse_args()
    seed = random.randrange(1_000_000) if chosen.seed is None else chosen.seed
    print(f"seed {seed}", flush=True)
    problems = 0
    with tempfile.TemporaryDirectory(prefix="folder-swap-") as scratch:
        for name, play in (
            ("this server, stopped → Kafka", lambda folder: _to_kafka(folder, seed, is_killed=False)),
            ("this server, killed → Kafka", lambda folder: _to_kafka(folder, seed + 1, is_killed=True)),
            ("Kafka, stopped → this server", lambda folder: _to_us(folder, seed + 2, is_killed=False)),
            ("Kafka, killed → this server", lambda folder: _to_us(folder, seed + 3, is_killed=True)),
        ):
            folder = (chosen.folder or Path(scratch)) / str(name.replace(" ", "-").replace(",", "").replace("→", "to"))
            folder.mkdir()
            began = time.monotonic()
            try:
                figures, found = play(folder)
            except KafkaMissing as missing:
                print(missing, file=sys.stderr)
                return NO_KAFKA
            problems += len(found)
            print(f"{name}: {figures}, {len(found)} differences, {time.monotonic() - began:.0f} s", flush=True)
            for each in found:
                print(f"  {each}", flush=True)
    return 1 if problems else 0


def _to_kafka(folder: Path, seed: int, *, is_killed: bool) -> tuple[str, list[str]]:
    with RunningServer(folder, CLEANING, log_dirs=LOG_DIRS) as server:
        fill(server.bootstrap, seed)
        shared, streamed = fill_share_group(server.bootstrap), StreamedGroup()
        streamed.fill(server.bootstrap)
        before, groups = look(server.bootstrap), fill_groups(server.bootstrap)
        if is_killed:
            server.kill()
            server.start()  # what the tool reads has been recovered
            assert not differences(before, look(server.bootstrap, before))
        server.stop()
        dumped = dump(server.log_dirs, COMPACTED_TOPICS)
        problems = list(dumped.complaints)
        _run("export-kafka", server.log_dirs)
        roots = server.log_dirs
    kafka_folder = folder / "kafka"
    kafka_folder.mkdir()
    settings = NO_CLEANING | {"log.dirs": ",".join(map(str, roots))}
    with RunningKafka(kafka_folder, settings, {}, is_formatted=True) as kafka:
        problems += differences_of_groups(kafka.bootstrap, groups) + _compare(kafka.bootstrap, before)
        problems += differences_of_share_group(kafka.bootstrap, shared)
        problems += streamed.differences(kafka.bootstrap)
        kafka.stop()
    return f"{_figures(before)}, {dumped.files} files with {dumped.records} records dumped", problems


def _to_us(folder: Path, seed: int, *, is_killed: bool) -> tuple[str, list[str]]:
    roots = [folder / name for name in LOG_DIRS]
    settings = CLEANING | {"log.dirs": ",".join(map(str, roots))}
    with RunningKafka(folder, settings, {}) as kafka:
        fill(kafka.bootstrap, seed)
        shared, streamed = fill_share_group(kafka.bootstrap), StreamedGroup()
        streamed.fill(kafka.bootstrap)
        groups = fill_groups(kafka.bootstrap)
        kafka.stop()
        # What it serves until it is killed is not compacted further.
        _add_settings(folder, NO_CLEANING)
        kafka.start()
        before = look(kafka.bootstrap)
        if is_killed:
            assert not go_on(kafka.bootstrap, before)  # nobody has flushed this
            before = look(kafka.bootstrap)
            kafka.kill()
        else:
            kafka.stop()
    _run("import-kafka", roots)
    with RunningServer(folder, NO_CLEANING, log_dirs=LOG_DIRS) as server:
        problems = differences_of_groups(server.bootstrap, groups) + _compare(server.bootstrap, before)
        problems += differences_of_share_group(server.bootstrap, shared)
        problems += streamed.differences(server.bootstrap)
        server.stop()
    problems += _run("verify", roots, is_checked=False)
    return _figures(before), problems


def _add_settings(folder: Path, settings: dict[str, str]) -> None:
    with (folder / "server.properties").open("a", encoding="utf-8") as properties:
        properties.writelines(f"{name}={value}\n" for name, value in settings.items())


def _compare(bootstrap: str, before: Seen) -> list[str]:
    return differences(before, look(bootstrap, before)) + go_on(bootstrap, before)


def _figures(seen: Seen) -> str:
    lookups = sum(map(len, seen.at_times.values()))
    return f"{len(seen.topic_ids)} topics, {seen.count()} records, {lookups} lookups by time compared"


def _run(verb: str, roots: list[Path], *, is_checked: bool = True) -> list[str]:
    """The lines of `coordinator log VERB` if its exit code is not 0."""
    command = [sys.executable, "-m", "coordinator.cli", "log", verb, *map(str, roots)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert ran.returncode == 0 or not is_checked, ran.stdout
    return ran.stdout.splitlines() if ran.returncode else []


if __name__ == "__main__":
    sys.exit(main())
