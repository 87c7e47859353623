"""Log lines leave by a thread: the server goes on when nobody reads them, and what clients sent is quoted."""

import json
import logging
import os
import socket
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any, Final

import pytest

from _wire.messages.api_versions import ApiVersionsRequest
from coordinator.cli.log_writer import LINES_QUEUED_MAX, LogWriter, logging_to_stderr
from coordinator.logger import logger
from tests.servers import RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient, join_request

PIPE_BYTES: Final = 1 << 16
BAD_CONNECTIONS: Final = 2_000
START_SECONDS: Final = 20


def queue(writer: LogWriter, **fields: Any) -> None:
    writer.write("info", "said", fields)


def test_lines_are_written_in_order_and_all_of_them_at_the_end(tmp_path):
    with (tmp_path / "log").open("w+") as file:
        writer = LogWriter(file)
        for number in range(200):
            queue(writer, number=number)
        writer.stop()
        file.seek(0)
        assert [int(line.rsplit("=")[-1]) for line in file] == list(range(200))


def test_client_text_can_neither_forge_a_line_nor_control_the_terminal(tmp_path):
    with (tmp_path / "log").open("w+") as file:
        writer = LogWriter(file)
        queue(writer, group="g\x1b[2J\nanother line")
        writer.stop()
        file.seek(0)
        (line,) = file
        assert "\x1b" not in line


def test_client_text_in_a_traceback_can_do_neither(tmp_path):
    with (tmp_path / "log").open("w+") as file:
        writer = LogWriter(file)
        queue(writer, exc_info=ValueError("bad\x1b[2J\n2026-01-01 [info] forged\udc80"))
        queue(writer, text="the line after it")
        writer.stop()
        file.seek(0)
        first, *others = file.read().splitlines()
    assert "said" in first
    assert "\x1b" not in "".join(others)
    assert "the line after it" in others.pop(), "what cannot be encoded does not end the log"
    assert len(others) == 2
    assert all(line.startswith("  | ") for line in others)


def test_lines_are_dropped_and_counted_while_the_output_is_blocked():
    reading, writing = os.pipe()
    file = os.fdopen(writing, "w")
    writer = LogWriter(file)
    with os.fdopen(reading) as lines:
        for _ in range(LINES_QUEUED_MAX + 1_000):
            queue(writer, text="x" * 1_000)
        assert "dropped" in next(line for line in lines if "x" * 1_000 not in line)
    writer.stop()
    with suppress(BrokenPipeError):
        file.close()


def test_a_server_with_blocked_output_keeps_working(tmp_path):
    """Its lines fill the pipe many times over."""
    ready = tmp_path / "ready.json"
    arguments = ["serve", "--listen=127.0.0.1:0", f"--data-dir={tmp_path / 'data'}", f"--ready-file={ready}"]
    settings = ["--set=group.initial.rebalance.delay.ms=0"]
    command = [sys.executable, "-m", "coordinator.cli", *arguments, *settings]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        try:
            wait_for(lambda: ready.exists() or process.poll() is not None, START_SECONDS, "the server to be ready")
            with WireClient(json.loads(ready.read_text())["bootstrap"]) as client:
                for number in range(PIPE_BYTES // 100):
                    assert client.request(join_request(f"group-{number}"), 3).error_code == 0
        finally:
            process.kill()


def test_a_server_whose_stderr_is_never_read_serves_others_during_a_flood_of_bad_connections(tmp_path):
    """Its lines about the groups have filled the pipe before."""
    ready = tmp_path / "ready.json"
    arguments = ["serve", "--listen=127.0.0.1:0", f"--data-dir={tmp_path / 'data'}", f"--ready-file={ready}"]
    command = [sys.executable, "-m", "coordinator.cli", *arguments, "--set=group.initial.rebalance.delay.ms=0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        try:
            wait_for(lambda: ready.exists() or process.poll() is not None, START_SECONDS, "the server to be ready")
            bootstrap = json.loads(ready.read_text())["bootstrap"]
            address = (bootstrap.rpartition(":")[0], int(bootstrap.rpartition(":")[2]))
            longest = 0.0
            with WireClient(bootstrap) as client:
                for number in range(PIPE_BYTES // 100):
                    assert client.request(join_request(f"group-{number}"), 3).error_code == 0
                for number in range(BAD_CONNECTIONS):
                    with socket.create_connection(address) as bad:
                        bad.sendall(b"\x7f\xff\xff\xffGET / HTTP/1.1\r\n\r\n")
                    if number % 20 == 0:
                        began = time.monotonic()
                        assert client.request(ApiVersionsRequest(), 0).error_code == 0
                        longest = max(longest, time.monotonic() - began)
            assert longest < 1
        finally:
            process.kill()


def transitions_logged(server: RunningServer) -> str:
    return "".join(line for line in server.log.read_text().splitlines(True) if "group transition" in line)


def test_each_transition_of_a_group_is_one_line(tmp_path):
    with RunningServer(tmp_path) as server:
        with WireClient(server.bootstrap) as client:
            member_id = client.join_alone("orders-readers")
        assert server.stop() == 0
        lines = transitions_logged(server).splitlines()
    assert len(lines) == 3
    for before, after, reason in (
        ("Empty", "PreparingRebalance", f"new_member by {member_id}"),
        ("PreparingRebalance", "CompletingRebalance", "join phase completed"),
        ("CompletingRebalance", "Stable", "assignment stored"),
    ):
        line = lines.pop(0)
        assert f"before={before} " in line
        assert f"after={after} " in line
        assert line.endswith((f"reason={reason}", f"reason={reason!r}"))
        assert "group=orders-readers " in line


def test_the_log_level_turns_them_off(tmp_path):
    with RunningServer(tmp_path, log_level="warning") as server:
        with WireClient(server.bootstrap) as client:
            client.join_alone("orders-readers")
        assert server.stop() == 0
        assert server.log.read_text() == ""


@pytest.mark.parametrize(("level", "kept"), [("debug", True), ("info", True), ("warning", False)])
def test_modules_learn_which_lines_are_kept_before_they_put_one_together(level, kept):
    with logging_to_stderr(level):
        assert logger.is_enabled_for(logging.INFO) is kept
    assert logger.is_enabled_for(logging.INFO)
