"""Recorded logs of clients, followed as they are written: the same as when they are read afterwards.

Wrapped as the recipes of docs/observe.md bring them: by kubectl, Docker and journald.
"""

import random
from collections.abc import Callable
from datetime import UTC
from pathlib import Path

import pytest

from coordinator.observe.logs.client_following import ClientLogFollower
from coordinator.observe.logs.client_statements import ClientStatement
from coordinator.observe.logs.reader import read_client_logs
from tests.observe.logs.test_client_logs import WITH_CLIENTS
from tests.observe.recordings import Recording

STEP_SECONDS = 0.5
Wrap = Callable[[str], str]
WRAPS: dict[str, Wrap] = {
    "as it is": lambda line: line,
    "kubectl logs --prefix": lambda line: f"[pod/billing-0/app] {line}",
    "docker compose logs": lambda line: f"billing-1  | {line}",
    "journald": lambda line: f"Nov 28 09:00:00 host billing[4711]: {line}",
}


def followed(path: Path, log: bytes, seed: int) -> list[ClientStatement]:
    """What is told while the log is written in pieces, and renamed in the middle."""
    choice, now = random.Random(seed), [0.0]
    follower = ClientLogFollower(path, zone=UTC, clock=lambda: now[0])
    found: list[ClientStatement] = []

    def follow(times: int) -> None:
        for _ in range(times):
            now[0] += STEP_SECONDS
            part = follower.follow()
            assert part.lines == []
            found.extend(client.statement for client in part.clients)

    middle, at = log.rfind(b"\n", 0, len(log) // 2) + 1, 0
    while at < len(log):
        end = min(at + choice.randrange(1, 20_000), len(log))
        if at < middle <= end:
            end = middle
        with path.open("ab") as file:
            file.write(log[at:end])
        follow(choice.randrange(3))
        if end == middle:
            follow(8)
            path.rename(path.with_name(f"{path.name}.1"))
        at = end
    follow(12)
    follower.close()
    return found


def said(statements: list[ClientStatement]) -> list[tuple[object, ...]]:
    """Of those whose group is known, which alone are followed."""
    return sorted(
        (
            type(statement).__name__,
            statement.place.time_ms,
            statement.group_id,
            statement.member_id or "",
            statement.client_id or "",
        )
        for statement in statements
        if statement.group_id is not None
    )


@pytest.mark.parametrize("recording", WITH_CLIENTS, ids=lambda each: each.name)
def test_what_is_followed_is_what_is_read_afterwards(recording: Recording, tmp_path: Path):
    for number, (name, recorded) in enumerate(sorted(recording.client_logs.items())):
        log = recorded[: recorded.rfind(b"\n") + 1]  # a client that was killed may have left half a line
        folder = tmp_path / str(number)
        folder.mkdir()
        whole = folder / "whole.log"
        whole.write_bytes(log)
        expected = set(said(read_client_logs([str(whole)], zone=UTC).statements))
        assert set(said(followed(folder / "client.log", log, number))) == expected, name


@pytest.mark.parametrize("wrap", WRAPS)
def test_logs_as_the_recipes_bring_them(wrap: str, tmp_path: Path):
    path = tmp_path / "client.log"
    count = 0
    for recording in WITH_CLIENTS:
        for name, log in recording.client_logs.items():
            path.write_bytes(log)
            expected = said(read_client_logs([str(path)], zone=UTC).statements)
            lines = log.decode().removesuffix("\n").split("\n")
            path.write_text("".join(f"{WRAPS[wrap](line)}\n" for line in lines))
            assert said(read_client_logs([str(path)], zone=UTC).statements) == expected, name
            count += len(expected)
    assert count > 100
