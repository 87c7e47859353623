"""Writes docs/audit-cases.md: plays each case of tests/e2e/audit_cases.py with each client (about five minutes)."""

import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from interop.driver import Driver, DriverFailed, DriverMissing, java_driver, python_driver  # noqa: E402
from interop.scene import Scene  # noqa: E402
from tests.differential.kafka import KafkaMissing, kafka_jars  # noqa: E402
from tests.e2e.audit_cases import CASES, SERVER_SETTINGS, Case  # noqa: E402
from tests.servers import RunningServer  # noqa: E402

HEAD: Final = """# What the audit tells of each way to rebalance

Played with stock clients; `make audit-cases` makes this table, and [the cases](../tests/e2e/audit_cases.py) say what is
asserted. ✓: told in full, with the clients by name and host. A number: what the protocol does not tell the coordinator,
listed below; the audit then says no more than it knows. –: the client cannot do it.

"""

PYTHON_CLIENTS: Final = ("kafka-python", "aiokafka", "confluent-kafka")
numbers = count()


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        commands = {client: python_driver(client) for client in PYTHON_CLIENTS}
        try:
            classes = Path(scratch, "classes")
            classes.mkdir()
            commands["java"] = java_driver([f"{kafka_jars()}/*"], classes)
        except (DriverMissing, KafkaMissing) as missing:
            print(f"without the Java client: {missing}", file=sys.stderr)
        shared = stack.enter_context(RunningServer(_folder(scratch, "shared"), SERVER_SETTINGS))
        names, rows, unknown = [], [], []
        abilities = {}
        for client, command in commands.items():
            with Driver(command) as probe:
                names.append(f"{client} {probe.version}")
                abilities[client] = probe.can
        for case in CASES.values():
            cells = []
            for client, command in commands.items():
                if case.needs and case.needs not in abilities[client]:
                    cells.append("–")
                    continue
                told = _play(case, command, shared, scratch)
                print(f"{case.title}, {client}: {told or 'told'}", file=sys.stderr)
                if told and told not in unknown:
                    unknown.append(told)
                cells.append(str(unknown.index(told) + 1) if told else "✓")
            rows.append(f"| {case.title} | {' | '.join(cells)} |")
    lines = [f"| case | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|", *rows, ""]
    lines += [f"{number}. {text[0].upper()}{text[1:]}." for number, text in enumerate(unknown, 1)]
    Path(ROOT, "docs", "audit-cases.md").write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")


def _play(case: Case, command: list[str], shared: RunningServer, scratch: str) -> str:
    """Play a case with a client; return what remains unknown, or that the case failed and how."""
    number = next(numbers)
    start: Callable[[], Driver] = lambda: Driver(command)  # noqa: E731
    with ExitStack() as stack:
        server = shared
        if case.own_server:
            server = stack.enter_context(RunningServer(_folder(scratch, str(number)), SERVER_SETTINGS))
        scene = Scene(server, start, f"case{number}", stack)
        try:
            case.play(scene)
        except (AssertionError, DriverFailed) as problem:
            first = str(problem).splitlines()[:1] or ["an assertion"]
            return f"FAILED: {first[0]}"
        return scene.unknown


def _folder(scratch: str, name: str) -> Path:
    folder = Path(scratch, name)
    folder.mkdir()
    return folder


if __name__ == "__main__":
    main()
