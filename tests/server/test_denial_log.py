"""One line and one event per principal, operation, resource and minute, whatever is asked; and every denial counts."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from coordinator.audit.schema import AuthorizationDenied
from coordinator.security.acls.authorizer import StandardAuthorizer
from coordinator.security.acls.model import Acl, AclOperation, ResourceType
from coordinator.security.principal import Principal
from coordinator.server.denial_log import DENIALS_MAX, INTERVAL_MS, NAME_CHARACTERS_MAX, DenialLog
from coordinator.server.request_context import RequestContext
from tests.server.log_lines import LogLines, log_lines
from tests.server.manual_scheduler import ManualScheduler

READ, TOPIC = AclOperation.READ, ResourceType.TOPIC
LINE = (
    "Principal = User:alice is Denied operation = READ from host = 10.0.0.1 on resource = Topic:LITERAL:t for request "
    "= Fetch with resourceRefCount = 1 based on rule DefaultDeny"
)


@pytest.fixture
def lines() -> Iterator[LogLines]:
    with log_lines() as kept:
        yield kept


class Denying:
    """A log of denials, and the events that it reported."""

    def __init__(self) -> None:
        self.scheduler = ManualScheduler()
        self.events: list[AuthorizationDenied] = []
        self.authorizer = StandardAuthorizer((), allows_without_acl=False)
        self.log = DenialLog(
            self.authorizer,
            self.scheduler.as_loop_scheduler,
            self.scheduler.now_ms,
            report=self.events.append,
            node_id=1,
            coordinator_epoch=7,
        )
        self.scheduler.on_due(self.log.due)

    def deny(self, name: str = "t", user: str = "alice", operation: AclOperation = READ) -> None:
        route = SimpleNamespace(api=SimpleNamespace(name="Fetch"))
        call: Any = SimpleNamespace(
            principal=Principal("User", user), client_host="/10.0.0.1", client_id="c", route=route
        )
        self.log.denied(cast(RequestContext, call), operation, TOPIC, name)


@pytest.fixture
def denying() -> Denying:
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
    for number in range(DENIALS_MAX + 500):
        denying.deny(f"t{number}")
    assert len(denying.events) == DENIALS_MAX
    assert len(denying.log._last) == DENIALS_MAX
    denying.scheduler.advance(INTERVAL_MS)
    assert lines.of("further operations were denied") == [{"count": 500}]
    assert not denying.log._last
    assert denying.log.counts["READ", "TOPIC"] == DENIALS_MAX + 500


def test_a_long_or_unprintable_name_is_told_short_and_harmless(denying, lines):
    denying.deny("x" * 30_000, user="a\n" * 30_000)
    (event,) = denying.events
    assert len(event.resource_name) == len(event.principal) == NAME_CHARACTERS_MAX
    assert all("\n" not in line for line in map(str, lines.lines))
