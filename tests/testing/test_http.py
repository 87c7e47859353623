"""The test kit over HTTP, as a test in another language uses it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from coordinator.testing import Coordinator
from tests.servers import RunningServer
from tests.testing.process import Answer, TestingProcess
from tests.testing.rdkafka import consuming
from tests.waiting import wait_for
from tests.wire_client import WireClient, join_request


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestingProcess]:
    with TestingProcess(tmp_path_factory.mktemp("testing"), "--set", "group.max.size=3") as running:
        yield running


@pytest.fixture(autouse=True)
def no_faults(kit: TestingProcess) -> Iterator[None]:
    yield
    assert kit.ask("DELETE", "/testing/faults").status == 200


def test_topics_and_records_are_made(kit):
    kit.post("/testing/topics", name="made", partitions=2)
    placed = kit.post("/testing/records", topic="made", values=["a", "b", None])
    assert placed == [{"partition": 0, "offset": 0}, {"partition": 1, "offset": 0}, {"partition": 0, "offset": 1}]


def test_a_group_is_described_waited_for_and_explained(kit):
    with WireClient(kit.bootstrap, "c") as client:
        member_id = client.join_alone("described")
        found = kit.get("/testing/group?id=described&state=Stable&members=1&timeout=5")
        assert (found["state"], found["generation_id"], found["members"][0]["member_id"]) == ("Stable", 1, member_id)
        assert found["kind"] == "classic"
        assert "described" in kit.get("/testing/groups")
        assert kit.get("/testing/events?group=described")[0]["kind"] == "group.created"
        assert "c (127.0.0.1) joined" in kit.get("/testing/why?group=described&generation=1")["why"]
        kit.post("/testing/assert-rebalances", group="described", at_most=1, causes=["new_member"])
        failed = kit.ask("POST", "/testing/assert-rebalances", {"group": "described", "at_most": 0})
        assert failed.status == 409 and "rebalanced 1 time, and at most 0 was expected" in failed.body["error"]
        failed = kit.ask("POST", "/testing/assert-delivered", {"group": "described", "at_least": 1})
        assert failed.status == 409 and "described delivered no record" in failed.body["error"]
        kit.post("/testing/assert-delivered", group="described", records=0)
        kit.post("/testing/group", group="described", configs={"share.delivery.count.limit": "3"})
        failed = kit.ask(
            "POST", "/testing/group", {"group": "described", "configs": {"share.delivery.count.limit": "0"}}
        )
        assert failed.status == 400 and "share.delivery.count.limit" in failed.body["error"]
        late = kit.ask("GET", "/testing/group?id=described&members=2&timeout=0.01")
        assert late.status == 408 and late.body["error"].startswith("waited 0.01 s for group described to have 2 memb")


def test_a_consumer_group_answers_the_same_requests(kit):
    kit.post("/testing/topics", name="modern", partitions=4)
    with consuming(kit.bootstrap, ["modern"], "modern"):
        found = kit.get("/testing/group?id=modern&state=Stable&members=1&partitions=4&timeout=9")
        assert (found["kind"], found["members"][0]["partitions"]) == ("consumer", {"modern": [0, 1, 2, 3]})
        wanted = {"do": "hold", "api": "ConsumerGroupHeartbeat", "group": "modern", "member": "modern-1"}
        fault = kit.post("/testing/faults", **wanted)["id"]
        assert kit.get(f"/testing/faults/{fault}?waiting=1&timeout=9")["waiting"] == 1
        kit.post("/testing/advance", seconds=45, silent=["modern-1"])
        assert kit.get("/testing/group?id=modern&state=Empty&timeout=9")["members"] == []
        kit.ask("DELETE", f"/testing/faults/{fault}", None)
        after = kit.get(f"/testing/group?id=modern&members=1&generation={found['generation_id'] + 2}&timeout=9")
        assert after["kind"] == "consumer"
    assert "session" in kit.get(f"/testing/why?group=modern&generation={found['generation_id'] + 1}")["why"]


def test_the_clock_jumps(kit):
    client = WireClient(kit.bootstrap, "c")
    client.join_alone("jumped", session_timeout_ms=10_000)
    client.socket.close()
    kit.post("/testing/advance", seconds=45)
    assert kit.get("/testing/group?id=jumped")["state"] == "Empty"


def test_faults_are_injected_counted_and_removed(kit):
    with WireClient(kit.bootstrap, "c") as client:
        member_id = client.join_alone("faulty")
        fault = kit.post("/testing/faults", do="answer", api="Heartbeat", error="ILLEGAL_GENERATION", group="faulty")
        assert kit.ask("POST", "/testing/faults/assert-all-hit").status == 409
        assert client.heartbeat_error("faulty", member_id) == 22
        assert kit.get(f"/testing/faults/{fault['id']}")["hits"] == 1
        kit.post("/testing/faults/assert-all-hit")
        removed = kit.ask("DELETE", f"/testing/faults/{fault['id']}")
        assert removed.body["is_removed"] and client.heartbeat_error("faulty", member_id) == 0
        assert [each["hits"] for each in kit.get("/testing/faults")] == [1]


def test_a_barrier_is_waited_for_and_released(kit):
    with WireClient(kit.bootstrap, "c") as client:
        barrier = kit.post("/testing/faults", do="hold", api="JoinGroup", group="held")["id"]
        sent = client.send(join_request("held"), 3)
        assert kit.get(f"/testing/faults/{barrier}?waiting=1&timeout=5")["waiting"] == 1
        assert kit.post(f"/testing/faults/{barrier}/release") == {"released": 1}
        assert client.receive(sent).generation_id == 1


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "message"),
    [
        ("POST", "/testing/topics", {"name": "x", "partitins": 1}, 400, "unknown field `partitins`"),
        ("POST", "/testing/topics", {}, 400, "missing required field `name`"),
        ("POST", "/testing/topics", {"name": "x", "partitions": 10**9}, 400, "cannot create topic x"),
        ("POST", "/testing/topics", b"{", 400, "truncated"),
        ("POST", "/testing/topics", [1], 400, "Expected `object`, got `array`"),
        ("POST", "/testing/records", {"topic": "nowhere", "values": []}, 400, "there is no topic nowhere"),
        ("POST", "/testing/advance", {"seconds": -1}, 400, "cannot advance by -1.0 s"),
        ("POST", "/testing/advance", {"seconds": 1e300}, 400, "366 days"),
        ("POST", "/testing/faults", {"do": "burn"}, 400, "there is no fault 'burn'"),
        ("POST", "/testing/faults/999/release", {}, 400, "there is no fault 999"),
        ("DELETE", "/testing/faults/999", None, 400, "there is no fault 999"),
        ("GET", "/testing/group", None, 400, "the parameter id is missing"),
        ("GET", "/testing/group?id=g&members=-1", None, 400, "members=-1: expected a whole number"),
        ("GET", "/testing/group?id=g&timeout=soon", None, 400, "timeout=soon: expected seconds"),
        ("GET", "/testing/group?id=g&state=Well", None, 400, "there is no state 'Well'"),
        ("GET", "/testing/why?group=nobody", None, 400, "group nobody has not rebalanced"),
    ],
)
def test_a_bad_request_gets_one_line(kit, method, path, body, status, message):
    answer = kit.ask(method, path, body)
    assert answer.status == status and message in answer.body["error"] and "\n" not in answer.body["error"]


def test_a_page_of_another_site_cannot_post(kit):
    """Browsers send no JSON to another site unless it allows it."""
    answer = kit.ask("POST", "/testing/advance", b'{"seconds": 1}', "text/plain")
    assert answer == Answer(415, {"error": "send a body of JSON, with Content-Type: application/json"})


def test_a_plain_server_has_no_such_routes(tmp_path):
    with RunningServer(tmp_path, {"admin.listener": "127.0.0.1:0"}) as server:
        plain = TestingProcess(tmp_path)
        plain.admin = server.admin
        for method, path in (("POST", "/testing/advance"), ("GET", "/testing/groups"), ("DELETE", "/testing/faults")):
            assert plain.ask(method, path).status == 404


def test_a_restart_keeps_the_ports(tmp_path):
    with TestingProcess(tmp_path) as kit:
        kit.post("/testing/topics", name="kept")
        kit.post("/testing/restart", clean=False)

        def is_back() -> bool:
            try:
                return kit.ask("GET", "/readyz").status == 200 and kit.ask("GET", "/testing/groups").status == 200
            except OSError:
                return False

        wait_for(is_back, 10, "the server to be back")
        assert kit.post("/testing/records", topic="kept", values=["a"]) == [{"partition": 0, "offset": 0}]


def test_it_ends_with_the_process_that_started_it_and_on_sigterm(tmp_path):
    with TestingProcess(tmp_path) as kit:
        kit.close_stdin()
        assert kit.process.wait(10) == 0
    with TestingProcess(tmp_path) as kit:
        os.kill(kit.process.pid, signal.SIGTERM)
        assert kit.process.wait(10) == 0


def test_a_wrong_setting_gets_one_line():
    command = [sys.executable, "-m", "coordinator.cli", "testing", "--set", "log.dirs=x"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert run.returncode == 2
    assert run.stderr == (
        "coordinator: log.dirs cannot be set: a coordinator in a test has a free port and its logs in memory\n"
    )


def test_the_same_faults_are_there_in_python_and_over_http():
    """Each method of `faults` has the fields of the JSON form, which are checked in one place."""
    from coordinator.faults.specs import KINDS
    from coordinator.testing.fault_fields import FaultMethods

    assert set(KINDS) <= set(dir(FaultMethods))
    with Coordinator() as server:
        assert server.faults.add({"do": "hold", "api": "Fetch"}).hits == 0
