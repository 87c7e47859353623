"""The plugin for pytest, in runs of pytest of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from coordinator.client.wire import ClientError
from tests.wire_client import WireClient

ROOT = Path(__file__).parent.parent.parent
PLUGIN = "coordinator.testing.plugin"

LIGHT_MODULES_MAX = 3
"""coordinator, coordinator.testing and the plugin."""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch):
    """Runs pytest as somebody else does, on a file of tests; its result."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))

    def run_pytest(tests: str, *arguments: str) -> pytest.RunResult:
        pytester.makepyfile(tests)
        return pytester.runpytest_subprocess("-p", PLUGIN, "-p", "no:cacheprovider", *arguments)

    return run_pytest


def test_tests_have_topics_and_groups_of_their_own_on_one_server(run):
    result = run(
        """
        seen = []

        def check(coordinator):
            topic = coordinator.topic("orders", partitions=2)
            assert topic == coordinator.whole_name("orders") != "orders"
            assert coordinator.produce("orders", ["a"]) == [(0, 0)]
            assert coordinator.produce(topic, ["b"]) == [(1, 0)]
            assert coordinator.group("g").id == coordinator.prefix + "g"
            assert coordinator.group("g").state == "Dead" and coordinator.events("g") == []
            seen.append((coordinator.bootstrap, topic))

        def test_one(coordinator):
            check(coordinator)

        def test_two(coordinator):
            check(coordinator)
            assert seen[0][0] == seen[1][0] and seen[0][1] != seen[1][1]
        """
    )
    result.assert_outcomes(passed=2)


def test_a_factory_makes_servers_for_one_test_with_settings(run):
    result = run(
        """
        import socket

        ports = []

        def test_two_servers(coordinator_factory):
            one, two = coordinator_factory({"num.partitions": 7}), coordinator_factory()
            assert one.bootstrap != two.bootstrap
            ports.append(int(one.bootstrap.rpartition(":")[2]))

        def test_they_are_gone():
            with socket.socket() as found:
                assert found.connect_ex(("127.0.0.1", ports[0])) != 0
        """
    )
    result.assert_outcomes(passed=2)


def test_a_fault_that_is_not_hit_fails_a_test_that_asks_for_it(run):
    result = run(
        """
        import pytest

        def inject(server):
            server.faults.answer("Heartbeat", "ILLEGAL_GENERATION", group="g")

        def test_it_does_not_ask(coordinator):
            inject(coordinator)

        @pytest.mark.coordinator(all_faults_hit=True)
        def test_nothing_is_left_of_the_fault_of_another_test(coordinator):
            pass

        @pytest.mark.coordinator(all_faults_hit=True)
        def test_shared(coordinator):
            inject(coordinator)

        @pytest.mark.coordinator(all_faults_hit=True)
        def test_own(coordinator_factory):
            inject(coordinator_factory())
        """
    )
    result.assert_outcomes(passed=4, errors=2)
    result.stdout.fnmatch_lines(["*1 fault was never hit: answer api=Heartbeat group=test_shared-*.g error=ILLEGAL*"])


def test_settings_of_the_shared_server_come_from_the_ini_file(run, pytester):
    pytester.makeini("[pytest]\ncoordinator_settings =\n    num.partitions=7\n    group.max.size=2\n")
    result = run(
        """
        from coordinator.config.server_keys import NUM_PARTITIONS

        def test_it(coordinator_server):
            asked = coordinator_server._node.ask(lambda control: control._groups.environment.config[NUM_PARTITIONS])
            assert asked.result() == 7
        """
    )
    result.assert_outcomes(passed=1)


def test_workers_of_xdist_have_a_server_each(run):
    result = run(
        """
        import os
        import pytest

        @pytest.mark.parametrize("number", range(4))
        def test_it(coordinator, number):
            coordinator.topic("orders")
            assert os.environ["PYTEST_XDIST_WORKER"].startswith("gw")
        """,
        "-p",
        "xdist",
        "-n2",
    )
    result.assert_outcomes(passed=4)


# Whoever has started the tests in the background may have SIGINT ignored.
CTRL_C = (
    "signal.signal(signal.SIGINT, signal.default_int_handler);"
    " threading.Timer(0.2, signal.pthread_kill, [threading.main_thread().ident, signal.SIGINT]).start()"
)


@pytest.mark.parametrize(
    ("ending", "status"),
    [
        ("assert False", 1),
        ("raise KeyboardInterrupt", 2),
        (f"{CTRL_C}; own.group('g').wait_for('Stable', timeout=30)", 2),
        (f"{CTRL_C}; own.faults.hold('JoinGroup').wait_for(timeout=30)", 2),
        ("os._exit(3)", 3),
    ],
)
def test_nothing_is_left_after_a_test_that_fails_or_is_interrupted(run, pytester, ending, status):
    result = run(
        f"""
        import json, os, pathlib, signal, threading

        def test_it(coordinator, coordinator_factory):
            own = coordinator_factory()
            pathlib.Path("ports.json").write_text(json.dumps([coordinator.bootstrap, own.bootstrap]))
            {ending}
        """
    )
    assert result.ret == status
    for bootstrap in json.loads((pytester.path / "ports.json").read_text()):
        with pytest.raises(Exception, match="cannot reach"):
            WireClient(bootstrap)
    assert {path.suffix for path in pytester.path.iterdir()} <= {".py", ".json", ""}


def test_a_fixture_of_a_class_takes_the_shared_server(run):
    result = run(
        """
        import pytest

        @pytest.fixture(scope="class")
        def topic(coordinator_server):
            coordinator_server.create_topic("of-the-class")
            coordinator_server.faults.hold("JoinGroup")
            return "of-the-class"

        class TestOrders:
            def test_one(self, coordinator_server, topic):
                assert coordinator_server.produce(topic, ["a"]) == [(0, 0)]

            def test_two(self, coordinator_server, topic, coordinator):
                assert coordinator_server.produce(topic, ["b"]) == [(0, 1)]
                coordinator_server.faults.assert_all_hit()  # none is left
        """
    )
    result.assert_outcomes(passed=2)


def test_clients_that_a_test_leaves_open_keep_nothing_of_the_server_alive(run, pytester):
    pytester.makeconftest(
        """
        import json, pathlib, threading

        def pytest_unconfigure():
            names = [each.name for each in threading.enumerate()]
            pathlib.Path("threads.json").write_text(json.dumps(names))
        """
    )
    result = run(
        """
        import asyncio, pathlib, pytest
        from coordinator.testing import AsyncCoordinator
        from tests.wire_client import WireClient

        left = []

        def test_blocking(coordinator, coordinator_factory):
            for server, group_id in (coordinator, coordinator.group("g").id), (coordinator_factory(), "g"):
                left.append(WireClient(server.bootstrap))
                left[-1].join_alone(group_id)
            pathlib.Path("port").write_text(coordinator.bootstrap)

        def test_asyncio(coordinator):
            async def play():
                async with AsyncCoordinator() as server:
                    left.append(WireClient(server.bootstrap))
                    waiting = server.group("g").wait_for("Stable", timeout=30)
                    with pytest.raises(TimeoutError):
                        await asyncio.wait_for(waiting, 0.05)

            asyncio.run(play())
        """
    )
    result.assert_outcomes(passed=2)
    assert json.loads((pytester.path / "threads.json").read_text()) == ["MainThread"]
    with pytest.raises(ClientError, match="cannot reach"):
        WireClient((pytester.path / "port").read_text())


def test_the_plugin_imports_nothing_of_the_server_by_itself():
    script = f"import sys, pytest; before = set(sys.modules); import {PLUGIN}; print(*(set(sys.modules) - before))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    ours = [name for name in run.stdout.split() if name.startswith("coordinator")]
    assert sorted(ours) == ["coordinator", "coordinator.testing", PLUGIN]
    assert len(ours) == LIGHT_MODULES_MAX
