"""The story that `make demo` tells, step by step, each step waited for and each claim checked.

Everything is stock kafka-python; nothing here knows how the server works. A step waits for a condition and never for a
time, so a slow machine takes longer and tells the same story.
"""

import json
import signal
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any, Final

from kafka import KafkaAdminClient
from kafka.admin import NewTopic
from rich.console import Console
from rich.markup import escape

from coordinator.demo import ledger
from coordinator.demo.stage import Actor, Stage, StoryFailed
from coordinator.pipeline.show import GenerationRow, caused_by, print_generations

TOPIC: Final = "orders"
PARTITIONS: Final = 6
GROUP: Final = "demo"
RECORDS_PER_SECOND: Final = 100
SESSION_TIMEOUT_MS: Final = 6_000
"""The least that a server takes by default (group.min.session.timeout.ms), so that a killed consumer is soon missed."""

STEP_SECONDS: Final = 30
SPARK_SECONDS: Final = 240
"""The first start ever fetches the connector's jars."""

STATIC_INSTANCE: Final = "till-1"


@dataclass(frozen=True, slots=True)
class Expected:
    """What the table of generations has to say, by what was done to the group: one of the generations after `after`
    up to `settled` came for this reason. More than one may come of it: kafka-python's leader joins a second time when
    its first metadata arrives late."""

    after: int
    settled: int
    cause: str
    caused_by: str


@contextmanager
def step(console: Console, doing: str) -> Iterator[list[str]]:
    """Show a step while it runs and how long it took; what the body appends is told with it."""
    started = monotonic()
    found: list[str] = []
    with console.status(f"{doing} …"):
        yield found
    told = f"[dim]: {escape('; '.join(found))}[/]" if found else ""
    line = f"[green]✓[/] [dim]{monotonic() - started:5.1f} s[/]  {doing}{told}"
    console.print(line, highlight=False, soft_wrap=True)


@dataclass(slots=True)
class Story:
    """The group as its members report it, and what has been expected of it so far."""

    stage: Stage
    bootstrap: str
    console: Console
    members: dict[str, Actor] = field(default_factory=dict)
    readers: list[Actor] = field(default_factory=list)
    generation: int = 0
    expected: list[Expected] = field(default_factory=list)

    def step(self, doing: str) -> AbstractContextManager[list[str]]:
        return step(self.console, doing)

    def start_member(self, name: str, instance_id: str | None = None) -> Actor:
        static = ["--instance-id", instance_id] if instance_id else []
        arguments = ["coordinator.demo.consumer", "--bootstrap", self.bootstrap, "--topic", TOPIC, "--group", GROUP]
        timeout = ["--session-timeout-ms", str(SESSION_TIMEOUT_MS)]
        member = self.stage.start(name, [*arguments, "--name", name, *timeout, *static])
        self.members[name] = member
        self.readers.append(member)
        return member

    def close_member(self, name: str) -> Actor:
        member = self.members.pop(name)
        member.ask_to_stop()
        self.stage.wait_until(f"a clean close of {name}", lambda: member.last("closed"), STEP_SECONDS)
        return member

    def settled(self, after: int) -> int | None:
        """The generation in which the members share all partitions, if they all are in it and it is past `after`."""
        assigned = [member.last("assigned") for member in self.members.values()]
        if not assigned or None in assigned:
            return None
        generations = {report["generation"] for report in assigned if report}
        owned = sorted(partition for report in assigned if report for partition in report["partitions"])
        (generation, *others) = generations
        return generation if not others and generation > after and owned == list(range(PARTITIONS)) else None

    def await_rebalance(self, cause: str, caused_by: str) -> str:
        """Wait until the members share the partitions in a newer generation, and note why there should be one."""
        what = f"a generation of {', '.join(self.members)} after {cause} of {caused_by}"
        before = self.generation
        self.generation = self.stage.wait_until(what, lambda: self.settled(before), STEP_SECONDS)
        self.expected.append(Expected(before, self.generation, cause, caused_by))
        shares = (f"{name} {_partitions(member)}" for name, member in self.members.items())
        return f"generation {self.generation}, {', '.join(shares)}"

    def reports_of_readers(self) -> list[ledger.Report]:
        return [report for reader in self.readers for report in reader.reports]


def _partitions(member: Actor) -> str:
    assigned = member.last("assigned")
    assert assigned, member.name
    return "[" + " ".join(map(str, assigned["partitions"])) + "]"


def start_server(stage: Stage, console: Console, folder: Path) -> str:
    """Start `coordinator serve` on a free port with its data in `folder`; its address once it is ready."""
    ready_file = folder / "ready.json"
    serve = ["serve", "--listen", "127.0.0.1:0", "--data-dir", str(folder / "data")]
    # Members come one by one here; waiting for others to come along would only make the story longer.
    settings = ["--set", "group.initial.rebalance.delay.ms=0"]
    with step(console, "coordinator serve") as found:
        arguments = ["coordinator.cli", *serve, *settings, "--ready-file", str(ready_file)]
        stage.start("server", arguments, stop_signal=signal.SIGTERM)
        stage.wait_until("the server to be ready", ready_file.exists, STEP_SECONDS)
        bootstrap = json.loads(ready_file.read_text())["bootstrap"]
        found.append(f"ready on {bootstrap}")
    return str(bootstrap)


def tell(stage: Stage, bootstrap: str, console: Console, folder: Path) -> None:
    """Play all of it on a server that runs, and print the table of generations. Raises StoryFailed."""
    story = Story(stage, bootstrap, console)
    spark = ["--tables", str(folder / "tables"), "--log", str(folder / "logs" / "spark.log"), "--group", GROUP]
    tables = stage.start("tables", ["coordinator.demo.tables", "--bootstrap", bootstrap, *spark])
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        with story.step(f"topic {TOPIC} with {PARTITIONS} partitions, and a producer that goes on meanwhile"):
            admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])
            arguments = ["--topic", TOPIC, "--per-second", str(RECORDS_PER_SECOND)]
            producer = stage.start("producer", ["coordinator.demo.producer", "--bootstrap", bootstrap, *arguments])
            stage.wait_until("the first records", lambda: producer.last("produced"), STEP_SECONDS)
        killed = _come_and_go(story)
        _restart_static_member(story)
        _restart_group(story, admin)
        _drain(story, producer, killed)
    finally:
        admin.close()
    with story.step("Spark has started meanwhile"):
        stage.wait_until("Spark to start", lambda: tables.last("warm"), SPARK_SECONDS)
    with story.step("the Spark job reads __group_audit into Delta tables") as found:
        tables.tell("run")
        rows: list[dict[str, Any]] = stage.wait_until("the table", lambda: tables.last("table"), SPARK_SECONDS)["rows"]
        found.append(f"{len(rows)} generations")
    console.print()
    print_generations(console, rows)
    check_table(rows, story.expected)


def _come_and_go(story: Story) -> Actor:
    """Three join one after another, one leaves, one is killed; the latter."""
    for name in ("consumer-1", "consumer-2", "consumer-3"):
        with story.step(f"{name} joins") as found:
            story.start_member(name)
            found.append(story.await_rebalance("new_member", name))
    with story.step("consumer-3 leaves politely") as found:
        story.close_member("consumer-3")
        found.append(story.await_rebalance("member_left", "consumer-3"))
    with story.step("consumer-2 is killed with SIGKILL, its session runs out") as found:
        killed = story.members.pop("consumer-2")
        killed.kill()
        found.append(story.await_rebalance("session_expired", "consumer-2"))
    return killed


def _restart_static_member(story: Story) -> None:
    name = STATIC_INSTANCE
    with story.step(f"static member {name} joins") as found:
        story.start_member(name, instance_id=STATIC_INSTANCE)
        found.append(story.await_rebalance("new_member", name))
    with story.step(f"static member {name} restarts without a rebalance") as found:
        before = _partitions(story.members[name])
        story.close_member(name)
        back = story.start_member(name, instance_id=STATIC_INSTANCE)
        story.stage.wait_until(f"{name} to be back", lambda: back.last("assigned") and back.last("read"), STEP_SECONDS)
        generations = {report["generation"] for m in story.members.values() if (report := m.last("assigned"))}
        if generations != {story.generation} or _partitions(back) != before:
            raise StoryFailed(f"the restart of {name} caused a rebalance: {sorted(generations)}, {_partitions(back)}")
        found.append(f"still generation {story.generation}, again {before}")


def _restart_group(story: Story, admin: KafkaAdminClient) -> None:
    with story.step("the whole group stops; it is empty when the static member's session has run out"):
        for name in list(story.members):
            story.close_member(name)
        story.stage.wait_until("an empty group", lambda: _group_state(admin) == "Empty", STEP_SECONDS)
    committed = ledger.committed(story.reports_of_readers())
    restarted: list[Actor] = []
    for name, instance_id in (("consumer-1", None), (STATIC_INSTANCE, STATIC_INSTANCE)):
        with story.step(f"{name} starts again") as found:
            restarted.append(story.start_member(name, instance_id))
            found.append(story.await_rebalance("new_member", name))
    with story.step("the group resumes where it stopped") as found:
        reports = story.stage.wait_until(
            "a record of each partition", lambda: _reports_if_all_were_read(restarted), STEP_SECONDS
        )
        if elsewhere := ledger.resumed_elsewhere(reports, committed):
            raise StoryFailed(f"partitions resumed at {elsewhere}, but committed was {committed}")
        found.append(" ".join(f"{partition}@{offset}" for partition, offset in sorted(committed.items())))


def _reports_if_all_were_read(readers: Sequence[Actor]) -> list[ledger.Report] | None:
    reports = [report for reader in readers for report in reader.reports]
    seen = {record.partition for record in ledger.records(reports, "read")}
    return reports if len(seen) == PARTITIONS else None


def _group_state(admin: KafkaAdminClient) -> str:
    described = admin.describe_groups([GROUP])
    return str(described[GROUP]["group_state"])


def _drain(story: Story, producer: Actor, killed: Actor) -> None:
    with story.step("the producer stops, and its last records are read") as found:
        producer.ask_to_stop()
        story.stage.wait_until("the producer's close", lambda: producer.last("closed"), STEP_SECONDS)
        if failures := [report for report in producer.reports if report["event"] == "not_produced"]:
            raise StoryFailed(f"{len(failures)} records were not produced, the first one: {failures[0]['why']}")
        produced = ledger.records(producer.reports, "produced")
        story.stage.wait_until(
            "the last records to be read", lambda: not ledger.lost(produced, _read(story)), STEP_SECONDS
        )
        found.append(f"{len(produced):,} records")
    with story.step("no record lost, none read twice after a clean close") as found:
        found.extend(check_records(produced, _read(story), ledger.uncommitted(killed.reports), killed.name))


def _read(story: Story) -> list[ledger.Record]:
    return ledger.records(story.reports_of_readers(), "read")


def check_records(
    produced: Sequence[ledger.Record],
    read: Sequence[ledger.Record],
    uncommitted: set[ledger.Record],
    killed: str,
) -> list[str]:
    """Every record read, none twice but for what the killed consumer had read and not committed. Raises StoryFailed."""
    if lost := ledger.lost(produced, read):
        raise StoryFailed(f"{len(lost)} records were lost, the first one: {min(lost)}")
    if made_up := ledger.lost(read, produced):
        raise StoryFailed(f"{len(made_up)} records were read that nobody produced, the first one: {min(made_up)}")
    if twice := ledger.read_twice(read, allowed=uncommitted):
        raise StoryFailed(f"{len(twice)} records were read twice, the first one: {min(twice)}")
    again = len(read) - len(produced)
    return [f"{len(produced):,} produced, {again} read again that {killed} had not committed when it was killed"]


def check_table(rows: Sequence[GenerationRow], expected: Sequence[Expected]) -> None:
    """The table says what was done to the group. Raises StoryFailed at the first step that it tells otherwise."""
    for wanted in expected:
        between = [row for row in rows if wanted.after < row["generation_id"] <= wanted.settled]
        if (wanted.cause, wanted.caused_by) not in {(row["cause"], caused_by(row)) for row in between}:
            raise StoryFailed(f"the table has no generation for this: {wanted}")
        if [row["outcome"] for row in between if row["generation_id"] == wanted.settled] != ["stable"]:
            raise StoryFailed(f"the table does not say that generation {wanted.settled} became stable")
