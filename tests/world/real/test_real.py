"""A history of real clients; and what clients did contradicts claims that are not so."""

import json
import subprocess
import sys

import pytest

from coordinator.audit.schema import MemberRef
from coordinator.explain.claims.advice import Advice, Try
from coordinator.explain.claims.causes import Late, Left, Missing, Way
from coordinator.explain.claims.claim import Claim
from coordinator.explain.claims.silences import CameAgain, ConnectionClosed, Muted, Silent
from coordinator.explain.generation import Outcome
from tests.world.checkers.context import Context
from tests.world.clients import KINDS as OF_THE_WORLD
from tests.world.history import ConsumerSetup, History, Setup
from tests.world.real.checks import check
from tests.world.real.playing import HOST
from tests.world.real.script import KINDS, UNTIL_MS, script_of
from tests.world.real.witness import process_at
from tests.world.truth import Departure, Ended, ProcessTruth, Truth
from tests.world.truth import Way as HowItLeft

HEALTHY, KILLED, CLOSED = (MemberRef(f"c{number}-a", f"c{number}", HOST) for number in range(3))


def truth() -> Truth:
    """A process that does nothing but consume, one that is killed after 20 s, and one that is closed then."""
    found = Truth()
    for number, member in enumerate((HEALTHY, KILLED, CLOSED)):
        process = ProcessTruth(number, number, OF_THE_WORLD["java"], member.client_id, HOST, None, 0)
        found.processes.append(process)
        found.by_member[member.member_id] = process
        found.present[member.member_id] = process, 100
    for number, how in ((1, Ended.KILLED), (2, Ended.CLOSED)):
        process = found.processes[number]
        process.ended_ms, process.ended = 20_000, how
        process.disconnections.append(20_000)
        found.removed(f"c{number}-a", 30_000 if how is Ended.KILLED else 20_000)
    found.processes[2].departures.append(Departure(20_000, CLOSED.member_id, HowItLeft.CLOSED, ""))
    return found


CONTEXT = Context(
    History(Setup((ConsumerSetup(),) * 3)), 0, 60_000, 3, False, Outcome.STABLE, 30_000, 30_000, 30_010, 3_000
)
SILENT = Silent(member=KILLED, until_ms=30_000, since_ms=20_000, timeout_ms=10_000)


@pytest.mark.parametrize(
    ("true", "false"),
    [
        (SILENT, Silent(member=HEALTHY, until_ms=30_000, since_ms=20_000, timeout_ms=10_000)),
        (SILENT, Silent(member=KILLED, until_ms=30_000, since_ms=1_000, timeout_ms=10_000)),
        (
            ConnectionClosed(member=KILLED, at_ms=20_001, removed_ms=30_000),
            ConnectionClosed(member=KILLED, at_ms=26_000, removed_ms=30_000),
        ),
        (
            CameAgain(member=HEALTHY, at_ms=31_000, removed_ms=30_000),
            CameAgain(member=KILLED, at_ms=31_000, removed_ms=30_000),
        ),
        (Left(member=CLOSED, way=Way.CLOSED, at_ms=20_001), Left(member=CLOSED, way=Way.POLL_TIMEOUT, at_ms=20_001)),
        (Left(member=CLOSED, way=Way.CLOSED, at_ms=20_001), Left(member=HEALTHY, way=Way.CLOSED, at_ms=20_001)),
        (Late(member=KILLED, missing=Missing.REJOIN), Late(member=HEALTHY, missing=Missing.REJOIN)),
        (SILENT, Muted(member=KILLED, muted_ms=5_000)),
        (SILENT, Advice(kind=Try.SESSION_OUTLASTS, because=(), member=KILLED)),
    ],
)
def test_what_clients_did_contradicts_what_is_not_so(true: Claim, false: Claim):
    known = truth()
    assert check(true, known, CONTEXT) is None
    assert check(false, known, CONTEXT) is not None


def test_a_member_is_of_the_process_of_its_client_that_ran_then():
    known = truth()
    again = ProcessTruth(3, 1, OF_THE_WORLD["java"], "c1", HOST, None, 40_000)
    known.processes.append(again)
    assert process_at(known, "c1", 10_000) is known.processes[1]
    assert process_at(known, "c1", 21_000) is known.processes[1], "what it had sent is read after its end"
    assert process_at(known, "c1", 30_000) is None
    assert process_at(known, "c1", 41_000) is again


def test_a_seed_has_one_script_and_all_kinds_of_clients_occur():
    scripts = [script_of(seed) for seed in range(40)]
    assert scripts == [script_of(seed) for seed in range(40)]
    assert {consumer.kind for script in scripts for consumer in script.consumers} == set(KINDS)
    assert all(step.at_ms < UNTIL_MS for script in scripts for step in script.steps)


@pytest.mark.realtime
def test_nothing_false_is_told_of_a_history_of_real_clients(tmp_path):
    """A member stands still and is killed, the server is killed, and another member is closed."""
    reports = tmp_path / "reports"
    command = [sys.executable, "-m", "tests.world.real", "1", "3", "--clients=kafka-python,confluent-kafka"]
    done = subprocess.run([*command, f"--reports={reports}"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(reports.read_text(encoding="utf-8"))
    assert report["generations"] >= 2
    assert sum(report["checked"].values()) >= 10
