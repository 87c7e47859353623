"""Nodes in front of a Kafka of three brokers: what a group of four client libraries notices when some of it fails.

    python -m tests.cluster.front_demo [--dashboard] [--folder DIR]

Takes about two minutes, and 2 GiB of memory.
"""

import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Self

from _wire.messages.describe_groups import DescribeGroupsRequest
from coordinator.client.audit_topic import AuditTopic
from coordinator.client.groups import coordinator_of
from coordinator.client.wire import ClientError, WireConnection
from coordinator.explain.history import GroupHistory
from coordinator.explain.story import story_of
from tests.cluster.demos import main, run, show_page, step, told
from tests.cluster.rounds.brokers import ThreeBrokers
from tests.cluster.rounds.members import CLIENTS, Members
from tests.cluster.rounds.nodes import Nodes
from tests.cluster.rounds.records import PARTITIONS, NumberedRecords
from tests.cluster.running import RunningNode

TOPIC: Final = "orders"
GROUP: Final = "billing"
SECONDS: Final = 120
ASK_SECONDS: Final = 2
COMMIT_SECONDS: Final = 1
SUSPENDED_SECONDS: Final = 10
"""Longer than the session of a node, 6 s."""
BROKER_AWAY_SECONDS: Final = 10

Owned = dict[str, list[int]]
"""Member → the partitions of the topic that it owns."""


class FrontDemo:
    """All that takes part. Leaving its context ends it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = ExitStack()
        self._next_commit = 0.0

    def __enter__(self) -> Self:
        enter = self._stack.enter_context
        try:
            self._brokers = enter(ThreeBrokers(self._folder))
            self._brokers.create_topic(TOPIC, PARTITIONS)
            self._nodes = enter(Nodes(self._folder, self._brokers.bootstrap))
            told(f"Kafka, three brokers: {self._brokers.bootstrap}", f"three nodes in front: {self._nodes.bootstrap}")
            self._records = enter(NumberedRecords(self._nodes.bootstrap, TOPIC))
            self._members = enter(Members(self._nodes.bootstrap, TOPIC, PARTITIONS, {GROUP: CLIENTS}))
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *problem: object) -> None:
        self._stack.close()

    def play(self) -> None:
        self._wait(lambda: not self._members.not_stable(), "the consumers to join")
        step("Four consumers of four client libraries have joined", *self._described())
        self._node_killed()
        self._node_suspended()
        self._broker_killed()
        self._consumer_leaves()
        self._wait(self._all_is_read, "all records to be read")
        commits = self._members.commits.total()
        step("The consumers have read all records", f"{self._produced} were acknowledged, and {commits} commits")

    # ---- what happens

    def _node_killed(self) -> None:
        node = self._coordinator()
        before = self._generation(), self._owned()
        began = time.monotonic()
        node.kill()
        after = self._next_coordinator(node)
        step(
            f"Node {node.node_id}, which coordinates the group, was killed (SIGKILL)",
            f"node {after.node_id} coordinates the group after {time.monotonic() - began:.1f} s",
            self._difference(*before),
        )
        node.start()
        self._wait(lambda: not self._nodes.not_served(), "the node to serve again")

    def _node_suspended(self) -> None:
        node = self._coordinator()
        before = self._generation(), self._owned()
        node.send(signal.SIGSTOP)
        try:
            until = time.monotonic() + SUSPENDED_SECONDS
            after = self._next_coordinator(node)
            self._wait(lambda: time.monotonic() >= until, "the session of the node to be over")
        finally:
            node.send(signal.SIGCONT)
        self._wait(lambda: not self._nodes.not_served(), "the node to serve again")
        step(
            f"Node {node.node_id} stood still for {SUSPENDED_SECONDS} s (SIGSTOP), longer than its session",
            f"node {after.node_id} took over, and since node {node.node_id} went on each partition is led by one node",
            self._difference(*before),
        )

    def _broker_killed(self) -> None:
        broker = self._brokers.brokers[0]
        before = self._generation(), self._owned()
        broker.kill()
        until = time.monotonic() + BROKER_AWAY_SECONDS
        self._wait(lambda: time.monotonic() >= until, "a while without the broker")
        broker.start()
        self._wait(self._brokers.are_in_sync, "the brokers to be in sync")
        self._wait(lambda: not self._members.not_stable(), "the group to be stable")
        step(
            f"Broker 1 was killed, and started again after {BROKER_AWAY_SECONDS} s",
            self._difference(*before),
        )

    def _consumer_leaves(self) -> None:
        group = self._members.groups[0]
        leaving = group.members.pop()
        leaving.leave()
        self._wait(lambda: not self._members.not_stable(), "the others to own all partitions")
        step(f"The consumer {leaving.name} has left", *self._described())

    # ---- what is seen

    def _owned(self) -> Owned:
        return {member.name: sorted(index for _, index in member.owned) for member in self._members.groups[0].members}

    def _described(self) -> list[str]:
        lines = [f"generation {self._generation()}"]
        return lines + [f"{name:26} owns {TOPIC} {partitions}" for name, partitions in self._owned().items()]

    def _difference(self, generation: int, owned: Owned) -> str:
        """What has become of the group since, told once each consumer has committed."""
        commits = self._members.commits.copy()
        members = [member.name for member in self._members.groups[0].members]
        # The first one that is acknowledged now may have been sent before.
        self._wait(
            lambda: all(self._members.commits[member] > commits[member] + 1 for member in members), "two commits each"
        )
        now = self._generation()
        if (now, self._owned()) == (generation, owned):
            return f"no rebalance: generation {now}, and each consumer owns what it owned"
        return f"the group has rebalanced: {self._why()}"

    def _generation(self) -> int:
        """By the last event of the audit."""
        with AuditTopic(self._nodes.bootstrap) as topic:
            return max(
                group_event.event.generation_id
                for group_event in topic.group_events(GROUP)
                if group_event.event is not None
            )

    def _why(self) -> str:
        """Why the last generation began."""
        with AuditTopic(self._nodes.bootstrap) as topic:
            events = [group_event.event for group_event in topic.group_events(GROUP) if group_event.event is not None]
        history = GroupHistory.of(GROUP, events)
        return story_of(history, history.generations[-1]).headline

    @property
    def _produced(self) -> int:
        return len(self._records.acknowledged()[1])

    def _all_is_read(self) -> bool:
        return not self._members.not_read(self._records.acknowledged()[0])

    def _coordinator(self) -> RunningNode:
        found = self._asked(self._nodes.running)
        assert found is not None, f"no node coordinates {GROUP}"
        return found

    def _next_coordinator(self, last: RunningNode) -> RunningNode:
        """Wait until another node serves the group."""
        found: list[RunningNode] = []

        def is_served() -> bool:
            other = self._asked([each for each in self._nodes.running if each is not last])
            found[:] = [other] if other is not None and other is not last else []
            return bool(found)

        self._wait(is_served, "another node to coordinate the group")
        return found[0]

    def _asked(self, nodes: list[RunningNode]) -> RunningNode | None:
        """The node that serves the group, as the first of these nodes knows it."""
        try:
            with WireConnection(",".join(node.bootstrap for node in nodes), "demo", ASK_SECONDS) as anyone:
                address = coordinator_of(anyone, GROUP)
            with WireConnection(address, "demo", ASK_SECONDS) as coordinator:
                (group,) = coordinator.send_latest(DescribeGroupsRequest(groups=[GROUP])).groups
        except ClientError:
            return None
        if group.group_state != "Stable":
            return None
        return next((node for node in self._nodes.running if node.bootstrap == address), None)

    def _wait(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for it while the consumers go on committing."""
        deadline = time.monotonic() + SECONDS
        while not condition():
            assert time.monotonic() < deadline, f"waited {SECONDS} s for {what}; the logs are in {self._folder}"
            self._members.apply()
            if time.monotonic() >= self._next_commit:
                self._next_commit = time.monotonic() + COMMIT_SECONDS
                self._members.commit()
            time.sleep(0.05)

    # ---- what is told of it

    def tell(self, dashboard: bool) -> None:
        """The history by the CLI, a picture of the page, and the page itself until Ctrl-C if that is wanted."""
        for arguments in (("cluster", "status"), ("groups", "why", GROUP)):
            run(self._nodes.bootstrap, *arguments)
        show_page(self._folder, self._nodes.bootstrap, GROUP, is_left_open=dashboard)


if __name__ == "__main__":
    main("front_demo", __doc__, FrontDemo)
