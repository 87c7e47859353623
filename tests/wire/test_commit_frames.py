"""An OffsetCommit read in place says what the codec says, in every version, or declines."""

from hypothesis import given
from hypothesis import strategies as st

from _wire.errors import MalformedMessage
from _wire.headers import decode_request_header, encode_request, encode_response
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from tests.wire import commit_calls

LENGTH_BYTES = 4
OLDEST = 1
COMMIT_TIMESTAMP_VERSION = 1
RETENTION_VERSIONS = (2, 3, 4)
LEADER_EPOCH_VERSION = 6
INSTANCE_ID_VERSION = 7
TOPIC_ID_VERSION = 10
VERSIONS = st.integers(OLDEST, OffsetCommitRequest.MAX_VERSION)
ASCII = st.text(st.characters(codec="ascii"), max_size=40) | st.text("ab", min_size=120, max_size=200)
IDS = ASCII | st.text(max_size=40)
INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)


@st.composite
def partitions(draw, version, texts=ASCII):
    made = OffsetCommitRequestPartition(
        partition_index=draw(INT32), committed_offset=draw(INT64), committed_metadata=draw(st.none() | texts)
    )
    if version >= LEADER_EPOCH_VERSION:
        made.committed_leader_epoch = draw(INT32)
    if version == COMMIT_TIMESTAMP_VERSION:
        made.commit_timestamp = draw(INT64)
    return made


@st.composite
def topics(draw, version, texts=ASCII):
    sizes = st.integers(1, 3) | st.integers(126, 130)
    made = [draw(partitions(version, texts)) for _ in range(draw(st.integers(1, 3)))]
    if draw(st.booleans()):
        made = made[:1] * draw(sizes)
    topic = OffsetCommitRequestTopic(partitions=made)
    if version >= TOPIC_ID_VERSION:
        topic.topic_id = draw(st.binary(min_size=16, max_size=16))
    else:
        topic.name = draw(IDS)
    return topic


@st.composite
def requests(draw, version, texts=ASCII):
    request = OffsetCommitRequest(
        group_id=draw(IDS),
        generation_id_or_member_epoch=draw(INT32),
        member_id=draw(IDS),
        topics=draw(st.lists(topics(version, texts), min_size=1, max_size=3)),
    )
    if version >= INSTANCE_ID_VERSION:
        request.group_instance_id = draw(st.none() | IDS)
    return request


def frame_of(request, version, client_id="client", correlation_id=7):
    return encode_request(correlation_id, client_id, request, version)[LENGTH_BYTES:]


def partition_read(each):
    metadata = None if each.committed_metadata is None else each.committed_metadata.encode()
    return each.partition_index, each.committed_offset, each.committed_leader_epoch, each.commit_timestamp, metadata


def fields_by_codec(frame):
    header, start = decode_request_header(frame)
    version = header.api_version
    request = OffsetCommitRequest.decode(frame, version, start, whole=False)
    assert request.retention_time_ms == -1
    read = [
        (
            topic.topic_id if version >= TOPIC_ID_VERSION else topic.name.encode(),
            [partition_read(partition) for partition in topic.partitions],
        )
        for topic in request.topics
    ]
    instance_id = None if request.group_instance_id is None else request.group_instance_id.encode()
    generation_id = request.generation_id_or_member_epoch
    return version, request.group_id.encode(), generation_id, request.member_id.encode(), instance_id, read


@given(VERSIONS, st.data())
def test_reads_what_the_codec_reads(version, data):
    frame = frame_of(data.draw(requests(version)), version)
    assert commit_calls.read(frame) == fields_by_codec(frame)


@given(VERSIONS, INT32, st.data())
def test_answers_as_the_codec_does(version, correlation_id, data):
    request = data.draw(requests(version))
    answered = [
        OffsetCommitResponseTopic(
            name=topic.name,
            topic_id=topic.topic_id,
            partitions=[
                OffsetCommitResponsePartition(partition_index=partition.partition_index)
                for partition in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    expected = encode_response(correlation_id, OffsetCommitResponse(topics=answered), version)
    assert commit_calls.answer(frame_of(request, version, correlation_id=correlation_id)) == expected


@given(VERSIONS, st.data())
def test_declines_or_agrees_on_any_change_of_a_byte(version, data):
    frame = bytearray(frame_of(data.draw(requests(version)), version))
    frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    read = commit_calls.read(bytes(frame))
    names = [] if read is None else [read[1], read[3], read[4]]
    if read is not None and version < TOPIC_ID_VERSION:
        names += [name for name, _ in read[5]]
    if read is not None and all(name is None or is_utf8(name) for name in names):
        try:
            assert read == fields_by_codec(bytes(frame))
        except MalformedMessage as problem:
            # Another byte of the version makes names of the ids that are none.
            raise AssertionError(f"{problem}: {bytes(frame)!r}") from problem


def is_utf8(name):
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return True


@given(VERSIONS, st.data())
def test_declines_every_frame_cut_short(version, data):
    frame = frame_of(data.draw(requests(version)), version)
    assert commit_calls.read(frame[: data.draw(st.integers(0, len(frame) - 1))]) is None


@given(VERSIONS, st.binary(min_size=1, max_size=20), st.data())
def test_ignores_bytes_after_the_last_field(version, trailing, data):
    frame = frame_of(data.draw(requests(version)), version)
    assert commit_calls.read(frame + trailing) == commit_calls.read(frame) is not None


@given(VERSIONS, st.sampled_from(["ü", "naïve", "\U0001f600"]))
def test_declines_text_that_is_not_ascii(version, text):
    """How long it is counts in UTF-16, and whether it is UTF-8 at all: that is the codec's."""
    partition = OffsetCommitRequestPartition(committed_metadata=text)
    request = OffsetCommitRequest(topics=[OffsetCommitRequestTopic(partitions=[partition])])
    assert commit_calls.read(frame_of(request, version)) is None
    request.topics[0].partitions[0].committed_metadata = "ascii"
    assert commit_calls.read(frame_of(request, version)) is not None
    assert commit_calls.read(frame_of(request, version, client_id=text)) is None


def test_declines_a_retention_time():
    topics = [OffsetCommitRequestTopic(name="t", partitions=[OffsetCommitRequestPartition()])]
    for version in RETENTION_VERSIONS:
        request = OffsetCommitRequest(topics=topics)
        assert commit_calls.read(frame_of(request, version)) is not None
        request.retention_time_ms = 0
        assert commit_calls.read(frame_of(request, version)) is None


@given(VERSIONS)
def test_declines_what_commits_nothing(version):
    assert commit_calls.read(frame_of(OffsetCommitRequest(), version)) is None
    assert commit_calls.read(frame_of(OffsetCommitRequest(topics=[OffsetCommitRequestTopic()]), version)) is None


def test_declines_other_apis_and_versions():
    topics = [OffsetCommitRequestTopic(name="t", partitions=[OffsetCommitRequestPartition()])]
    frame = frame_of(OffsetCommitRequest(topics=topics), 8)
    assert commit_calls.read(b"\x00\x09" + frame[2:]) is None
    assert commit_calls.read(frame[:2] + b"\x00\x0b" + frame[4:]) is None
    assert commit_calls.read(frame_of(OffsetCommitRequest(topics=topics), 0)) is None
