"""The batches of tests/broker/produce_cases.py get the answers of Apache Kafka 4.3.1, but where a reason is named."""

import json
import struct
from typing import Any, Final

import pytest

from _wire.compression import COMPRESSIONS
from tests.broker.produce_cases import Case, cases
from tests.broker.record_produce_answers import RECORDED, answer_of, changes_of
from tests.broker.virtual_broker import START_MS, VirtualBroker
from tests.wire_client import fetch_request

CASES: Final = {case.name: case for case in cases(START_MS)}
ANSWERS: Final[dict[str, dict[str, Any]]] = json.loads(RECORDED.read_text())

UNREADABLE: Final = "a consumer could not read it"
SKIPS: Final = "a consumer would skip or repeat offsets"
NOT_AN_ERROR_OF_THE_SERVER: Final = "Kafka fails with an exception of its own, the batch is to blame"
STRICTER: Final = "no client sends it; Kafka's consumers ignore what is left over, others do not"
NO_ANSWER: Final = "Kafka never answers"


def _of_each(names: tuple[str, ...], compressions: tuple[str, ...] = COMPRESSIONS[1:]) -> list[str]:
    return [f"{compression}: {name}" for compression in compressions for name in names]


GAPS: Final = (
    "a gap in the offsets",
    "the same offset twice",
    "offsets that go backwards",
    "offsets from 1",
    "all offsets 0",
    "offset delta -1",
    "offset delta 2147483647",
    "log append time and a gap",
)
LENGTHS: Final = ("key length -2", "value length -2", "header value length -2")
SIZES: Final = (
    "record size -1",
    "record size 0",
    "record size one less",
    "record size one more",
    "record size 1000000",
)
BROKEN: Final = (
    "not compressed",
    "compressed data that is cut short",
    "compressed data that is cut in half",
    "zeros",
    "a wrong header checksum",
    "dependent blocks",
    "no end mark",
)

DIFFERENT: Final[dict[str, tuple[str, str]]] = {
    "null": ("INVALID_RECORD", NO_ANSWER),
    "version 3 without records": ("INVALID_RECORD", NO_ANSWER),
    "none: a size of six bytes": ("INVALID_RECORD", NOT_AN_ERROR_OF_THE_SERVER),
    "gzip: one byte after the compressed data": ("INVALID_RECORD", STRICTER),
    "snappy: one byte after the compressed data": ("INVALID_RECORD", STRICTER),
    "lz4: one byte after the compressed data": ("INVALID_RECORD", STRICTER),
    "lz4: compressed data twice": ("INVALID_RECORD", STRICTER),
    "snappy: compressed data twice for two": ("INVALID_RECORD", STRICTER),
    "zstd: one byte after the compressed data": ("INVALID_RECORD", NOT_AN_ERROR_OF_THE_SERVER),
    **{f"compression {number}": ("UNSUPPORTED_COMPRESSION_TYPE", NOT_AN_ERROR_OF_THE_SERVER) for number in (5, 6, 7)},
    **{name: ("INVALID_RECORD", SKIPS) for name in _of_each(GAPS, ("none",))},
    **{name: ("INVALID_RECORD", NOT_AN_ERROR_OF_THE_SERVER) for name in _of_each(GAPS)},
    **{name: ("INVALID_RECORD", UNREADABLE) for name in _of_each(LENGTHS, COMPRESSIONS)},
    **{name: ("INVALID_RECORD", UNREADABLE) for name in _of_each(SIZES)},
    **{
        name: ("INVALID_RECORD", NOT_AN_ERROR_OF_THE_SERVER)
        for name in _of_each((*BROKEN, "no compressed bytes"))
        if name in CASES and name != "zstd: no compressed bytes"
    },
}


def our_answer(case: Case) -> dict[str, object]:
    broker = VirtualBroker()
    broker.create_topic("orders")
    response: Any = None
    for data in case.requests:
        response = broker.produce("orders", data, api_version=case.version)
    answer = answer_of(response, START_MS)
    sent = case.requests[-1]
    if response.error_code == 0 and sent is not None:
        fetched = broker.fetch(fetch_request("orders", response.base_offset, max_bytes=1 << 22)).partition.records
        if changes := changes_of(sent, fetched[: 12 + struct.unpack_from(">i", fetched, 8)[0]], START_MS):
            answer["stored"] = changes
    elif broker.partitions.get("orders", 0).log_end_offset != len(case.requests) - 1:
        answer["stored"] = "although it was rejected"
    return answer


def test_every_case_has_an_answer():
    assert list(ANSWERS) == list(CASES)
    assert set(DIFFERENT) <= set(CASES)


@pytest.mark.parametrize("name", [name for name in CASES if name not in DIFFERENT])
def test_a_batch_is_answered_and_stored_as_by_kafka(name):
    ours = our_answer(CASES[name])
    if "message" not in ANSWERS[name] or ours["error"] != "INVALID_TIMESTAMP":
        ours.pop("message", None)  # Kafka leaves it out, or says it in other words
    kafkas = {key: value for key, value in ANSWERS[name].items() if key != "message" or key in ours}
    assert ours == kafkas


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_is_answered_in_another_way_than_by_kafka(name):
    error, _ = DIFFERENT[name]
    ours = our_answer(CASES[name])
    assert ours.pop("message")
    assert ours == {"error": error}
    assert ANSWERS[name]["error"] != error
