"""The rounds: a fault, the wait until all is well again, and the comparison of what was told with what there is."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Self

from interop.driver import DriverFailed
from tests.cluster.rounds.audit import AuditCheck
from tests.cluster.rounds.brokers import ThreeBrokers
from tests.cluster.rounds.described import DescribedMembers
from tests.cluster.rounds.faults import Fault, Faults
from tests.cluster.rounds.members import GROUPS, Members
from tests.cluster.rounds.nodes import NODE_SETTINGS, WATCHING, Nodes
from tests.cluster.rounds.records import PARTITIONS, SINK, SOURCE, ExactlyOnceCopy, NumberedRecords
from tests.eos.topics import Topics

STABLE_SECONDS: Final = 150
"""A broker that was killed has to come back and catch up within it, too."""
READ_SECONDS: Final = 90
COMMIT_SECONDS: Final = 1
CHECK_SECONDS: Final = 0.5
DIFFERENCES_TOLD: Final = 12


class RoundFailed(AssertionError):
    """Something differs, or did not happen in time."""


class Rounds:
    """All that takes part. Leaving its context ends it."""

    def __init__(self, folder: Path, seed: int, *, is_watched: bool = False) -> None:
        """`is_watched`: the groups stay with the cluster, and the nodes watch them."""
        self._is_watched = is_watched
        self._folder = folder
        self._seed = seed
        self._stack = ExitStack()
        self.faults: Counter[str] = Counter()
        self.recovery_seconds: list[float] = []
        """From the end of each fault until all groups were stable."""

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *problem: object) -> None:
        self._stack.close()

    def _start(self) -> None:
        enter = self._stack.enter_context
        self._brokers = enter(ThreeBrokers(self._folder))
        for topic in (SOURCE, SINK):
            self._brokers.create_topic(topic, PARTITIONS)
        settings = WATCHING if self._is_watched else NODE_SETTINGS
        self._nodes = enter(Nodes(self._folder, self._brokers.bootstrap, settings))
        nodes, brokers = self._nodes.bootstrap, self._brokers.bootstrap
        self._records = enter(NumberedRecords(nodes))
        self._members = enter(Members(nodes, SOURCE, PARTITIONS))
        self._copy = enter(ExactlyOnceCopy(self._folder, nodes, brokers))
        self._audit = AuditCheck(brokers)
        self._described = DescribedMembers(brokers, GROUPS) if self._is_watched else None
        self._faults = Faults(self._nodes, self._brokers, self._seed)
        self._next_commit = 0.0

    def settle(self) -> None:
        """Wait until all is well, and check once. Raises RoundFailed."""
        self._wait_until_stable()
        self._check()

    def play(self, only: str = "") -> str:
        """One round; returns what has happened. Raises RoundFailed."""
        fault = self._faults.chosen(only)
        told = self._while_working(fault)
        ended = time.monotonic()
        try:
            self._wait_until_stable()
            self.recovery_seconds.append(time.monotonic() - ended)
            self._check()
        except (AssertionError, DriverFailed) as problem:
            raise RoundFailed(f"{told}: {problem}") from problem
        self.faults[fault.__name__.strip("_").replace("_", " ")] += 1
        return told

    @property
    def figures(self) -> str:
        produced = len(self._records.acknowledged()[1])
        commits = self._members.commits.total()
        return (
            f"{produced} records, {commits} commits, {self._audit.events} events of the audit"
            f" ({self._audit.unseen} of what was not seen),"
            f" {self._copy.hung} copiers hung; clients got over: {dict(self._members.failures)}"
        )

    # ---- what goes on all the time

    def _work(self) -> None:
        self._members.apply()
        if time.monotonic() >= self._next_commit:
            self._next_commit = time.monotonic() + COMMIT_SECONDS
            self._members.commit()
        self._copy.apply()
        if self._records.problems:
            raise RoundFailed(self._records.problems[0])

    def _while_working(self, fault: Fault) -> str:
        with ThreadPoolExecutor(1) as other_thread:
            doing = other_thread.submit(fault)
            try:
                while not doing.done():
                    self._work()
                    time.sleep(0.02)
            except BaseException:
                self._faults.give_up()
                raise
            return doing.result()

    def _wait(self, problems: Callable[[], Sequence[str]], seconds: float, what: str) -> None:
        """Wait until there are no problems, and work meanwhile. Raises RoundFailed."""
        deadline = time.monotonic() + seconds
        next_look = 0.0
        while True:
            self._work()
            if time.monotonic() >= next_look:
                found = problems()
                if not found:
                    return
                if time.monotonic() >= deadline:
                    raise RoundFailed(f"waited {seconds:g} s for {what}: " + "; ".join(found[:DIFFERENCES_TOLD]))
                next_look = time.monotonic() + CHECK_SECONDS
            time.sleep(0.02)

    # ---- the end of a round

    def _wait_until_stable(self) -> None:
        def problems() -> list[str]:
            if problem := self._nodes.not_served():
                return [problem]
            return self._members.not_stable()

        self._wait(problems, STABLE_SECONDS, "the groups to be stable")
        in_sync: Callable[[], Sequence[str]] = lambda: (  # noqa: E731
            [] if self._brokers.are_in_sync() else ["not all replicas are in sync"]
        )
        self._wait(in_sync, STABLE_SECONDS, "the brokers to be in sync")
        # A broker that comes back may move what was stable a moment before.
        self._wait(problems, STABLE_SECONDS, "the groups to be stable again")

    def _check(self) -> None:
        ends, numbers = self._records.acknowledged()
        self._wait(lambda: self._members.not_read(ends), READ_SECONDS, "what was acknowledged to be read")
        self._wait(lambda: self._copy.missing(numbers), READ_SECONDS, "what was acknowledged to be copied")
        self._wait(self._audit.read, READ_SECONDS, "the audit to be read")
        if self._described is not None:
            self._wait(self._not_told, READ_SECONDS, "the members to be told as they are")
        found = [
            *self._members.owned_by_two(),
            *self._copy.twice(),
            *self._commits_that_differ(),
            *self._audit.problems,
        ]
        if found:
            raise RoundFailed("; ".join(found[:DIFFERENCES_TOLD]))

    def _not_told(self) -> list[str]:
        """Which groups have other members than the audit tells: nodes that watch tell some seconds later."""
        assert self._described is not None
        return self._audit.read() or self._described.differ_from(self._audit.members)

    def _commits_that_differ(self) -> list[str]:
        """Commits that were acknowledged and are newer than what the cluster has."""
        self._members.apply()
        acknowledged = [(group.name, dict(group.committed)) for group in self._members.groups]
        topics = Topics(self._brokers.bootstrap)
        found = []
        for group_id, positions in acknowledged:
            at_cluster = topics.committed(group_id, SOURCE)
            for (topic, index), position in sorted(positions.items()):
                if at_cluster[index] < position:
                    found.append(f"{group_id}: {topic}-{index} was committed up to {position}, is {at_cluster[index]}")
        return found
