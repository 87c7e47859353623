"""Logs of real brokers of five versions: what really happened is stated, and no line of a coordinator is unread."""

import re
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any, Final

import pytest

from coordinator.observe.logs import statements as said
from coordinator.observe.logs.coordinator_rules import UNINTERESTING
from coordinator.observe.logs.messages import message_of, readings
from coordinator.observe.logs.reader import LogStatements, read_broker_logs
from tests.observe.recordings import Recording, Truth, recordings, whole_runs

REASONS: Final = said.Reason
LINE: Final = re.compile(
    r"\[[^\]]*\] (INFO|WARN|ERROR) (.*) \((?:kafka|org\.apache\.kafka)\.coordinator\.(?:group|common)\.[\w.$]+\)"
)
RAW_LINE_FEEDS: Final = ("newline_names", "k_odd_names")
"""Cases whose ids have line feeds: their entries are not lines."""


def read(recording: Recording, folder: Path, **options: Any) -> LogStatements:
    path = folder / "server.log"
    path.write_bytes(recording.log)
    return read_broker_logs([str(path)], groups=frozenset(recording.groups), zone=UTC, **options)


def of_member(statement: said.Statement) -> set[str]:
    names = ("member_id", "old_member_id", "holder")
    found = {value for name in names if (value := getattr(statement, name, None))}
    return found | set(getattr(statement, "member_ids", ()))


PROVING: Final[dict[str, tuple[tuple[type[said.Statement], dict[str, Any]], ...]]] = {
    "new_member": (
        (said.RebalancePrepared, {"reason": REASONS.NEW_MEMBER}),
        (said.MemberAdded, {}),
        (said.MemberIdHandedOut, {}),
        (said.ConsumerJoined, {}),
        (said.ConsumerReplaced, {}),
        (said.RebalancePrepared, {"reason": REASONS.JOINED_DURING}),
    ),
    "member_left": (
        (said.RebalancePrepared, {"reason": REASONS.LEFT}),
        (said.MemberLeft, {}),
        (said.LeftForAMoment, {}),
    ),
    "session_expired": ((said.SessionExpired, {}),),
    "leader_rejoined": ((said.RebalancePrepared, {"reason": REASONS.LEADER_REJOINED}),),
    "metadata_changed": (
        (said.RebalancePrepared, {"reason": REASONS.UPDATED}),
        (said.RebalancePrepared, {"reason": REASONS.LEADER_REJOINED}),
        (said.SubscriptionUpdated, {}),
    ),
    "sync_timeout": ((said.RebalancePrepared, {"reason": REASONS.SYNC_TIMEOUT}),),
    "rebalance_timeout": ((said.MembersDropped, {}), (said.ConsumerLate, {})),
    # 3.9 with the new coordinator writes of a member that is back what it writes of a new one.
    "static_replaced": ((said.StaticMemberReturned, {}), (said.ConsumerReplaced, {}), (said.ConsumerJoined, {})),
    "pending_expired": ((said.PendingExpired, {}),),
    "pending_left": ((said.MemberLeft, {"is_pending": True}),),
    "unreleased_instance_id": ((said.JoinRefused, {"is_fenced": False}),),
}


def proves(statement: said.Statement, truth: Truth) -> bool:
    found = [
        fields for kind, fields in PROVING.get(truth.cause, ((said.Statement, {}),)) if isinstance(statement, kind)
    ]
    if not any(all(getattr(statement, name) == value for name, value in fields.items()) for fields in found):
        return False
    if truth.member_id in of_member(statement) or truth.fields.get("topic_change"):
        return True  # whoever noticed first that topics had changed
    # The line of the old coordinator that a static member is back does not name its new id.
    return isinstance(statement, said.StaticMemberReturned) and statement.group_instance_id == truth.group_instance_id


@pytest.mark.parametrize("recording", recordings(), ids=lambda each: each.name)
def test_what_a_line_proves_is_stated(recording: Recording, tmp_path: Path) -> None:
    read_now = read(recording, tmp_path)
    for truth in recording.truth:
        if truth.line_seen and truth.member_id is not None:
            assert any(proves(statement, truth) for statement in read_now.statements), truth.fields
    assert {statement.group_id for statement in read_now.statements if isinstance(statement, said.OfGroup)} <= set(
        recording.groups
    )
    assert read_now.notes == []


def coordinator_messages(log: bytes) -> Iterator[str]:
    for line in log.decode().split("\n"):
        match = LINE.fullmatch(line)
        message = None if match is None else message_of(match[2])
        if message is not None:
            yield message.text


def is_read(message: str) -> bool:
    return bool(readings(message)) or any(each.readings(message) for each in UNINTERESTING)


@pytest.mark.parametrize("recording", recordings(), ids=lambda each: each.name)
def test_each_line_of_a_coordinator_is_read_or_known_to_be_of_no_interest(recording: Recording) -> None:
    if recording.case not in RAW_LINE_FEEDS:
        assert [
            coordinator_message
            for coordinator_message in coordinator_messages(recording.log)
            if not is_read(coordinator_message)
        ] == []


@pytest.mark.parametrize("version", sorted(whole_runs()))
def test_so_is_each_line_of_a_whole_run(version: str) -> None:
    messages = [
        coordinator_message
        for coordinator_message in coordinator_messages(whole_runs()[version])
        if "victim" not in coordinator_message
    ]
    unread = [message for message in messages if not is_read(message)]
    assert len(messages) > 20
    assert unread == []


def test_a_message_that_no_version_writes_is_unread() -> None:
    assert not is_read("Member a in group b has been lost, removing it from the group")
    assert is_read("Member a in group b has failed, removing it from the group")
