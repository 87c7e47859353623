"""One line and one event per principal, operation, resource and minute, whatever is asked; and every denial counts."""

from collections.abc import Callable, Iterator
from itertools import count, pairwise
from types import SimpleNamespace
from typing import Any, cast

import pytest

from coordinator.audit.schema import AuthorizationDenied
from coordinator.front.denial_log import (
    DENIALS_MAX,
    DENIALS_OF_ADDRESS_MAX,
    DENIALS_OF_PRINCIPAL_MAX,
    INTERVAL_MS,
    NAME_CHARACTERS_MAX,
    DenialLog,
)
from coordinator.front.request_context import RequestContext
from coordinator.runtime import slices
from coordinator.runtime.slices import SLICE_SECONDS, TURN_SECONDS, Slices
from coordinator.security.acls.authorizer import StandardAuthorizer
from coordinator.security.acls.model import Acl, AclOperation, ResourceType
from coordinator.security.principal import Principal
from tests.front.log_lines import LogLines, log_lines
from tests.front.manual_scheduler import ManualScheduler

STEP_SECONDS = 22e-6
"""What it takes to tell of one denial."""
READ, TOPIC = AclOperation.READ, ResourceType.TOPIC
LINE = (
    "Principal = User:alice is Denied operation = READ from host = 10.0.0.1 on resource = Topic:LITERAL:t for request "
    "= Fetch with resourceRefCount = 1 based on rule DefaultDeny"
)


@pytest.fixture
def lines() -> Iterator[LogLines]:
    with log_lines() as kept:
        yield kept


def defect(event: AuthorizationDenied) -> None:
    raise ZeroDivisionError("a defect")


class Denying:
    """A log of denials, and the events that it reported. `turns` are callbacks of the next iteration of the loop."""

    def __init__(self) -> None:
        self.scheduler = ManualScheduler()
        self.turns: list[Callable[[], None]] = []
        self.events: list[AuthorizationDenied] = []
        self.report: Callable[[AuthorizationDenied], object] = self.events.append
        self.authorizer = StandardAuthorizer((), allows_without_acl=False)
        self.log = DenialLog(
            self.authorizer,
            self.scheduler.as_loop_scheduler,
            Slices(self.turns.append),
            self.scheduler.now_ms,
            report=self._reported,
            node_id=1,
            coordinator_epoch=7,
        )
        self.scheduler.on_due(self.log.due)

    def _reported(self, event: AuthorizationDenied) -> None:
        self.report(event)

    def deny(
        self, name: str = "t", user: str = "alice", operation: AclOperation = READ, host: str = "/10.0.0.1"
    ) -> None:
        route = SimpleNamespace(api=SimpleNamespace(name="Fetch"))
        call: Any = SimpleNamespace(principal=Principal("User", user), client_host=host, client_id="c", route=route)
        self.log.denied(cast(RequestContext, call), operation, TOPIC, name)

    def deny_many(self, count: int) -> None:
        """So many names, each of its own client."""
        for number in range(count):
            self.deny(f"t{number}", f"user-{number}", host=f"/10.0.0.{number}")

    def take_turn(self) -> None:
        callbacks, self.turns[:] = list(self.turns), []
        for callback in callbacks:
            callback()

    def take_turns(self) -> list[int]:
        """Let the loop run until nothing is to be done; how many events each turn has brought."""
        told = [len(self.events)]
        while self.turns:
            self.take_turn()
            told.append(len(self.events))
        return [after - before for before, after in pairwise(told)]


@pytest.fixture
def denying(monkeypatch) -> Denying:
    """Work takes no time: all that is due is done at once."""
    monkeypatch.setattr(slices, "seconds", lambda: 0.0)
    return Denying()


@pytest.fixture
def slowly_denying(monkeypatch) -> Denying:
    """The slices ask for the time after each step; it takes what it takes to tell of one denial."""
    readings = count()
    monkeypatch.setattr(slices, "seconds", lambda: next(readings) * STEP_SECONDS)
    return Denying()


def test_a_denial_is_told_at_once_as_kafka_tells_it(denying, lines):
    denying.deny()
    assert lines.lines == [(LINE, {})]
    (event,) = denying.events
    assert (event.principal, event.client_id, event.client_host, event.api) == ("User:alice", "c", "/10.0.0.1", "Fetch")
    assert (event.operation, event.resource_type, event.resource_name) == ("READ", "TOPIC", "t")
    assert (event.rule, event.number, event.suppressed) == ("DefaultDeny", 1, 0)


def test_the_rule_is_the_acl_that_denies(denying):
    acl = Acl(2, "t", 3, "User:*", "*", 3, 2)
    denying.authorizer.add(acl)
    denying.deny()
    assert denying.events[0].rule == f"MatchingAcl(acl={acl})"


def test_the_others_of_a_minute_are_told_together_at_its_end(denying, lines):
    for _ in range(100):
        denying.deny()
    denying.scheduler.advance(INTERVAL_MS - 1)
    assert len(lines.lines) == len(denying.events) == 1
    denying.scheduler.advance(1)
    assert lines.of(LINE)[1:] == [{"suppressed": 98}]
    assert [event.suppressed for event in denying.events] == [0, 98]
    assert [event.number for event in denying.events] == [1, 2]
    denying.scheduler.advance(10 * INTERVAL_MS)
    assert len(denying.events) == 2
    assert not denying.scheduler.has_timers


def test_a_second_one_alone_is_told_in_full(denying, lines):
    denying.deny()
    denying.deny()
    denying.scheduler.advance(INTERVAL_MS)
    assert lines.of(LINE) == [{}, {}]


def test_after_a_minute_without_any_the_next_one_is_told_at_once(denying):
    denying.deny()
    denying.scheduler.advance(2 * INTERVAL_MS)
    denying.deny()
    assert len(denying.events) == 2


def test_what_differs_in_principal_operation_or_name_has_an_event_of_its_own(denying):
    denying.deny()
    denying.deny(user="bob")
    denying.deny(name="u")
    denying.deny(operation=AclOperation.WRITE)
    assert len(denying.events) == 4


def test_very_many_names_have_a_bound_and_are_counted(denying, lines):
    denying.deny_many(DENIALS_MAX + 500)
    assert len(denying.events) == DENIALS_MAX
    assert len(denying.log._last) == DENIALS_MAX
    denying.scheduler.advance(INTERVAL_MS)
    assert lines.of("further operations were denied") == [{"count": 500}]
    assert not denying.log._last and not denying.log._shares
    assert denying.log.counts["READ", "TOPIC"] == DENIALS_MAX + 500


def test_invented_names_of_one_principal_hide_nothing_of_the_others(denying, lines):
    for number in range(2 * DENIALS_MAX):
        denying.deny(f"t{number}", "mallory", host=f"/10.0.1.{number % 50}")
    assert len(denying.events) == DENIALS_OF_PRINCIPAL_MAX
    denying.deny(host="/10.0.1.1")
    assert lines.lines[-1][0] == LINE.replace("10.0.0.1", "10.0.1.1")
    assert denying.events[-1].principal == "User:alice"
    for _ in range(3):
        denying.scheduler.advance(INTERVAL_MS)
    assert not denying.log._shares
    denying.deny("t", "mallory")
    assert denying.events[-1].principal == "User:mallory", "its share is free again"


def test_many_principals_of_one_address_hide_nothing_of_the_others(denying):
    for number in range(2 * DENIALS_MAX):
        denying.deny(f"t{number}", f"user-{number}", host="/10.0.1.1")
    assert len(denying.events) == DENIALS_OF_ADDRESS_MAX
    denying.deny()
    assert denying.events[-1].principal == "User:alice"


def test_a_minute_with_very_many_is_told_in_turns_of_the_loop(slowly_denying):
    denying = slowly_denying
    for _ in range(2):
        denying.deny_many(DENIALS_MAX)
    denying.events.clear()
    denying.scheduler.advance(INTERVAL_MS)
    at_once = len(denying.events)
    turns = denying.take_turns()
    assert at_once + sum(turns) == DENIALS_MAX
    assert max(at_once, *turns) <= (TURN_SECONDS + SLICE_SECONDS) / STEP_SECONDS
    assert [event.resource_name for event in denying.events] == [f"t{number}" for number in range(DENIALS_MAX)]
    assert {event.suppressed for event in denying.events} == {0}


def test_what_is_denied_while_a_minute_is_told_is_not_lost(slowly_denying, lines):
    denying = slowly_denying
    for _ in range(2):
        denying.deny_many(500)
    denying.scheduler.advance(INTERVAL_MS)
    assert 500 < len(denying.events) < 900
    told = len(denying.events) - 500
    denying.deny("t0", "user-0")  # told already: for the next minute
    denying.deny("t499", "user-499")  # not told yet: with those of this minute
    denying.deny("new")
    assert len(denying.events) == 500 + told + 1
    denying.take_turns()
    assert [event.suppressed for event in denying.events if event.resource_name == "t499"] == [0, 1]
    denying.events.clear()
    denying.scheduler.advance(INTERVAL_MS)
    denying.take_turns()
    assert [event.resource_name for event in denying.events] == ["t0"]
    denying.scheduler.advance(INTERVAL_MS)
    assert not denying.scheduler.has_timers


def test_after_a_defect_the_next_minute_is_told(denying):
    denying.deny()
    denying.deny()
    denying.report = defect
    with pytest.raises(ZeroDivisionError):
        denying.scheduler.advance(INTERVAL_MS)
    denying.report = denying.events.append
    denying.deny()
    denying.deny()
    denying.scheduler.advance(INTERVAL_MS)
    assert [event.suppressed for event in denying.events] == [0, 1]


def test_a_long_or_unprintable_name_is_told_short_and_harmless(denying, lines):
    denying.deny("x" * 30_000, user="a\n" * 30_000)
    (event,) = denying.events
    assert len(event.resource_name) == len(event.principal) == NAME_CHARACTERS_MAX
    assert all("\n" not in line for line in map(str, lines.lines))
