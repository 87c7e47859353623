"""SIGTERM and Ctrl-C while the server starts, and the ready file at the end of a run."""

import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from tests.servers import RunningServer
from tests.waiting import wait_for

LONG_STARTS = {
    "no turn of the loop": """
def make_parts(node):
    print("starting", flush=True)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        sum(range(1000))
assert callable(Node._make_parts)
Node._make_parts = make_parts
""",
    "a thread that recovers": """
async def recover(host, threads, storage):
    print("starting", flush=True)
    waited = asyncio.get_running_loop().create_future()
    threads.disk.run([lambda: time.sleep(60)], waited.set_result)
    await waited
assert callable(node_storage._recover_large_logs)
node_storage._recover_large_logs = recover
""",
    "turns of the loop": """
async def load(node):
    print("starting", flush=True)
    while True:
        await asyncio.sleep(0.01)
assert callable(Node._load_before_listening)
Node._load_before_listening = load
""",
}
PREPARE = """
import asyncio, time
from coordinator.cli import main
from coordinator.node import storage as node_storage
from coordinator.node.node import Node
"""
"""What is replaced must exist: a start that prints nothing would be waited for in vain."""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("long_start", LONG_STARTS.values(), ids=LONG_STARTS.keys())
def test_a_signal_ends_a_long_start_within_two_seconds(tmp_path, long_start, number):
    ready = tmp_path / "ready.json"
    arguments = ["serve", "--listen", "127.0.0.1:0", "--data-dir", str(tmp_path / "data"), "--ready-file", str(ready)]
    ready.write_text("stale")
    code = f"{PREPARE}{long_start}main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "starting\n"
            assert not ready.exists()
            began = time.monotonic()
            process.send_signal(number)
            _, said = process.communicate(timeout=30)
        finally:
            process.kill()
        assert time.monotonic() - began < 2.5
        assert process.returncode == 0
        assert "stopped before the start had ended" in said
        assert "Traceback" not in said and "error" not in said
    assert not ready.exists()
    with RunningServer(tmp_path) as server:
        assert server.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_ready_file_is_gone_after_a_stop_and_a_second_signal_changes_nothing(tmp_path, number):
    with RunningServer(tmp_path) as server:
        ready = tmp_path / "ready.json"
        assert json.loads(ready.read_text())["pid"] == server.pid
        os.kill(server.pid, number)
        wait_for(lambda: not ready.exists(), 10, "the stop")
        assert server.stop() == 0


def test_a_start_that_fails_leaves_no_ready_file(tmp_path):
    ready = tmp_path / "ready.json"
    ready.write_text('{"pid": 1}')
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        arguments = ["serve", "--listen", address, "--data-dir", str(tmp_path / "data"), "--ready-file", str(ready)]
        ended = subprocess.run([sys.executable, "-m", "coordinator.cli", *arguments], check=False, timeout=30)
    assert ended.returncode == 2
    assert not ready.exists()


def test_the_ready_file_of_another_process_stays(tmp_path):
    with RunningServer(tmp_path) as server:
        ready = tmp_path / "ready.json"
        ready.write_text('{"pid": 1}')
        assert server.stop() == 0
        assert ready.read_text() == '{"pid": 1}'
