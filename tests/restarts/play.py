"""One restart: the outage, the wait until each member works again, and the comparison with what was told before."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Self

from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from coordinator.client.audit_topic import AuditTopic
from tests.cluster.rounds.members import CLIENTS, OPTIONS, Members
from tests.cluster.rounds.records import NumberedRecords
from tests.eos.topics import Topics
from tests.servers import RunningServer

TOPIC: Final = "orders"
GROUP_MEMBERS: Final = 25
"""Members of each group, all of one library, and partitions of the topic."""
FORMING_SECONDS: Final = 300
BACK_SECONDS: Final = 60
COMMIT_SECONDS: Final = 2
LOOK_SECONDS: Final = 0.5
DIFFERENCES_TOLD: Final = 12
MEMBER_OPTIONS: Final = OPTIONS | {
    "session_timeout_ms": 45_000,
    "heartbeat_interval_ms": 3_000,
    "metadata_max_age_ms": 300_000,
    "properties": {"metadata.recovery.strategy": "none"},
}
"""As clients of Kafka have them when nothing is set, but for one: Java 4 forgets the topics when its only broker is
away, and the leader of a group may then ask for a rebalance (KIP-899). Java 3 has no such `rebootstrap`."""

REBALANCE_EVENTS: Final = ("assigned", "revoked", "lost")


def groups_of(members: int) -> dict[str, tuple[str, ...]]:
    """Group → the library of each of its members: the libraries in turn."""
    libraries = [CLIENTS[number % len(CLIENTS)] for number in range(members // GROUP_MEMBERS)]
    return {f"{library}-{number}": (library,) * GROUP_MEMBERS for number, library in enumerate(libraries)}


def create_topic(bootstrap: str, name: str, partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for created in admin.create_topics([NewTopic(name, partitions, 1)]).values():
        created.result()


class Restarts:
    """A server, the members of its groups, and records for them. Leaving its context ends all."""

    def __init__(self, folder: Path, members: int, *, socket_unit: bool) -> None:
        """`socket_unit`: the port stays open during a restart, as with the socket unit of systemd."""
        self._stack = ExitStack()
        self._server = RunningServer(folder, socket_unit=socket_unit)
        self._groups = groups_of(members)
        self._next_commit = 0.0
        self._generations: dict[str, int] = {}

    def __enter__(self) -> Self:
        enter = self._stack.enter_context
        try:
            enter(self._server)
            self._topics = Topics(self._server.bootstrap)
            create_topic(self._server.bootstrap, TOPIC, GROUP_MEMBERS)
            self._records = enter(NumberedRecords(self._server.bootstrap, TOPIC, GROUP_MEMBERS))
            self._members = enter(Members(self._server.bootstrap, TOPIC, GROUP_MEMBERS, self._groups, MEMBER_OPTIONS))
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *problem: object) -> None:
        self._stack.close()

    def begin(self) -> str:
        """Wait until all groups are stable and all members have committed. Raises AssertionError."""
        began = time.monotonic()
        self._wait(self._members.not_stable, FORMING_SECONDS, "the groups to be stable")
        self._wait(lambda: self._without_commit(Counter()), FORMING_SECONDS, "each member to commit")
        self._generations = self._newest_generations()
        members = sum(len(group.members) for group in self._members.groups)
        return f"{members} members in {len(self._groups)} groups are stable after {time.monotonic() - began:.0f} s"

    def restart(self, down_seconds: float) -> str:
        """Stop the server, start it again after a while, and wait until each member commits. Raises AssertionError."""
        events, commits = self._rebalance_events(), Counter(self._members.commits)
        began = time.monotonic()
        status = self._server.stop()
        assert status == 0, f"the server ended with status {status}"
        self._work_until(began + down_seconds)
        self._server.start()
        down, back = time.monotonic() - began, time.monotonic()
        self._wait(lambda: self._without_commit(commits), BACK_SECONDS, "each member to commit")
        committing_after = time.monotonic() - back
        ends, _ = self._records.acknowledged()
        self._wait(lambda: self._members.not_read(ends), BACK_SECONDS, "what was acknowledged to be read")
        self._wait(self._members.not_stable, BACK_SECONDS, "the groups to be stable")
        found = [
            *[f"{name}: {count} times" for name, count in (self._rebalance_events() - events).items()],
            *self._generations_that_differ(),
            *self._commits_that_differ(),
        ]
        assert not found, "; ".join(found[:DIFFERENCES_TOLD])
        return f"down for {down:.1f} s, all members commit {committing_after:.1f} s later; no rebalance, no commit lost"

    def end(self) -> str:
        produced = len(self._records.acknowledged()[1])
        commits = self._members.commits.total()
        failures = ", ".join(f"{kind} ×{count}" for kind, count in sorted(self._members.failures.items()))
        return f"{produced} records, {commits} commits; what clients reported and got over: {failures or 'nothing'}"

    # ---- what goes on all the time

    def _work(self) -> None:
        self._members.apply()
        if time.monotonic() >= self._next_commit:
            self._next_commit = time.monotonic() + COMMIT_SECONDS
            self._members.commit()
        assert not self._records.problems, self._records.problems[0]
        time.sleep(0.02)

    def _work_until(self, deadline: float) -> None:
        while time.monotonic() < deadline:
            self._work()

    def _wait(self, problems: Callable[[], Sequence[str]], seconds: float, what: str) -> None:
        """Work until there are no problems. Raises AssertionError."""
        deadline = time.monotonic() + seconds
        while found := problems():
            assert time.monotonic() < deadline, f"waited {seconds:g} s for {what}: " + "; ".join(
                found[:DIFFERENCES_TOLD]
            )
            self._work_until(time.monotonic() + LOOK_SECONDS)

    # ---- what is compared

    def _without_commit(self, since: Counter[str]) -> list[str]:
        """The members of which no commit was acknowledged since then."""
        names = [member.name for group in self._members.groups for member in group.members]
        return [f"{name} has not committed" for name in names if self._members.commits[name] <= since[name]]

    def _rebalance_events(self) -> Counter[str]:
        """What members were told of their partitions: member and event → how often."""
        return Counter(
            f"{member.name} {event['event']}"
            for group in self._members.groups
            for member in group.members
            for event in member.events
            if event["event"] in REBALANCE_EVENTS
        )

    def _newest_generations(self) -> dict[str, int]:
        """Group → its newest generation, by the audit."""
        newest: dict[str, int] = {}
        with AuditTopic(self._server.bootstrap) as topic:
            for group_id in self._groups:
                for record in topic.group_events(group_id):
                    if record.event is not None:
                        newest[group_id] = max(newest.get(group_id, 0), record.event.generation_id)
        return newest

    def _generations_that_differ(self) -> list[str]:
        now = self._newest_generations()
        return [
            f"{group_id}: generation {now.get(group_id)} after {generation}"
            for group_id, generation in self._generations.items()
            if now.get(group_id) != generation
        ]

    def _commits_that_differ(self) -> list[str]:
        """Commits that were acknowledged and are newer than what the server has."""
        self._members.apply()
        acknowledged = [(group.name, dict(group.committed)) for group in self._members.groups]
        found = []
        for group_id, positions in acknowledged:
            stored = self._topics.committed(group_id, TOPIC)
            for (topic, index), position in sorted(positions.items()):
                if stored[index] < position:
                    found.append(f"{group_id}: {topic}-{index} was committed up to {position}, is {stored[index]}")
        return found
