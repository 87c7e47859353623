"""The scenario of `make demo`, step by step. Each step waits for its condition, and the results are checked.

All clients are stock kafka-python, and nothing here depends on the internals of the server. A step waits for a
condition and never for a fixed time, so on a slow machine the scenario takes longer but is the same.
"""

import json
import signal
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Final

from kafka import KafkaAdminClient
from kafka.admin import NewTopic
from rich.console import Console
from rich.markup import escape

from coordinator.demo import ledger
from coordinator.demo.harness import Harness, Process, ScenarioFailed
from coordinator.demo.stories import print_stories
from coordinator.pipeline.reader import GenerationRow, read_generations
from coordinator.pipeline.show import caused_by, print_generations

TOPIC: Final = "orders"
PARTITIONS: Final = 6
GROUP: Final = "demo"
RECORDS_PER_SECOND: Final = 100
SESSION_TIMEOUT_MS: Final = 6_000
"""The default minimum of a server (group.min.session.timeout.ms), so that a killed consumer is detected soon."""

STEP_SECONDS: Final = 30
SPARK_SECONDS: Final = 240
"""The very first start downloads the jars of the connector."""

STATIC_INSTANCE: Final = "till-1"


@dataclass(frozen=True, slots=True)
class Expected:
    """An entry that the table of generations must have: one of the generations after `after` up to `settled` has this
    cause. One step may cause several generations: kafka-python's leader joins a second time if its first metadata
    arrives late."""

    after: int
    settled: int
    cause: str
    caused_by: str


@contextmanager
def step(console: Console, doing: str) -> Iterator[list[str]]:
    """Print a step while it runs, and afterwards its duration and the details that the body appended."""
    started = monotonic()
    found: list[str] = []
    with console.status(f"{doing} …"):
        yield found
    details = f"[dim]: {escape('; '.join(found))}[/]" if found else ""
    line = f"[green]✓[/] [dim]{monotonic() - started:5.1f} s[/]  {doing}{details}"
    console.print(line, highlight=False, soft_wrap=True)


@dataclass(slots=True)
class Scenario:
    """The state of the group as its members report it, and the entries that the table must have so far."""

    harness: Harness
    bootstrap: str
    console: Console
    members: dict[str, Process] = field(default_factory=dict)
    readers: list[Process] = field(default_factory=list)
    generation: int = 0
    expected: list[Expected] = field(default_factory=list)

    def step(self, doing: str) -> AbstractContextManager[list[str]]:
        return step(self.console, doing)

    def start_member(self, name: str, instance_id: str | None = None) -> Process:
        static = ["--instance-id", instance_id] if instance_id else []
        arguments = ["coordinator.demo.consumer", "--bootstrap", self.bootstrap, "--topic", TOPIC, "--group", GROUP]
        timeout = ["--session-timeout-ms", str(SESSION_TIMEOUT_MS)]
        member = self.harness.start(name, [*arguments, "--name", name, *timeout, *static])
        self.members[name] = member
        self.readers.append(member)
        return member

    def close_member(self, name: str) -> Process:
        member = self.members.pop(name)
        member.request_stop()
        self.harness.wait_until(f"a clean close of {name}", lambda: member.last("closed"), STEP_SECONDS)
        return member

    def settled(self, after: int) -> int | None:
        """Return the generation in which the members own all partitions; None if it is not later than `after`.

        None is also returned while the members are in different generations or partitions have no owner.
        """
        assigned = [member.last("assigned") for member in self.members.values()]
        if not assigned or None in assigned:
            return None
        generations = {report["generation"] for report in assigned if report}
        owned = sorted(partition for report in assigned if report for partition in report["partitions"])
        (generation, *others) = generations
        return generation if not others and generation > after and owned == list(range(PARTITIONS)) else None

    def await_rebalance(self, cause: str, caused_by: str) -> str:
        """Wait for a newer generation in which the members own all partitions, and record its expected cause."""
        what = f"a generation of {', '.join(self.members)} after {cause} of {caused_by}"
        before = self.generation
        self.generation = self.harness.wait_until(what, lambda: self.settled(before), STEP_SECONDS)
        self.expected.append(Expected(before, self.generation, cause, caused_by))
        shares = (f"{name} {_partitions(member)}" for name, member in self.members.items())
        return f"generation {self.generation}, {', '.join(shares)}"

    def reports_of_readers(self) -> list[ledger.Report]:
        return [report for reader in self.readers for report in reader.reports]


def _partitions(member: Process) -> str:
    assigned = member.last("assigned")
    assert assigned, member.name
    return "[" + " ".join(map(str, assigned["partitions"])) + "]"


def start_server(harness: Harness, console: Console, folder: Path) -> str:
    """Start `coordinator serve` on a free port with its data in `folder`; return its address when it is ready."""
    ready_file = folder / "ready.json"
    serve = ["serve", "--listen", "127.0.0.1:0", "--data-dir", str(folder / "data")]
    # Members join one by one, so waiting for further members would only make the scenario longer.
    settings = ["--set", "group.initial.rebalance.delay.ms=0"]
    with step(console, "coordinator serve") as found:
        arguments = ["coordinator.cli", *serve, *settings, "--ready-file", str(ready_file)]
        harness.start("server", arguments, stop_signal=signal.SIGTERM)
        harness.wait_until("the server to be ready", ready_file.exists, STEP_SECONDS)
        bootstrap = json.loads(ready_file.read_text())["bootstrap"]
        found.append(f"ready on {bootstrap}")
    return str(bootstrap)


def run_scenario(harness: Harness, bootstrap: str, console: Console, folder: Path) -> None:
    """Run the scenario against a running server; print the table of generations, and their stories.

    Raises:
        ScenarioFailed: a step did not complete, or a check failed.
    """
    scenario = Scenario(harness, bootstrap, console)
    spark = ["--tables", str(folder / "tables"), "--log", str(folder / "logs" / "spark.log")]
    tables = harness.start("tables", ["coordinator.demo.tables", "--bootstrap", bootstrap, *spark])
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        with scenario.step(f"topic {TOPIC} with {PARTITIONS} partitions, and a producer that runs throughout"):
            admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])
            arguments = ["--topic", TOPIC, "--per-second", str(RECORDS_PER_SECOND)]
            producer = harness.start("producer", ["coordinator.demo.producer", "--bootstrap", bootstrap, *arguments])
            harness.wait_until("the first records", lambda: producer.last("produced"), STEP_SECONDS)
        killed = _come_and_go(scenario)
        _restart_static_member(scenario)
        _restart_group(scenario, admin)
        _drain(scenario, producer, killed)
    finally:
        admin.close()
    with scenario.step("Spark has started in the background"):
        harness.wait_until("Spark to start", lambda: tables.last("warm"), SPARK_SECONDS)
    with scenario.step("the Spark job reads __group_audit into Delta tables") as found:
        tables.send_line("run")
        harness.wait_until("the tables", lambda: tables.last("written"), SPARK_SECONDS)
        tables.request_stop()  # it exits now, and nothing else that is waited for may take that for a failure
        rows = read_generations(folder / "tables", GROUP)
        found.append(f"{len(rows)} generations")
    console.print()
    print_generations(console, rows)
    check_table(rows, scenario.expected)
    print_stories(console, bootstrap, GROUP)


def _come_and_go(scenario: Scenario) -> Process:
    """Three consumers join one after another, one leaves, one is killed. Return the killed one."""
    for name in ("consumer-1", "consumer-2", "consumer-3"):
        with scenario.step(f"{name} joins") as found:
            scenario.start_member(name)
            found.append(scenario.await_rebalance("new_member", name))
    with scenario.step("consumer-3 leaves the group") as found:
        scenario.close_member("consumer-3")
        found.append(scenario.await_rebalance("member_left", "consumer-3"))
    with scenario.step("consumer-2 is killed with SIGKILL, and its session expires") as found:
        killed = scenario.members.pop("consumer-2")
        killed.kill()
        found.append(scenario.await_rebalance("session_expired", "consumer-2"))
    return killed


def _restart_static_member(scenario: Scenario) -> None:
    name = STATIC_INSTANCE
    with scenario.step(f"static member {name} joins") as found:
        scenario.start_member(name, instance_id=STATIC_INSTANCE)
        found.append(scenario.await_rebalance("new_member", name))
    with scenario.step(f"static member {name} restarts without a rebalance") as found:
        before = _partitions(scenario.members[name])
        scenario.close_member(name)
        back = scenario.start_member(name, instance_id=STATIC_INSTANCE)
        scenario.harness.wait_until(
            f"{name} to be back", lambda: back.last("assigned") and back.last("read"), STEP_SECONDS
        )
        generations = {report["generation"] for m in scenario.members.values() if (report := m.last("assigned"))}
        if generations != {scenario.generation} or _partitions(back) != before:
            raise ScenarioFailed(
                f"the restart of {name} caused a rebalance: {sorted(generations)}, {_partitions(back)}"
            )
        found.append(f"still generation {scenario.generation}, again {before}")


def _restart_group(scenario: Scenario, admin: KafkaAdminClient) -> None:
    with scenario.step("the whole group stops; it is empty after the static member's session has expired"):
        for name in list(scenario.members):
            scenario.close_member(name)
        scenario.harness.wait_until("an empty group", lambda: _group_state(admin) == "Empty", STEP_SECONDS)
    committed = ledger.committed(scenario.reports_of_readers())
    restarted: list[Process] = []
    for name, instance_id in (("consumer-1", None), (STATIC_INSTANCE, STATIC_INSTANCE)):
        with scenario.step(f"{name} starts again") as found:
            restarted.append(scenario.start_member(name, instance_id))
            found.append(scenario.await_rebalance("new_member", name))
    with scenario.step("the group resumes where it stopped") as found:
        reports = scenario.harness.wait_until(
            "a record of each partition", lambda: _reports_if_all_were_read(restarted), STEP_SECONDS
        )
        if elsewhere := ledger.resumed_elsewhere(reports, committed):
            raise ScenarioFailed(f"partitions resumed at {elsewhere}, but committed was {committed}")
        found.append(" ".join(f"{partition}@{offset}" for partition, offset in sorted(committed.items())))


def _reports_if_all_were_read(readers: Sequence[Process]) -> list[ledger.Report] | None:
    reports = [report for reader in readers for report in reader.reports]
    seen = {record.partition for record in ledger.records(reports, "read")}
    return reports if len(seen) == PARTITIONS else None


def _group_state(admin: KafkaAdminClient) -> str:
    described = admin.describe_groups([GROUP])
    return str(described[GROUP]["group_state"])


def _drain(scenario: Scenario, producer: Process, killed: Process) -> None:
    with scenario.step("the producer stops, and its last records are read") as found:
        producer.request_stop()
        scenario.harness.wait_until("the producer's close", lambda: producer.last("closed"), STEP_SECONDS)
        if failures := [report for report in producer.reports if report["event"] == "not_produced"]:
            raise ScenarioFailed(f"{len(failures)} records were not produced, the first one: {failures[0]['why']}")
        produced = ledger.records(producer.reports, "produced")
        scenario.harness.wait_until(
            "the last records to be read", lambda: not ledger.lost(produced, _read(scenario)), STEP_SECONDS
        )
        found.append(f"{len(produced):,} records")
    with scenario.step("no record lost, none read twice after a clean close") as found:
        found.extend(check_records(produced, _read(scenario), ledger.uncommitted(killed.reports), killed.name))


def _read(scenario: Scenario) -> list[ledger.Record]:
    return ledger.records(scenario.reports_of_readers(), "read")


def check_records(
    produced: Sequence[ledger.Record],
    read: Sequence[ledger.Record],
    uncommitted: set[ledger.Record],
    killed: str,
) -> list[str]:
    """Check that every record was read, and none twice, except those that the killed consumer had not committed.

    Raises:
        ScenarioFailed: a record was lost, was never produced, or was read twice.
    """
    if lost := ledger.lost(produced, read):
        raise ScenarioFailed(f"{len(lost)} records were lost, the first one: {min(lost)}")
    if made_up := ledger.lost(read, produced):
        raise ScenarioFailed(f"{len(made_up)} records were read that nobody produced, the first one: {min(made_up)}")
    if twice := ledger.read_twice(read, allowed=uncommitted):
        raise ScenarioFailed(f"{len(twice)} records were read twice, the first one: {min(twice)}")
    again = len(read) - len(produced)
    return [f"{len(produced):,} produced, {again} read again that {killed} had not committed when it was killed"]


def check_table(rows: Sequence[GenerationRow], expected: Sequence[Expected]) -> None:
    """Check that the table of generations has all expected entries.

    Raises:
        ScenarioFailed: an entry is missing or different.
    """
    for expected_step in expected:
        between = [row for row in rows if expected_step.after < row["generation_id"] <= expected_step.settled]
        if (expected_step.cause, expected_step.caused_by) not in {(row["cause"], caused_by(row)) for row in between}:
            raise ScenarioFailed(f"the table has no generation for {expected_step}")
        if [row["outcome"] for row in between if row["generation_id"] == expected_step.settled] != ["stable"]:
            raise ScenarioFailed(f"the table does not say that generation {expected_step.settled} became stable")
