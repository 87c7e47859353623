"""The coordinator is stopped with SIGSTOP, killed, or restarted: what the events say, and who is not blamed."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from _wire.messages.heartbeat import HeartbeatRequest
from coordinator.audit import schema
from coordinator.cli.group_history import history_command
from coordinator.client.audit_topic import AuditTopic
from coordinator.explain.generation import Generation
from coordinator.explain.history import GroupHistory
from coordinator.explain.story import Story, story_of
from tests.servers import QUICK_GROUPS, RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient

SESSION_MS = 1_500
STOPPED_SECONDS = 4
WAITS_SECONDS = 15

pytestmark = pytest.mark.realtime


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    with RunningServer(tmp_path, QUICK_GROUPS) as running:
        yield running


def stop_for(server: RunningServer, seconds: float, meanwhile: Callable[[], object] = lambda: None) -> None:
    os.kill(server.pid, signal.SIGSTOP)
    try:
        meanwhile()
        time.sleep(seconds)  # what is tested is a length of time
    finally:
        os.kill(server.pid, signal.SIGCONT)


def history_of(server: RunningServer, group_id: str) -> GroupHistory:
    history = GroupHistory(group_id)
    with AuditTopic(server.bootstrap) as topic:
        for record in topic.events_about(group_id):
            if record.event is not None:
                history.apply(record.event)
            elif record.coordinator_event is not None:
                history.note_coordinator(record.coordinator_event)
    return history


def after_the_removal(server: RunningServer, group_id: str) -> tuple[GroupHistory, Generation]:
    """The history, and the generation whose rebalance removed a member."""

    def found() -> list[tuple[GroupHistory, Generation]]:
        history = history_of(server, group_id)
        return [
            (history, generation)
            for generation in history.generations
            if generation.changes.removed and generation.ended_ms
        ]

    return wait_for(found, WAITS_SECONDS, "a member to be removed", every_ms=100)[0]


def text(story: Story) -> str:
    return " ".join((story.headline, *story.paragraphs))


def test_a_member_that_the_coordinator_could_not_hear(server: RunningServer) -> None:
    with WireClient(server.bootstrap) as client:
        client.join_alone("unheard", session_timeout_ms=SESSION_MS)
        stop_for(server, STOPPED_SECONDS)
        history, generation = after_the_removal(server, "unheard")
    (removal,) = generation.changes.removed
    assert removal.coordinator_paused_ms is not None
    assert STOPPED_SECONDS * 1_000 - 500 < removal.coordinator_paused_ms <= STOPPED_SECONDS * 1_000 + 500
    assert removal.is_unheard
    (paused,) = [
        coordinator_event
        for coordinator_event in history.coordinator_events
        if isinstance(coordinator_event, schema.CoordinatorPaused)
    ]
    assert paused.pause_kind == "suspended"
    story = story_of(history, generation)
    assert "because the coordinator itself stood still for" in story.headline
    assert "it is no fault of test" in text(story)
    assert "stayed open" not in text(story)
    assert "session.timeout.ms" not in " ".join(story.advice)


def test_a_heartbeat_that_came_while_the_coordinator_stood_still_counts(server: RunningServer) -> None:
    """What lies in the sockets is read before sessions end."""
    with WireClient(server.bootstrap) as client:
        member_id = client.join_alone("heard", session_timeout_ms=SESSION_MS)
        beat = HeartbeatRequest(group_id="heard", generation_id=1, member_id=member_id)
        sent = []
        stop_for(server, STOPPED_SECONDS, lambda: sent.append(client.send(beat, 3)))
        assert client.receive(sent[0]).error_code == 0
        assert client.heartbeat_error("heard", member_id) == 0
        wait_for(lambda: history_of(server, "heard").coordinator_events, WAITS_SECONDS, "the pause to be told")
        assert [member for member in history_of(server, "heard").members] == [member_id]


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_member_that_was_not_heard_since_a_restart(server: RunningServer, is_killed: bool) -> None:
    with WireClient(server.bootstrap) as client:
        client.join_alone("restarted", session_timeout_ms=SESSION_MS)
        if is_killed:
            server.kill()
        else:
            server.stop()
        server.start()
        history, generation = after_the_removal(server, "restarted")
    (removal,) = generation.changes.removed
    assert removal.last_heard_ms is None
    assert removal.connection_open is None
    kinds = [type(coordinator_event) for coordinator_event in history.coordinator_events]
    assert kinds == ([] if is_killed else [schema.CoordinatorStopped]) + [schema.CoordinatorStarted]
    said = text(story_of(history, generation))
    assert "Nothing was heard of test since then, when its session began again." in said
    assert "the coordinator started again" in said
    assert ("after its stop" in said) is not is_killed


def test_the_history_of_a_group_has_them_in_the_order_of_time(server: RunningServer) -> None:
    with WireClient(server.bootstrap) as client:
        client.join_alone("told", session_timeout_ms=30_000)
    server.stop()
    server.start()
    stop_for(server, 2)
    wait_for(lambda: len(history_of(server, "told").coordinator_events) == 3, WAITS_SECONDS, "the pause to be told")
    server.kill()
    server.start()
    wait_for(lambda: len(history_of(server, "told").coordinator_events) == 4, WAITS_SECONDS, "the start to be told")
    printed = CliRunner().invoke(history_command, ["told", "--bootstrap", server.bootstrap, "--utc"])
    assert printed.exit_code == 0, printed.output
    lines = " ".join(printed.output.split())
    expected = (
        "the coordinator was stopped",
        "the coordinator started again,",
        "the coordinator stood still for",
        "its process was suspended",
        "the coordinator started again: it had ended without a stop",
    )
    places = [lines.find(each) for each in expected]
    assert -1 not in places, lines
    assert places == sorted(places), lines
