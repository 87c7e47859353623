"""Headers beyond what the recorded vectors show."""

import pytest

from _wire.errors import MalformedMessage
from _wire.headers import RequestHeader, decode_request_header, encode_request, encode_response, response_header_version
from _wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from _wire.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from _wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


def test_the_answer_to_api_versions_keeps_the_oldest_header() -> None:
    assert [response_header_version(18, version) for version in range(5)] == [0] * 5
    assert encode_response(7, ApiVersionsResponse(), 3)[4:8] == b"\0\0\0\7"


def test_a_version_that_nobody_knows_yet_has_a_readable_header() -> None:
    """A broker must answer ApiVersions v99 with UNSUPPORTED_VERSION: it reads the header of any version (KIP-511)."""
    frame = bytes.fromhex("0012 0063 00000001 0002 6d65 01 05 02 abcd") + b"whatever the body is"
    header, body_start = decode_request_header(frame)
    assert header == RequestHeader(18, 99, 1, "me")
    assert frame[body_start:] == b"whatever the body is"


def test_a_key_that_nobody_knows_has_a_readable_header() -> None:
    header, body_start = decode_request_header(bytes.fromhex("7fff 0000 00000001 ffff"))
    assert (header.api_key, header.client_id, body_start) == (32_767, None, 10)


def test_a_header_may_begin_anywhere() -> None:
    frame = encode_request(5, "me", HeartbeatRequest(group_id="g"), 4)
    header, body_start = decode_request_header(frame, 4)
    assert header == RequestHeader(12, 4, 5, "me")
    assert HeartbeatRequest.decode(frame, 4, body_start) == HeartbeatRequest(group_id="g")


def test_headers_that_differ_in_one_field_are_not_equal() -> None:
    header = RequestHeader(12, 4, 5, "me")
    others = [RequestHeader(11, 4, 5, "me"), RequestHeader(12, 3, 5, "me"), RequestHeader(12, 4, 6, "me")]
    assert header not in [*others, RequestHeader(12, 4, 5, None), "me"]
    assert repr(header) == "RequestHeader(api_key=12, api_version=4, correlation_id=5, client_id='me')"


@pytest.mark.parametrize("size", range(13))
def test_a_header_that_is_cut_is_truncated(size: int) -> None:
    with pytest.raises(MalformedMessage, match=r"RequestHeader v1.*truncated"):
        decode_request_header(encode_request(5, "me", HeartbeatRequest(), 4)[4 : 4 + size])


def test_a_client_id_that_is_not_utf8_is_malformed() -> None:
    with pytest.raises(MalformedMessage, match="client_id at byte 10: not UTF-8"):
        decode_request_header(bytes.fromhex("000c 0000 00000001 0001 ff"))


def test_a_version_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="HeartbeatResponse has versions 0 to 4, not 5"):
        encode_response(1, HeartbeatResponse(), 5)
    with pytest.raises(ValueError, match="ApiVersionsRequest has versions 0 to 4, not -1"):
        encode_request(1, None, ApiVersionsRequest(), -1)


def test_a_message_is_needed() -> None:
    with pytest.raises(TypeError):
        encode_response(1, None, 0)  # type: ignore[arg-type]


# ---- records apart


def fetched(*records: bytes | memoryview | None) -> FetchResponse:
    partitions = [PartitionData(partition_index=index, records=record) for index, record in enumerate(records)]
    return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=partitions)])


@pytest.mark.parametrize("version", [4, 11, 12, 18])
@pytest.mark.parametrize(
    "sizes",
    [(16_384,), (0, 16_383, 16_384, None, 70_000), (100_000, 100_000), (16_383, 1, None), ()],
    ids=["one", "mixed", "neighbours", "none large", "nothing"],
)
def test_records_that_are_left_apart_belong_where_it_says(version: int, sizes: tuple[int | None, ...]) -> None:
    records = [None if size is None else bytes([index + 1]) * size for index, size in enumerate(sizes)]
    views = [None if record is None else memoryview(record) for record in records]
    whole = encode_response(7, fetched(*records), version)
    apart: list[tuple[int, bytes | memoryview]] = []
    rest = encode_response(7, fetched(*views), version, apart)
    assert [each for _, each in apart] == [record for record in records if record is not None and len(record) >= 16_384]
    for position, each in reversed(apart):
        rest = rest[:position] + bytes(each) + rest[position:]
    assert rest == whole
    assert int.from_bytes(whole[:4], "big") == len(whole) - 4


def test_records_are_any_bytes_but_no_text() -> None:
    answers = [encode_response(7, fetched(each), 12) for each in (b"abc", memoryview(b"xabcx")[1:4])]
    assert answers[0] == answers[1]
    with pytest.raises(TypeError, match="bytes-like"):
        encode_response(7, fetched("abc"), 12)  # type: ignore[arg-type]
