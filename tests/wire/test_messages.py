"""What all messages have in common, seen from Python."""

from typing import Any

import pytest

from _wire.apis import APIS, Api
from _wire.embedded import decode_key, decode_versioned, encode_versioned
from _wire.errors import ErrorCode, MalformedMessage
from _wire.headers import encode_response
from _wire.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    Member,
    TopicPartitions,
)
from _wire.messages.describe_groups import DescribeGroupsRequest
from _wire.messages.fetch import EpochEndOffset, FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from _wire.messages.heartbeat import HeartbeatResponse
from _wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from _wire.messages.offset_commit_record import OffsetCommitKey, OffsetCommitValue
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from _wire.structs import Message

THREE_TOPICS = [OffsetFetchRequestTopic(name="t", partition_indexes=[1, 2, 3]) for _ in range(3)]


def test_defaults_are_kafkas() -> None:
    request = JoinGroupRequest()
    assert (request.group_id, request.session_timeout_ms, request.rebalance_timeout_ms) == ("", 0, -1)
    assert (request.group_instance_id, request.protocols, request.reason) == (None, [], None)
    assert FetchRequest().max_bytes == 2**31 - 1
    assert PartitionData().records is None or PartitionData().records == b""


def test_two_messages_never_share_a_list() -> None:
    first, second = JoinGroupRequest(), JoinGroupRequest()
    first.protocols.append(JoinGroupRequestProtocol(name="range"))
    assert second.protocols == []


def test_a_list_may_be_given_as_anything_iterable() -> None:
    names = ("a", "b")
    assert MetadataRequest(topics=(MetadataRequestTopic(name=name) for name in names)).encode(1)
    assert MetadataRequest(topics=None).topics is None


def test_fields_are_given_by_name_only() -> None:
    with pytest.raises(TypeError):
        HeartbeatResponse(0)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="wrong_name"):
        HeartbeatResponse(wrong_name=0)  # type: ignore[call-arg]


def test_equality_is_that_of_type_and_fields() -> None:
    assert JoinGroupRequestProtocol(name="range") == JoinGroupRequestProtocol(name="range")
    assert JoinGroupRequestProtocol(name="range") != JoinGroupRequestProtocol(name="sticky")
    other: object = JoinGroupRequest()
    assert HeartbeatResponse() != other


def test_a_message_shows_its_fields() -> None:
    assert repr(HeartbeatResponse(error_code=27)) == "HeartbeatResponse(throttle_time_ms=0, error_code=27)"


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_a_version_that_does_not_exist_is_refused_both_ways(api: Api) -> None:
    for message in (api.request, api.response):
        for version in (api.min_version - 1, api.max_version + 1):
            expected = f"{message.__name__} has versions {api.min_version} to {api.max_version}, not {version}"
            with pytest.raises(ValueError, match=expected):
                message().encode(version)
            with pytest.raises(ValueError, match=expected):
                message.decode(b"", version)


def test_a_message_without_a_definition_cannot_be_written() -> None:
    with pytest.raises(TypeError, match="only messages made from a definition"):
        Message().encode(0)
    with pytest.raises(TypeError, match="only messages made from a definition"):
        encode_response(0, Message(), 0)


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_the_table_says_what_the_classes_say(api: Api) -> None:
    for message, suffix in ((api.request, "Request"), (api.response, "Response")):
        assert message.__name__ == api.name + suffix
        assert (api.name, api.key) == (message.NAME, message.API_KEY)
        assert (api.min_version, api.max_version) == (message.MIN_VERSION, message.MAX_VERSION)
        assert api.flexible_from == message.FLEXIBLE_FROM


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"group_id": None}, "JoinGroupRequest.group_id is None"),
        ({"protocols": None}, "JoinGroupRequest.protocols is None"),
        ({"protocols": [JoinGroupRequestProtocol(metadata=None)]}, "JoinGroupRequest.protocols.metadata is None"),  # type: ignore[arg-type]
    ],
)
def test_none_where_it_is_not_nullable_is_refused_by_name(change: dict[str, Any], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        JoinGroupRequest(**change).encode(9)


@pytest.mark.parametrize("element", [None, 3, HeartbeatResponse()])
def test_an_element_of_the_wrong_type_is_refused(element: Any) -> None:
    with pytest.raises(TypeError):
        JoinGroupRequest(protocols=[element]).encode(0)


def test_numbers_that_do_not_fit_are_refused() -> None:
    with pytest.raises(OverflowError):
        HeartbeatResponse(error_code=2**15)
    with pytest.raises(TypeError):
        HeartbeatResponse(error_code="0")  # type: ignore[arg-type]


def test_malformed_bytes_are_refused_with_message_version_field_and_offset() -> None:
    body = JoinGroupRequest(protocols=[JoinGroupRequestProtocol(name="range", metadata=b"12")]).encode(2)
    with pytest.raises(MalformedMessage) as refused:
        JoinGroupRequest.decode(body[:-1], 2)
    malformed = refused.value
    assert (malformed.message, malformed.version, malformed.field) == ("JoinGroupRequest", 2, "protocols[0].metadata")
    assert malformed.offset == len(body) - 2
    assert str(malformed) == f"JoinGroupRequest v2.protocols[0].metadata at byte {len(body) - 2}: {malformed.why}"


@pytest.mark.parametrize(
    ("message", "version", "missing_bytes", "field"),
    [
        (OffsetFetchRequest(topics=THREE_TOPICS), 5, 1, "topics[2].partition_indexes"),
        (OffsetFetchRequest(topics=THREE_TOPICS), 6, 2, "topics[2].tagged fields"),
        (OffsetFetchRequest(topics=THREE_TOPICS), 6, 1, "tagged fields"),
        (DescribeGroupsRequest(groups=["a", "b", "c"]), 0, 1, "groups[2]"),
    ],
)
def test_the_path_to_a_field_says_which_element_it_lies_in(
    message: Message, version: int, missing_bytes: int, field: str
) -> None:
    with pytest.raises(MalformedMessage) as refused:
        type(message).decode(message.encode(version)[:-missing_bytes], version)
    assert refused.value.field == field


@pytest.mark.parametrize("name", ["assignment", "target_assignment"])
def test_the_path_leads_through_a_struct_that_is_used_in_two_places(name: str) -> None:
    assigned = Assignment(topic_partitions=[TopicPartitions(topic_name="x"), TopicPartitions(topic_name="it")])
    member = Member()
    setattr(member, name, assigned)
    body = ConsumerGroupDescribeResponse(groups=[DescribedGroup(members=[Member(), member])]).encode(0)
    with pytest.raises(MalformedMessage) as refused:
        ConsumerGroupDescribeResponse.decode(body.replace(b"it", b"\xff\xff"), 0)
    assert refused.value.field == f"groups[0].members[1].{name}.topic_partitions[1].topic_name"


def test_what_was_understood_before_the_malformed_field_is_told() -> None:
    protocols = [JoinGroupRequestProtocol(name="range", metadata=b"1"), JoinGroupRequestProtocol(name="sticky")]
    request = JoinGroupRequest(group_id="orders", session_timeout_ms=5, member_id="me", protocols=protocols)
    with pytest.raises(MalformedMessage) as refused:
        JoinGroupRequest.decode(request.encode(0)[:-3], 0)
    understood: Any = refused.value.understood
    assert (understood.group_id, understood.session_timeout_ms, understood.member_id) == ("orders", 5, "me")
    assert understood.protocols[0] == protocols[0]
    assert (understood.protocols[1].name, understood.protocols[1].metadata) == ("sticky", None)


def test_a_body_may_lie_anywhere_in_its_buffer() -> None:
    body = HeartbeatResponse(error_code=27).encode(4)
    assert HeartbeatResponse.decode(b"head" + body, 4, 4) == HeartbeatResponse(error_code=27)
    with pytest.raises(ValueError, match="start 9 lies outside"):
        HeartbeatResponse.decode(b"12345678", 4, 9)


def test_a_tagged_struct_that_was_not_sent_is_none() -> None:
    topic = FetchableTopicResponse(partitions=[PartitionData(), PartitionData(diverging_epoch=EpochEndOffset(epoch=5))])
    decoded = FetchResponse.decode(FetchResponse(responses=[topic]).encode(17), 17)
    first, second = decoded.responses[0].partitions
    assert first.diverging_epoch is None
    assert second.diverging_epoch == EpochEndOffset(epoch=5, end_offset=-1)


@pytest.mark.parametrize("size", [1, 126, 127, 300, 20_000])
def test_a_tagged_field_may_have_any_size(size: int) -> None:
    request = FetchRequest(cluster_id="x" * size)
    assert FetchRequest.decode(request.encode(17), 17) == request


@pytest.mark.parametrize(
    ("tag_size", "error"),
    [
        (4, "cluster_id at byte 28: truncated: 4 bytes wanted, 3 left"),
        (6, "tagged fields at byte 27: truncated: 6 bytes wanted, 5 left"),
    ],
)
def test_a_tagged_field_ends_where_its_size_says(tag_size: int, error: str) -> None:
    body = bytearray(FetchRequest(cluster_id="abcd").encode(17))
    body[body.index(b"\x05abcd") - 1] = tag_size
    with pytest.raises(MalformedMessage, match=error):
        FetchRequest.decode(body, 17)


def test_a_tagged_field_is_no_longer_than_its_value() -> None:
    body = bytearray(FetchRequest(cluster_id="abcd").encode(17))
    body[body.index(b"\x05abcd") - 1] = 6
    with pytest.raises(MalformedMessage, match="tagged field is longer than its value"):
        FetchRequest.decode(body + b"?", 17)


def test_keys_of_the_offsets_topic_are_told_apart() -> None:
    key = OffsetCommitKey(group="g", topic="t", partition=1)
    assert decode_key(encode_versioned(key, 1)) == key
    assert decode_key(b"\0\x63rest") is None
    with pytest.raises(MalformedMessage, match="truncated"):
        decode_key(b"\0")


def test_a_stored_value_of_an_unknown_version_is_malformed() -> None:
    with pytest.raises(MalformedMessage, match="version is not 0 to 4"):
        decode_versioned(OffsetCommitValue, b"\0\5")


def test_error_codes_are_kafkas() -> None:
    assert [code.value for code in ErrorCode] == list(range(-1, 134))
    assert ErrorCode(79) is ErrorCode.MEMBER_ID_REQUIRED
    assert ErrorCode.COORDINATOR_LOAD_IN_PROGRESS.retriable
    assert not ErrorCode.FENCED_INSTANCE_ID.retriable
    assert all(code.description for code in ErrorCode)
