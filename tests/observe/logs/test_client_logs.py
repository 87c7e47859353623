"""Logs of four client libraries: what they alone tell."""

import re
from datetime import UTC
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from coordinator.observe.logs import client_statements as said
from coordinator.observe.logs.client_rules import FRANZ_GO, JAVA, KAFKA_PYTHON, LIBRDKAFKA
from coordinator.observe.logs.client_statements import ClientStatement, Library
from coordinator.observe.logs.clients import client_readings, error_of, partitions_of
from coordinator.observe.logs.reader import read_client_logs
from coordinator.observe.logs.rules import Rule
from coordinator.observe.logs.templates import Kind
from tests.observe.recordings import Recording, recordings

RECORDED_FROM_MS: Final = 1795824000000
RECORDED_UNTIL_MS: Final = RECORDED_FROM_MS + 86_400_000
"""2026-11-28, in UTC."""
WITH_CLIENTS: Final = [recording for recording in recordings() if recording.client_logs]
LIBRARIES: Final = {
    "java": Library.JAVA,
    "java39": Library.JAVA,
    "ck": Library.LIBRDKAFKA,
    "kp": Library.KAFKA_PYTHON,
    "fg": Library.FRANZ_GO,
}


def read(folder: Path, log: str | bytes, **options: Any) -> list[ClientStatement]:
    path = folder / "client.log"
    path.write_bytes(log if isinstance(log, bytes) else log.encode())
    return read_client_logs([str(path)], **{"zone": UTC, **options}).statements


@pytest.mark.parametrize("recording", WITH_CLIENTS, ids=lambda each: each.name)
def test_what_recorded_clients_say_is_what_they_were(recording: Recording, tmp_path: Path) -> None:
    member_ids = {member_id for each in recording.fields["clients"] for _, member_id in each["member_ids"]}
    clients = {each["client_id"] for each in recording.fields["clients"]}
    for name, log in recording.client_logs.items():
        statements = read(tmp_path, log)
        assert {statement.library for statement in statements} <= {LIBRARIES[name.split(".")[-2]]}
        assert {statement.client_id for statement in statements} <= {*clients, None}
        # Of runs that were repeated, the client's log may be of an earlier one, with another number at the group's end.
        groups = {group_of_case(group) for group in recording.groups}
        assert {group_of_case(statement.group_id or "") for statement in statements} <= groups, name
        told = {statement.member_id for statement in statements if isinstance(statement, said.GenerationJoined)}
        assert told <= member_ids or not member_ids or groups != set(recording.groups), name
        assert all(RECORDED_FROM_MS < statement.place.time_ms < RECORDED_UNTIL_MS for statement in statements)


def group_of_case(group_id: str) -> str:
    return re.sub(r"_\d$", "", group_id)


def test_the_recorded_clients_say_much() -> None:
    found = [
        line
        for with_client in WITH_CLIENTS
        for log in with_client.client_logs.values()
        for line in log.decode().split("\n")
    ]
    assert sum(bool(client_readings(line)) for line in found) > 200


def one(folder: Path, line: str, **options: Any) -> dict[str, Any]:
    (statement,) = read(folder, line + "\n", **options)
    fields = msgspec.structs.asdict(statement)
    assert fields.pop("place").position == line.count("\n") + 1 or "\n" in line
    kept = {name: value for name, value in fields.items() if value not in (None, False)}
    return {"kind": type(statement), **kept}


CONSUMER: Final = "2026-03-01 12:00:00,000 INFO [Consumer instanceId=i-1, clientId=c-1, groupId=orders] "
POLL: Final = "the time between subsequent calls to poll() was longer than the configured max.poll.interval.ms, which"
RDKAFKA: Final = "|1772366400.000|X|c-1#consumer-1| [thrd:main]: "
PYTHON: Final = "2026-03-01 12:00:00,000 INFO kafka.coordinator"
GO: Final = "2026-03-01 12:00:00.000 [INFO] "
LINES: Final[list[tuple[str, dict[str, Any]]]] = [
    (
        CONSUMER + "consumer poll timeout has expired. This means " + POLL + " typically implies (o.a.k.A)",
        {"kind": said.PollTimeoutExceeded},
    ),
    (
        CONSUMER + "Member m-1 sending LeaveGroup request to coordinator b:9092 (id: 1 rack: null) due to consumer poll"
        " timeout has expired.",
        {"kind": said.Leaving, "member_id": "m-1", "reason": "consumer poll timeout has expired."},
    ),
    (
        CONSUMER + "Request joining group due to: group is already rebalancing",
        {"kind": said.RejoinRequested, "reason": "group is already rebalancing"},
    ),
    (
        CONSUMER
        + "Attempt to heartbeat with Generation{generationId=4, memberId='m', protocol='range'} and group instance"
        " id Optional[i-1] failed due to UNKNOWN_MEMBER_ID, resetting generation",
        {"kind": said.HeartbeatFailed, "error": "UNKNOWN_MEMBER_ID"},
    ),
    (
        CONSUMER
        + "JoinGroup failed due to fatal error: Consumer group orders already has the configured maximum number of"
        " members.",
        {"kind": said.JoinFailed, "error": "GROUP_MAX_SIZE_REACHED", "is_fatal": True},
    ),
    (
        CONSUMER + "JoinGroup failed: The group instance id Optional[i-1] has been fenced by another instance. Sent"
        " generation was x",
        {"kind": said.Fenced, "error": "FENCED_INSTANCE_ID"},
    ),
    (
        CONSUMER + "ConsumerGroupHeartbeatRequest failed for member m because epoch 4 is fenced.",
        {"kind": said.Fenced, "member_id": "m", "error": "FENCED_MEMBER_EPOCH"},
    ),
    (
        CONSUMER + "Revoke previously assigned partitions [a-b-0, c-1]",
        {"kind": said.PartitionsRevoked, "text": "[a-b-0, c-1]", "partitions": ("a-b-0", "c-1")},
    ),
    (
        CONSUMER + "Lost previously assigned partitions a-0",
        {"kind": said.PartitionsRevoked, "text": "a-0", "partitions": ("a-0",), "is_lost": True},
    ),
    (
        "%4" + RDKAFKA + "Application maximum poll interval (7000ms) exceeded by 490ms (adjust max.poll.interval.ms for"
        " long-running message processing): leaving group",
        {"kind": said.PollTimeoutExceeded, "interval_ms": 7000, "exceeded_ms": 490},
    ),
    (
        "%7" + RDKAFKA + 'Group "orders": updating member id "a" -> "m-2"',
        {"kind": said.MemberIdReceived, "member_id": "m-2", "group_id": "orders"},
    ),
    (
        "%7" + RDKAFKA + 'Group "orders": Rejoining group without an assignment: max poll interval exceeded',
        {"kind": said.RejoinRequested, "group_id": "orders", "reason": "max poll interval exceeded"},
    ),
    (
        "%7"
        + RDKAFKA
        + 'Group "orders" heartbeat error response in state up (join-state steady, 2 partition(s) assigned):'
        " Broker: Unknown member",
        {"kind": said.HeartbeatFailed, "group_id": "orders", "error": "UNKNOWN_MEMBER_ID"},
    ),
    ("%7" + RDKAFKA + 'Group "orders": leave (in state up)', {"kind": said.Leaving, "group_id": "orders"}),
    (
        "2026-03-01 12:00:00,000 WARN app MAXPOLL [c-1#consumer-1] [thrd:main]: Application maximum poll interval"
        " (7ms) exceeded by 4ms (adjust max.poll.interval.ms for long-running message processing): leaving group",
        {"kind": said.PollTimeoutExceeded, "interval_ms": 7, "exceeded_ms": 4},
    ),
    (PYTHON + ".heartbeat Consumer poll timeout has expired. This means " + POLL, {"kind": said.PollTimeoutExceeded}),
    (
        PYTHON + " Leaving consumer group orders (member m-1).",
        {"kind": said.Leaving, "group_id": "orders", "member_id": "m-1"},
    ),
    (
        PYTHON + " Attempt to join group orders failed due to fatal error: GroupMaxSizeReachedError",
        {"kind": said.JoinFailed, "group_id": "orders", "error": "GROUP_MAX_SIZE_REACHED", "is_fatal": True},
    ),
    (
        PYTHON + ".heartbeat Heartbeat failed for group orders due to fenced id error: inst-1",
        {"kind": said.Fenced, "group_id": "orders", "error": "inst-1"},
    ),
    (
        GO + "leaving group; group: orders, member_id: m-1, instance_id: <nil>",
        {"kind": said.Leaving, "group_id": "orders", "member_id": "m-1"},
    ),
    (
        GO + "heartbeat errored; group: orders, err: UNKNOWN_MEMBER_ID: The coordinator is not aware of this member.",
        {"kind": said.HeartbeatFailed, "group_id": "orders", "error": "UNKNOWN_MEMBER_ID"},
    ),
]


@pytest.mark.parametrize(("line", "right"), LINES)
def test_a_line(line: str, right: dict[str, Any], tmp_path: Path) -> None:
    found = one(tmp_path, line)
    expected = dict(right)
    if "[Consumer " in line:
        expected |= {"client_id": "c-1", "group_id": "orders", "group_instance_id": "i-1"}
    if "c-1#consumer-1" in line:
        expected["client_id"] = "c-1"
    expected["library"] = found["library"]
    if not line.startswith("%"):
        expected["is_zone_assumed"] = True
    assert found == expected


def test_a_group_without_a_name_in_the_line_is_that_of_the_client(tmp_path: Path) -> None:
    joined = f"{PYTHON} Successfully joined group orders <Generation 3 (member_id: m-1, protocol: range)>\n"
    log = f"{joined}{PYTHON}.heartbeat Heartbeat session expired, marking coordinator dead\n"
    statements = read(tmp_path, log)
    assert [(statement.group_id, statement.member_id) for statement in statements] == [("orders", "m-1")] * 2
    two = log.replace("orders", "others").replace("m-1", "m-2") + log
    lost = [each for each in read(tmp_path, two) if isinstance(each, said.CoordinatorLost)]
    assert {each.group_id for each in lost} <= {None, "others"}


def test_only_wanted_groups(tmp_path: Path) -> None:
    log = "".join(f"{PYTHON} Leaving consumer group {group} (member m).\n" for group in ("a", "b"))
    assert [each.group_id for each in read(tmp_path, log, groups=frozenset({"b"}))] == ["b"]


def test_an_id_with_brackets_is_read_by_the_group_that_is_known(tmp_path: Path) -> None:
    begin = "2026-03-01 12:00:00,000 INFO [Consumer clientId=a, groupId=x, groupId=y] "
    line = f"{begin}Request joining group due to: z (o.a.K)\n"
    (known,) = read(tmp_path, line, groups=frozenset({"x, groupId=y"}))
    assert (known.client_id, known.group_id, known.is_doubtful) == ("a", "x, groupId=y", False)
    (unknown,) = read(tmp_path, line)
    assert unknown.is_doubtful


@pytest.mark.parametrize(
    "log",
    [
        "Mar 01, 2026 12:00:00 PM org.apache.kafka.A b\nINFO: [Consumer clientId=c-1, groupId=orders] Request"
        " joining group due to: z\n",
        '{"@timestamp":"2026-03-01T12:00:00.000Z","logger_name":"o.a.k.A",'
        '"message":"[Consumer clientId=c-1, groupId=orders] Request joining group due to: z"}\n',
        "2026-03-01 12:00:00.000  INFO 1 --- [ntainer#0-0-C-1] o.a.k.c.c.internals.A  : [Consumer clientId=c-1,"
        " groupId=orders] Request joining group due to: z\n",
        "app-1  | 2026-03-01T12:00:00.000Z INFO [Consumer clientId=c-1, groupId=orders] Request joining group due"
        " to: z\n",
        '{"log":"[2026-03-01 12:00:00,000] INFO [Consumer clientId=c-1, groupId=orders] Request joining group due to:'
        ' z (o.a.k.A)\\n","stream":"stdout","time":"2026-03-01T12:00:00.1Z"}\n',
    ],
    ids=["java.util.logging", "logstash", "spring", "compose", "docker"],
)
def test_frameworks_of_java(log: str, tmp_path: Path) -> None:
    (statement,) = read(tmp_path, log)
    assert isinstance(statement, said.RejoinRequested)
    assert (statement.client_id, statement.group_id, statement.reason) == ("c-1", "orders", "z")
    assert statement.place.time_ms == 1772366400000


def test_lists_of_partitions() -> None:
    assert partitions_of("[a-0, b-c-12]") == ("a-0", "b-c-12")
    assert partitions_of("a-0, b-1") == ("a-0", "b-1")
    assert partitions_of("{TopicPartition(topic='a', partition=3)}") == ("a-3",)
    assert partitions_of("a[0 1], b.c[2]") == ("a-0", "a-1", "b.c-2")
    assert partitions_of("set()") == partitions_of("[]") == partitions_of("") == ()
    assert partitions_of("2 partition(s)") is None


def test_errors() -> None:
    assert error_of("Broker: Group rebalance in progress") == "REBALANCE_IN_PROGRESS"
    assert error_of("[Error 25] UnknownMemberIdError") == "UNKNOWN_MEMBER_ID"
    assert error_of("something") == "something"


@pytest.mark.parametrize(
    "rule", [*JAVA, *LIBRDKAFKA, *KAFKA_PYTHON, *FRANZ_GO], ids=lambda each: each.template.text[:60]
)
def test_each_rule_reads_what_it_describes(rule: Rule) -> None:
    values = {name: "7" if kind is Kind.INTEGER else "x" for name, kind in rule.template.kinds.items()}
    text = rule.template.text
    for name, kind in rule.template.kinds.items():
        for field in (f"{{{name}}}", f"{{{name}:{kind.name.lower()}}}"):
            text = text.replace(field, values[name])
    begin = {
        JAVA: "[Consumer clientId=c, groupId=g] ",
        LIBRDKAFKA: "%7|1.000|F|c#consumer-1| [thrd:main]: ",
        KAFKA_PYTHON: "kafka.coordinator ",
        FRANZ_GO: "",
    }
    start = next(begin[rules] for rules in begin if rule in rules)
    found = client_readings(start + text.replace("{{", "{").replace("}}", "}"))
    assert found, text
    assert found[0].statement is rule.statement or found[0].statement in (said.MemberIdReceived, said.JoinFailed)
