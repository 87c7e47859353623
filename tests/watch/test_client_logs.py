"""Logs of clients that are followed: why a member left, whatever its broker says, through rotation and a kill."""

import json
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from coordinator.client.bootstrap import Bootstrap
from coordinator.observe.logs.client_following import ClientLogFollower
from coordinator.watch.session import Logs, WatchOptions
from coordinator.watch.watcher import Watcher
from tests.observe.test_clients_said import GROUP, MEMBER, client_log, recording
from tests.watch.test_watcher import PARTITIONS, MemorySink

BROKER = recording("max_poll_kp/3.9.1-classic").log


class Watched:
    """A broker's log and that of a client in a folder, and a watcher of both on a clock of the test."""

    def __init__(self, folder: Path) -> None:
        self.broker, self.client = folder / "server.log", folder / "client.log"
        self.broker.write_bytes(b"")
        self.client.write_bytes(b"")
        self.now = 100.0
        self.sink = MemorySink()
        self.start()

    def start(self) -> None:
        found = self.sink.restored()
        options = WatchOptions(
            server=Bootstrap("127.0.0.1:1"),
            log_paths=(str(self.broker),),
            client_paths=(str(self.client),),
            zone=UTC,
        )
        logs = Logs(options, None, found, clock=self.clock)
        self.watcher = Watcher(self.sink, None, [], str, PARTITIONS, {}, logs_to_come=logs, clock=self.clock)
        self.watcher.restore(found)

    def clock(self) -> float:
        return self.now

    def pass_time(self, seconds: float) -> None:
        for _ in range(int(seconds / 0.25)):
            self.now += 0.25
            self.watcher.step()

    def removed(self) -> list[dict[str, Any]]:
        events = self.sink.events().get(GROUP, [])
        return [event for event in events if event["kind"] == "member.removed"]


def write(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def all_at_once(watched: Watched) -> None:
    write(watched.client, client_log().encode())
    write(watched.broker, BROKER)


def rotated_within_a_line(watched: Watched) -> None:
    data = client_log().encode()
    at = data.index(b"Leaving consumer group") - 5
    write(watched.client, data[:at])
    watched.pass_time(3)
    watched.client.rename(watched.client.with_name("client.log.1"))
    write(watched.client, data[at:] + b"2026-11-28 09:00:00,000 INFO kafka.client the next line\n")
    watched.pass_time(3)
    write(watched.broker, BROKER)


def killed_after_the_client_said_it(watched: Watched) -> None:
    write(watched.client, client_log().encode())
    watched.pass_time(3)
    watched.start()
    write(watched.broker, BROKER)


def killed_between_the_line_that_names_the_group_and_the_others(watched: Watched) -> None:
    first, *others = client_log().splitlines(keepends=True)
    write(watched.client, first.encode())
    watched.pass_time(3)
    watched.start()
    write(watched.client, "".join(others).encode())
    watched.pass_time(3)
    write(watched.broker, BROKER)


def the_clock_of_the_client_is_three_hours_ahead(watched: Watched) -> None:
    write(watched.client, client_log(hour=11).encode())
    write(watched.broker, BROKER)


@pytest.mark.parametrize(
    "happens",
    [
        all_at_once,
        rotated_within_a_line,
        killed_after_the_client_said_it,
        killed_between_the_line_that_names_the_group_and_the_others,
        the_clock_of_the_client_is_three_hours_ahead,
    ],
)
def test_the_client_says_that_its_application_did_not_poll(tmp_path: Path, happens: Callable[[Watched], None]):
    watched = Watched(tmp_path)
    happens(watched)
    watched.pass_time(20)
    left = [each for each in watched.removed() if each["member"]["member_id"] == MEMBER]
    assert len(left) == 1, json.dumps(watched.sink.events(), indent=1)[:3_000]
    assert "poll timeout" in left[0]["reason"]
    assert {place["source"] for place in left[0]["places"]} == {"broker_log", "client_log"}


def test_without_the_log_of_the_client_nothing_says_it(tmp_path: Path):
    watched = Watched(tmp_path)
    write(watched.broker, BROKER)
    watched.pass_time(20)
    left = [each for each in watched.removed() if each["member"]["member_id"] == MEMBER]
    assert not left[0]["reason"]


def test_lines_of_groups_that_are_not_wanted_are_left_out(tmp_path: Path):
    path = tmp_path / "client.log"
    path.write_text(client_log())
    now = [0.0]
    follower = ClientLogFollower(path, is_requested=lambda group: group == "other", clock=lambda: now[0])
    found = []
    for each in range(8):
        now[0] = each / 2
        found += follower.follow().clients
    assert found == []
    follower.close()
