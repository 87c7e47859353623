"""Writes docs/observe-cases.md: plays each case with each client on a real Kafka (about 20 minutes a version).

python docs/make_observe_cases.py [--only CASE,…] [--clients CLIENT,…] [--versions 4.3.1,3.9.1]
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from interop.builds import ALL, CLASSIC, CONSUMER  # noqa: E402
from interop.driver import Driver, DriverMissing, java_driver, python_driver  # noqa: E402
from tests.differential.kafka import VERSION, KafkaMissing, kafka_jars  # noqa: E402
from tests.observe.kafka_cases import CASES, Case, KafkaScene, cell, false_causes, without_evidence  # noqa: E402
from tests.observe.logged_kafka import LoggedKafka  # noqa: E402

PAGE: Final = ROOT / "docs" / "observe-cases.md"
HEAD: Final = """# How each way to rebalance is explained, on Apache Kafka

Played with stock clients on a real Kafka that logs as its release does; `make observe-cases` makes these tables. The
[cases](../tests/observe/kafka_cases.py) say what they do; that is compared with what `coordinator groups why` tells.
Two marks a cell: by the records of `__consumer_offsets` alone, and by records and the broker's log together.
✓: told with the client and the cause. (✓): told as one of several causes. –: not told, or the client cannot do it.
Nothing else is told of how these members went.
"""
NOTES: Final = {
    ("A member does not poll", "franz-go-consumer"): "It has no max.poll.interval.ms.",
    ("A static member restarts", "franz-go-consumer"): "Its static members do not say that they leave for a moment: the"
    " session of the one before ends, and that is told.",
    ("The broker restarts in order, then a member closes", "rdkafka-consumer"): "It closes without a last heartbeat"
    " after the restart: its session ends, and that is told.",
}
"""What clients do otherwise than the case says, by the broker's own log."""
PYTHON: Final = ("kafka-python", "aiokafka", "confluent-kafka")
CLIENTS: Final = {
    CLASSIC: (*PYTHON, "java"),
    CONSUMER: ("java-consumer", "confluent-kafka-consumer", "rdkafka-consumer", "franz-go-consumer"),
}
OLD: Final = "3."
"""Versions whose consumer protocol (KIP-848) is a preview."""
StartDriver = Callable[[], Driver]
numbers = count()


def main() -> int:
    chosen = _arguments()
    cells: dict[tuple[str, str, str, str], str] = {}
    versions: dict[str, str] = {}
    problems: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        for version in chosen.versions:
            with LoggedKafka(_folder(scratch), version) as kafka:
                for protocol, client in _clients(chosen.clients, version):
                    start = _driver(client, Path(scratch))
                    if start is None:
                        continue
                    with start() as probe:
                        versions[client], can = probe.version, probe.can
                    for case in _cases(chosen.only, protocol, can):
                        told, found = _play(case, protocol, start, kafka)
                        if (case.title, client) in NOTES:
                            told, found = f"[{1 + list(NOTES).index((case.title, client))}]", []
                        problems += found
                        cells[version, protocol, case.title, client] = told
                        print(f"{version}, {client}, {case.title}: {told} {'; '.join(found)}", file=sys.stderr)
    if not (chosen.only or chosen.clients):
        notes = [f"[{number}] {client}: {text}" for number, ((_, client), text) in enumerate(NOTES.items(), 1)]
        PAGE.write_text("\n".join([HEAD, *_tables(cells, versions), *notes, ""]), encoding="utf-8")
    for each in problems:
        print(f"PROBLEM: {each}", file=sys.stderr)
    return int(bool(problems))


def _play(case: Case, protocol: str, start: StartDriver, kafka: LoggedKafka) -> tuple[str, list[str]]:
    """The cell, and what is false."""
    name = f"case{next(numbers)}"
    with ExitStack() as stack:
        scene = KafkaScene(kafka, start, name, stack, protocol=protocol)
        try:
            did = case.play(scene)
        except AssertionError as problem:
            return "–", [f"{case.title}: {str(problem)[:300]}"]
        with suppress(AssertionError):  # what is not told shows in the cell
            scene.wait_until_told(*(each for each in did if each[1]))
        by_records, by_both = scene.seen(with_logs=False), scene.seen(with_logs=True)
    problems = [
        problem
        for history, what in ((by_records, "records"), (by_both, "records and log"))
        for problem in (*false_causes(history, did, f"{case.title}, {what}"), *without_evidence(history))
    ]
    return f"{cell(by_records, did)} {cell(by_both, did)}", problems


def _clients(only: tuple[str, ...], version: str) -> Iterator[tuple[str, str]]:
    for protocol, clients in CLIENTS.items():
        if protocol == CONSUMER and version.startswith(OLD):
            continue
        yield from ((protocol, each) for each in clients if not only or each in only)


def _driver(client: str, scratch: Path) -> StartDriver | None:
    try:
        if client in PYTHON:
            return partial(Driver, python_driver(client))
        if client == "java":
            classes = scratch / "classes"
            classes.mkdir(exist_ok=True)
            return partial(Driver, java_driver([f"{kafka_jars()}/*"], classes))
        return ALL[client].built().start
    except (DriverMissing, KafkaMissing) as missing:
        print(f"without {client}: {missing}", file=sys.stderr)
        return None


def _cases(only: tuple[str, ...], protocol: str, can: frozenset[str]) -> Iterator[Case]:
    for name, case in CASES.items():
        if protocol in case.protocols and (not only or name in only) and (not case.needs or case.needs in can):
            yield case


def _tables(cells: dict[tuple[str, str, str, str], str], versions: dict[str, str]) -> Iterator[str]:
    for version, protocol in dict.fromkeys((version, protocol) for version, protocol, _, _ in cells):
        clients = [each for each in CLIENTS[protocol] if each in versions]
        what = "The classic protocol" if protocol == CLASSIC else "Consumer groups (KIP-848)"
        yield from (f"## {what}, Apache Kafka {version}", "")
        yield f"| case | {' | '.join(f'{each} {versions[each]}' for each in clients)} |"
        yield "|---" * (len(clients) + 1) + "|"
        for case in CASES.values():
            if protocol in case.protocols:
                row = [cells.get((version, protocol, case.title, each), "–") for each in clients]
                yield f"| {case.title} | {' | '.join(row)} |"
        yield ""


def _folder(scratch: str) -> Path:
    return Path(tempfile.mkdtemp(dir=scratch))


def _arguments() -> argparse.Namespace:
    def names(text: str) -> tuple[str, ...]:
        return tuple(filter(None, text.split(",")))

    parser = argparse.ArgumentParser(description="play ways to rebalance on a real Kafka with stock clients")
    parser.add_argument("--only", type=names, default=())
    parser.add_argument("--clients", type=names, default=())
    parser.add_argument("--versions", type=names, default=(VERSION, "3.9.1"))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
