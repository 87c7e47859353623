"""The acks of a Produce request are found in its first bytes, in all versions."""

import pytest

from _wire.apis import APIS
from _wire.headers import encode_request
from _wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from coordinator.cluster.relay.request_heads import InvalidRequest, produce_acks
from coordinator.cluster.relay.rules import PRODUCE
from tests.cluster.relay.scripted import request

VERSIONS = range(APIS[PRODUCE].min_version, APIS[PRODUCE].max_version + 1)
TOPICS = [TopicProduceData(name="t", partition_data=[PartitionProduceData(records=b"r" * 1000)])]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("client_id", [None, "", "client", "é" * 1000])
@pytest.mark.parametrize("transactional_id", [None, "", "t" * 200, "t" * 30_000])
@pytest.mark.parametrize("acks", [0, 1, -1])
def test_acks_of_every_version(version, client_id, transactional_id, acks):
    message = ProduceRequest(transactional_id=transactional_id, acks=acks, topic_data=TOPICS)
    data = b"before" + encode_request(7, client_id, message, version)
    assert produce_acks(data, 6, len(data), version) == acks


@pytest.mark.parametrize("version", VERSIONS)
def test_as_long_as_bytes_are_missing_there_is_no_answer(version):
    whole = encode_request(7, "client", ProduceRequest(transactional_id="id", acks=0, timeout_ms=-1), version)
    answers = [produce_acks(whole, 0, end, version) for end in range(len(whole) + 1)]
    missing = answers.index(0)
    assert answers == [None] * missing + [0] * (len(answers) - missing)
    assert missing < len(whole)


def test_tagged_fields_of_the_header_are_skipped():
    data = request(PRODUCE, 9, 1, b"\x02\x00\x01x\x05\x02yz" + b"\x00" + b"\xff\xff")
    assert produce_acks(data, 0, len(data), 9) == -1


@pytest.mark.parametrize(
    ("tags", "error"), [(b"\x11", "17 tagged fields"), (b"\xff\xff\xff\xff\xff\x01", "too many bytes")]
)
def test_headers_that_no_client_sends_are_refused(tags, error):
    data = request(PRODUCE, 9, 1, tags + bytes(100))
    with pytest.raises(InvalidRequest, match=error):
        produce_acks(data, 0, len(data), 9)
