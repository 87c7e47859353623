"""Runs the steps of histories: a whole server with instruments, its clients, and the invariants after each step."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.model.memory_files import ProcessKilled
from tests.simulation import invariants
from tests.simulation.clients import Client
from tests.simulation.history import Step
from tests.simulation.member_steps import MemberSteps
from tests.simulation.offset_steps import OffsetSteps
from tests.simulation.record_steps import RecordSteps
from tests.simulation.server_steps import ServerSteps


class Harness(MemberSteps, OffsetSteps, RecordSteps, ServerSteps):
    """Plays steps. Each public method of a client and a `value` is a kind of step; none fails for want of a client in
    the right state, so that any step can be left out of a history."""

    def play(self, step: Step) -> None:
        self.seen[f"step {step.kind}"] += 1
        kind: Callable[[Client, int], None] = getattr(self, step.kind)
        with self._surviving_death():
            kind(self.clients[step.who % len(self.clients)], step.value)
            if self.batch_left and step.kind != "batch":
                self.batch_left -= 1
            if not self.batch_left:
                self.server.is_batching = False
                self.server.turn()
        self.raise_defects()
        if not self.server.is_batching:
            invariants.check(self)

    def everybody(self, client: Client, value: int) -> None:
        """As `MemberSteps.everybody`; after a fifth of them all commit what they own."""
        super().everybody(client, value)
        if value % 5 == 0:
            self.commit_all(value // 5)

    @contextmanager
    def _surviving_death(self) -> Iterator[None]:
        try:
            yield
        except ProcessKilled:
            self.seen["server died while writing"] += 1
            self._start_again()

    def raise_defects(self) -> None:
        """What the product caught and logged as its own defect is one for us too."""
        if self.defects:
            raise self.defects[0]
