"""`python -m _wire`: what is printed, and that everything wrong is one line and exit code 1."""

import io
import re

import pytest

from _wire.__main__ import main
from _wire.headers import encode_request, encode_response
from _wire.messages.fetch import FetchRequest, FetchTopic
from _wire.messages.group_metadata_record import GroupMetadataKey
from _wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic

PROTOCOLS = [
    JoinGroupRequestProtocol(name="range", metadata=b"\1\2"),
    JoinGroupRequestProtocol(name="sticky", metadata=bytes(100)),
]
JOIN = JoinGroupRequest(group_id="orders", session_timeout_ms=10_000, protocol_type="consumer", protocols=PROTOCOLS)
LENGTH_BYTES = 4


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str], str]:
    """(exit code, lines of stdout, stderr)."""
    code = main(list(arguments))
    printed = capsys.readouterr()
    return code, printed.out.splitlines(), printed.err.removesuffix("\n")


def test_a_body_is_shown_field_by_field(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines, error = run(capsys, "decode", "--api", "JoinGroup", "--version", "2", JOIN.encode(2).hex())
    assert (code, error) == (0, "")
    assert lines == [
        "JoinGroupRequest v2",
        "group_id = 'orders'",
        "session_timeout_ms = 10000",
        "rebalance_timeout_ms = -1",
        "member_id = ''",
        "protocol_type = 'consumer'",
        "protocols[0].name = 'range'",
        "protocols[0].metadata = 2 bytes 0102",
        "protocols[1].name = 'sticky'",
        f"protocols[1].metadata = 100 bytes {'00' * 64}...",
    ]


def test_the_header_of_a_request_says_what_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = encode_request(7, "me", MetadataRequest(topics=[MetadataRequestTopic(name="t")]), 12)
    monkeypatch.setattr("sys.stdin", io.StringIO(re.sub("(..)", r"\1 ", frame[LENGTH_BYTES:].hex())))
    code, lines, _ = run(capsys, "decode", "--header", "-")
    assert code == 0
    assert lines == [
        "header = RequestHeader(api_key=3, api_version=12, correlation_id=7, client_id='me')",
        "MetadataRequest v12",
        "topics[0].topic_id = 00000000-0000-0000-0000-000000000000",
        "topics[0].name = 't'",
        "allow_auto_topic_creation = true",
        "include_topic_authorized_operations = false",
    ]


def test_a_response_with_its_header(capsys: pytest.CaptureFixture[str]) -> None:
    frame = encode_response(7, JoinGroupResponse(protocol_name=None), 9)[LENGTH_BYTES:].hex()
    options = ("--api", "JoinGroup", "--version", "9", "--response", "--header")
    code, lines, _ = run(capsys, "decode", *options, frame)
    assert code == 0
    assert lines[:2] == ["header.correlation_id = 7", "JoinGroupResponse v9"]
    assert "protocol_name = null" in lines
    assert "members = []" in lines


def test_an_embedded_format_brings_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    key = "0002" + GroupMetadataKey(group="g").encode(2).hex()
    assert run(capsys, "decode", "--api", "GroupMetadataKey", key) == (0, ["GroupMetadataKey v2", "group = 'g'"], "")


def test_what_is_cut_is_shown_as_far_as_it_was_understood(capsys: pytest.CaptureFixture[str]) -> None:
    body = JOIN.encode(2)[:-101].hex()
    code, lines, error = run(capsys, "decode", "--api", "JoinGroup", "--version", "2", body)
    assert code == 1
    assert lines[0] == "JoinGroupRequest v2, up to the malformed field"
    assert lines[-1] == "protocols[1].name = 'sticky'"
    assert re.fullmatch(
        r"JoinGroupRequest v2\.protocols\[1\]\.metadata at byte \d+: truncated: 4 bytes wanted, 3 left", error
    )


def test_nothing_behind_the_malformed_field_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    body = bytearray(FetchRequest(cluster_id="c", topics=[FetchTopic(topic="x"), FetchTopic(topic="y")]).encode(12))
    end_of_second_topic = body.index(b"\x02y\x01") + 3
    body[end_of_second_topic] = 0x7F
    code, lines, error = run(capsys, "decode", "--api", "Fetch", "--version", "12", body.hex())
    assert code == 1
    assert lines[-2:] == ["topics[1].topic = 'y'", "topics[1].partitions = []"]
    assert error.startswith("FetchRequest v12.topics[1].tagged fields at byte")


def test_bytes_that_follow_are_told_after_all_fields(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines, error = run(capsys, "decode", "--api", "JoinGroup", "--version", "2", JOIN.encode(2).hex() + "00")
    assert (code, len(lines)) == (1, 10)
    assert error.endswith(": 1 bytes after the last field")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--api", "JoinGroup", "--version", "2", "0x0g"], "not hex: '0g'"),
        (["--api", "JoinGroup", "00"], "unknown version of JoinGroup: give --version 0 to 9"),
        (["--api", "JoinGroup", "--version", "10", "00"], "JoinGroupRequest has versions 0 to 9, not 10"),
        (["--api", "JoinGrup", "00"], "there is no message JoinGrup; did you mean JoinGroup, "),
        (["00"], "unknown message: give --api NAME, or --header if the bytes start with a request header"),
        (["--header", "00ff000000000000ffff"], "API key 255 is not defined"),
        (["--header", "00"], "RequestHeader v1.api_key at byte 0: truncated: 2 bytes wanted, 1 left"),
        (["--api", "GroupMetadata", "00"], "GroupMetadata is a record: give GroupMetadataKey or GroupMetadataValue"),
    ],
)
def test_what_cannot_be_is_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], error: str) -> None:
    code, _, stderr = run(capsys, "decode", *arguments)
    assert code == 1
    assert stderr.startswith(error)
    assert "\n" not in stderr


def test_a_message_is_described_version_by_version(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines, _ = run(capsys, "describe", "LeaveGroup")
    assert code == 0
    assert lines[0] == "LeaveGroup: API key 13, versions 0 to 5, flexible from 4 on"
    assert lines[3:7] == [
        "LeaveGroupRequest                          0  1  2  3  4  5",
        "  group_id             string              x  x  x  x  x  x   the group",
        "  member_id            string              x  x  x  .  .  .   the member",
        "  members              [MemberIdentity]    .  .  .  x  x  x   the members that leave",
    ]
    static = "the static member's id (KIP-345); null: a dynamic member"
    assert f"    group_instance_id  string              .  .  .  n  n  n   {static}" in lines


def test_tagged_and_embedded_are_described_too(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines, _ = run(capsys, "describe", "OffsetCommitValue")
    assert code == 0
    assert lines[0] == "OffsetCommit: record type 0-1 of __consumer_offsets, versions 0 to 4, flexible from 4 on"
    assert "  topic_id          uuid      .  .  .  .  t   the id of the topic, all zero if unknown" in lines
    assert run(capsys, "describe", "ConsumerProtocolAssignment")[1][0].endswith("versions 0 to 3, never flexible")
