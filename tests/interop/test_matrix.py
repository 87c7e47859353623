"""The matrix: what is played with whom, plays that hang or break, the report of the results."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from _wire.errors import ErrorCode
from _wire.messages.heartbeat import HeartbeatRequest
from coordinator.client.wire import WireConnection
from interop import builds, targets
from interop.__main__ import quick
from interop.builds import ALL, PYTHON, SHARE, Client, Toolchain
from interop.driver import BASIC, CLIENTS, DriverMissing
from interop.matrix import Matrix, OnKafka, Ready, abilities, load, on_kafka, play_in_process, plays_of, stored
from interop.play import Play, Result
from interop.report import junit, page, problems
from interop.scenarios import SCENARIOS
from interop.targets import FRONT, KAFKA, OURS

ABLE = BASIC | {"range", "roundrobin", "static"}
PLAY = Play(scenario="first_join", client="aiokafka", target=OURS, number=0, folder="")


def matrix(**results: Result) -> Matrix:
    """Results of kafkajs, by target, in the scenario `first_join`."""
    made = Matrix(clients={"kafkajs": Ready("kafkajs", "2.2.4", BASIC), "java": Ready("java", "4.3.1", ABLE)})
    for target, result in results.items():
        made.add(Play(scenario="first_join", client="kafkajs", target=target, number=0, folder=""), result)
    return made


def test_a_scenario_is_played_with_the_clients_that_are_able_to():
    wanted = [(client, name) for name in SCENARIOS for client in ("kafkajs", "java", "sarama")]
    plays = plays_of(matrix(), OURS, wanted, Path("/nowhere"))
    played = {(play.client, play.scenario) for play in plays}
    assert {("kafkajs", "first_join"), ("java", "first_join"), ("java", "static_restart")} <= played
    assert ("kafkajs", "static_restart") not in played, "it has no static members"
    assert ("java", "mixed_range") not in played, "there is no other client with this assignor"
    assert {client for client, _ in played} == {"kafkajs", "java"}, "sarama's driver is not built"
    assert plays[-1].scenario == "fifty_members", "the heavy ones come last"


def test_a_client_that_joins_no_groups_plays_only_what_needs_none():
    made = matrix()
    made.clients["spark"] = Ready("spark", "4", frozenset({"pattern"}))
    played = {play.scenario for play in plays_of(made, OURS, [("spark", name) for name in SCENARIOS], Path("/nowhere"))}
    without = {name for name, scenario in SCENARIOS.items() if not scenario.in_group and not scenario.security}
    assert played == without != set()


def test_a_client_plays_the_securities_that_it_has():
    made = matrix()
    made.clients = {
        "kafrust": Ready("kafrust", "1", BASIC | {"ssl", "oauthbearer"}),
        "spark": Ready("spark", "4", frozenset({"ssl", "plain"})),
    }
    wanted = [(client, name) for name in SCENARIOS if SCENARIOS[name].security for client in made.clients]
    played = {(play.client, play.scenario) for play in plays_of(made, OURS, wanted, Path("/nowhere"))}
    assert played == {
        ("kafrust", "over_ssl"),
        ("kafrust", "over_oauthbearer"),
        ("kafrust", "expired_token_over_oauthbearer"),
        ("spark", "stream_over_ssl"),
        ("spark", "stream_over_plain"),
    }


def test_share_groups_are_played_by_their_clients_alone():
    made = matrix()
    made.clients["confluent-kafka-share"] = Ready("confluent-kafka-share", "2.16.1", frozenset({"group"}))
    wanted = [(client, name) for name in SCENARIOS for client in ("java", "confluent-kafka-share")]
    played = {(play.client, play.scenario) for play in plays_of(made, OURS, wanted, Path("/nowhere"))}
    of_share = {name for client, name in played if client == "confluent-kafka-share"}
    assert of_share == {name for name, each in SCENARIOS.items() if each.protocol == SHARE} - {"share_renew"} != set()
    assert not {name for client, name in played if client == "java"} & of_share
    assert plays_of(made, FRONT, [pair for pair in wanted if pair[1] in of_share], Path("/nowhere")) == []


def test_a_driver_without_share_groups_does_not_play_them():
    assert abilities(BASIC | {"share-protocol"}, SHARE) >= BASIC
    with pytest.raises(DriverMissing, match="does not have the group protocol share"):
        abilities(BASIC | {"consumer-protocol"}, SHARE)


def test_a_client_that_does_not_commit_plays_no_commits():
    made = matrix()
    made.clients["kcat"] = Ready("kcat", "1.7", BASIC - {"commit"})
    plays = plays_of(made, OURS, [("kcat", "first_join"), ("kcat", "commit_and_resume")], Path("/nowhere"))
    assert [play.scenario for play in plays] == ["first_join"]


def test_a_scenario_with_faults_is_played_on_this_server_alone():
    wanted = [("java", "not_coordinator"), ("java", "first_join")]
    ours, kafkas = ({play.scenario for play in plays_of(matrix(), each, wanted, Path("/"))} for each in (OURS, KAFKA))
    assert (ours, kafkas) == ({"not_coordinator", "first_join"}, {"first_join"})


def test_the_page_marks_what_is_played_on_this_server_alone():
    made = matrix()
    made.add(msgspec.structs.replace(PLAY, scenario="not_coordinator", client="java"), Result("passed"))
    lines = page(made).splitlines()
    assert "| NOT_COORDINATOR for a while * | ✓ | – |" in lines
    assert not any("not played on" in line for line in lines)


def test_a_driver_that_takes_long_to_build_is_left_out_of_ci_unless_it_is_built(monkeypatch, capsys):
    monkeypatch.setattr(Client, "is_built", lambda client: client.name == "kafrust")
    assert quick(["aiokafka", "rdkafka", "kafrust"]) == ["aiokafka", "kafrust"]
    assert capsys.readouterr().out.startswith("left out: rdkafka: its driver takes long to build; `make interop ONLY=")


def test_a_driver_is_built_again_when_its_version_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(builds, "BUILT", tmp_path)
    built = []
    toolchain = Toolchain(sys.executable, "", lambda client, _: built.append(client.version), lambda *_: None)  # type: ignore[arg-type]
    for version in ("1", "1", "2"):
        client = Client("x", toolchain, ("kafkajs",), version)
        client.built()
        assert client.is_built()
    assert built == ["1", "2"]


def test_faults_are_injected_into_a_server_and_counted(tmp_path):
    with targets.TestingServer(tmp_path) as server, WireConnection(server.bootstrap, "c") as connection:
        fault = server.inject("answer", api="Heartbeat", error="NOT_COORDINATOR", member="c")
        request = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
        assert (server.hits(fault), connection.send_latest(request).error_code) == (0, ErrorCode.NOT_COORDINATOR)
        assert server.hits(fault) == 1
        server.remove(fault)
        assert connection.send_latest(request).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_play_has_partners():
    made = matrix()
    made.clients["franz-go"] = Ready("franz-go", "1", ABLE)
    (play,) = plays_of(made, OURS, [("java", "mixed_range")], Path("/nowhere"))
    assert play.others == ("franz-go",)


def test_what_fails_here_alone_is_a_problem():
    failed = Result("failed", "two owners | at a time")
    assert problems(matrix(ours=failed, kafka=Result("passed"))) == [
        "FAILED: kafkajs, First join: two owners | at a time"
    ]
    assert problems(matrix(ours=failed)) != []
    assert problems(matrix(ours=failed, kafka=failed)) == [], "the client's own"
    assert problems(matrix(ours=Result("passed"), kafka=failed)) == []


@pytest.mark.parametrize(
    ("ours", "kafkas", "told"),
    [
        ("passed", "passed", "| First join | – | ✓ |"),
        ("failed", "passed", "1. kafkajs, First join: on this server alone: why / not"),
        ("failed", "failed", "1. kafkajs, First join: the client's own, on both servers: why / not"),
        ("passed", "failed", "1. kafkajs, First join: passes on this server; on Apache Kafka: why / not"),
    ],
)
def test_the_page_tells_of_both_servers(ours, kafkas, told):
    results = {OURS: Result(ours, "why | not"), KAFKA: Result(kafkas, "why | not")}
    assert told in page(matrix(**results)).splitlines()


def test_the_page_does_not_hide_what_was_not_played():
    assert "1. kafkajs, First join: passes; not played on Apache Kafka 4.3.1" in page(matrix(ours=Result("passed")))
    made = matrix(ours=Result("passed"), kafka=Result("passed"))
    made.skipped["sarama"] = "go is missing: install Go"
    assert "Left out: sarama: go is missing: install Go." in page(made)


def test_junit_tells_failures_apart_from_those_of_the_client():
    failed = Result("failed", "bad \x1b[31m <text>", 1.5)
    alone = ElementTree.fromstring(junit(matrix(ours=failed, kafka=Result("passed"))).encode())
    assert [(suite.get("failures"), suite.get("tests")) for suite in alone] == [("1", "1"), ("0", "1")]
    both = ElementTree.fromstring(junit(matrix(ours=failed, kafka=failed)).encode())
    assert [suite.get("failures") for suite in both] == ["0", "1"]
    skipped = both.find("testsuite/testcase/skipped")
    assert skipped is not None and skipped.get("message") == "on Kafka too: bad ?[31m <text>"


def test_a_run_without_kafka_knows_what_fails_there():
    made = matrix(ours=Result("failed", "why"))
    made.on_kafka = on_kafka(matrix(kafka=Result("failed", "why")))
    assert made.on_kafka == OnKafka(failures={"kafkajs": {"first_join": "why"}})
    assert problems(made) == []
    assert on_kafka(matrix(kafka=Result("passed"))) == OnKafka()


def test_what_a_refused_member_is_told_is_what_kafka_tells_it():
    def refused(**results: Result) -> Matrix:
        made = matrix()
        for target, result in results.items():
            made.add(
                msgspec.structs.replace(PLAY, scenario="unknown_user_over_plain", client="java", target=target), result
            )
        return made

    kafkas = Result("passed", told=["SaslException: no such user"])
    other, nothing = Result("passed", told=["SaslException: go away"]), Result("passed")
    problem = (
        "FAILED: java, Refused: unknown user, SASL_SSL with PLAIN: the member is told {}; "
        "by Kafka it is told SaslException: no such user"
    )
    assert problems(refused(ours=kafkas, kafka=kafkas)) == []
    more = Result("passed", told=[*kafkas.told, "FAIL: no such user (identical errors suppressed)"])
    assert problems(refused(ours=more, kafka=kafkas)) == problems(refused(ours=kafkas, kafka=more)) == []
    assert problems(refused(ours=other, kafka=kafkas)) == [problem.format("SaslException: go away")]
    assert problems(refused(ours=nothing, kafka=kafkas)) == [problem.format("nothing")]
    alert, javas = (Result("passed", told=[f"SSL: alert certificate {reason}"]) for reason in ("expired", "unknown"))
    assert problems(refused(ours=alert, kafka=javas)) == [], "Java 17 does not tell the reason"
    assert problems(refused(ours=javas, kafka=alert)) != []
    without_kafka = refused(ours=other)
    assert problems(without_kafka) == []
    without_kafka.on_kafka = on_kafka(refused(kafka=kafkas))
    assert problems(without_kafka) == [problem.format("SaslException: go away")]
    assert "  - SaslException: go away: java" in page(without_kafka).splitlines()


def test_a_part_of_the_results_is_replaced_by_a_later_run(tmp_path):
    path = tmp_path / "results.json"
    stored(matrix(ours=Result("failed", "x"), kafka=Result("passed")), path)
    stored(matrix(ours=Result("passed")), path)
    known = load(path)
    assert known.results[OURS]["kafkajs"]["first_join"].outcome == "passed"
    assert known.results[KAFKA]["kafkajs"]["first_join"].outcome == "passed"
    assert known.clients["java"].can == ABLE


def test_a_play_that_hangs_is_ended_with_all_that_it_started(tmp_path):
    pids = tmp_path / "pids"
    os.environ["HANGING_PLAY_PIDS"] = str(pids)
    try:
        result = play_in_process(PLAY, 3, "tests.interop.hanging_play")
    finally:
        del os.environ["HANGING_PLAY_PIDS"]
    assert (result.outcome, result.message) == ("failed", "it did not end within 3 s")
    for pid in map(int, pids.read_text(encoding="ascii").split()):
        deadline = time.monotonic() + 10
        while _runs(pid):
            assert time.monotonic() < deadline, f"process {pid} goes on"


def test_a_play_that_breaks_says_why():
    result = play_in_process(PLAY, 20, "tests.interop.no_such_module")
    assert result.outcome == "broken"
    assert "No module named" in result.message


def _runs(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_client_without_its_toolchain_says_what_to_install():
    def unused(*_: object) -> None:
        raise AssertionError

    toolchain = Toolchain("no-such-tool", "install it (apt-get install it)", unused, unused)  # type: ignore[arg-type]
    with pytest.raises(DriverMissing) as missing:
        Client("x", toolchain, ("kafkajs",)).built()
    assert str(missing.value) == "no-such-tool is missing: install it (apt-get install it)"


def test_each_client_that_is_built_has_a_lock_file():
    locks = ("requirements.txt", "go.sum", "package-lock.json", "Cargo.lock.in", "pom.xml")
    of_the_system = {"kcat", "spark"}
    for client in ALL.values():
        assert client.name in of_the_system or any((client.lock / name).exists() for name in locks), client.name
        assert all((CLIENTS / source).is_dir() for source in client.sources), client.name
    assert set(PYTHON) <= set(ALL)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--only", "kafka-ruby"], "no clients 'kafka-ruby'; there are kafka-python,"),
        (["--scenarios", "first_joint"], "no scenarios 'first_joint'; there are first_join,"),
        (["--target", "redpanda"], "no targets 'redpanda'; there are ours, kafka"),
    ],
)
def test_an_unknown_name_is_answered_with_those_that_there_are(arguments, why):
    done = subprocess.run(
        [sys.executable, "-m", "interop", *arguments], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert why in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.realtime
def test_a_scenario_is_played_and_told(tmp_path):
    """With Python's own client, whose driver needs no toolchain but a package index."""
    run = subprocess.Popen(
        [sys.executable, "-m", "interop", "--ci", "--only", "aiokafka", "--scenarios", "first_join"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        output, _ = run.communicate(timeout=100)
    finally:
        if run.poll() is None:
            run.send_signal(signal.SIGTERM)
            run.wait(20)
    assert "[1/1] ours: aiokafka, First join: passed" in output, output
    assert run.returncode == 0
