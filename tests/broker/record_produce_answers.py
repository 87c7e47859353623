"""Send the batches of tests/broker/produce_cases.py to an Apache Kafka and write down its answers.

    python -m tests.broker.record_produce_answers HOST:PORT

The answers are kept in tests/broker/recorded/produce_answers.json, which the tests compare with ours. For what was
appended, the stored batch is read back: which of its header's fields Kafka changed is part of the answer.
"""

import json
import re
import struct
import sys
import time
from pathlib import Path
from typing import Any, Final

from _wire.errors import ErrorCode
from coordinator.client.wire import ClientError
from tests.broker.produce_cases import HEADER, Case, cases
from tests.wire_client import WireClient, fetch_request, produce_request

RECORDED: Final = Path(__file__).parent / "recorded" / "produce_answers.json"
FIELDS: Final = (
    "base offset",
    "length",
    "leader epoch",
    "magic",
    "checksum",
    "attributes",
    "last offset delta",
    "base timestamp",
    "max timestamp",
    "producer id",
    "producer epoch",
    "base sequence",
    "record count",
)
NEVER_KEPT: Final = ("base offset", "leader epoch", "checksum")
NO_ANSWER_SECONDS: Final = 3.0
NOT_READY: Final = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER)
"""For a short time after the topic was created."""


def changes_of(sent: bytes, stored: bytes, now_ms: int) -> dict[str, object]:
    """Which fields of the header, and whether the records, are not stored as they were sent."""
    before, after = HEADER.unpack_from(sent), HEADER.unpack_from(stored)
    changes: dict[str, object] = {
        name: value if abs(value - now_ms) > 10**8 else f"now{value - now_ms:+}"
        for name, was, value in zip(FIELDS, before, after, strict=True)
        if was != value and name not in NEVER_KEPT
    }
    if stored[HEADER.size :] != sent[HEADER.size : len(stored)]:
        changes["records"] = "other bytes"
    return changes


def answer_of(response: Any, now_ms: int) -> dict[str, object]:
    """The error of a partition's response, and what it says about single records."""
    answer: dict[str, object] = {"error": ErrorCode(response.error_code).name}
    if response.error_code == 0:
        answer["base_offset"] = response.base_offset
        return answer
    if response.record_errors:
        answer["record_errors"] = [
            [record_error.batch_index, without_times(record_error.batch_index_error_message, now_ms)]
            for record_error in response.record_errors
        ]
    if response.error_message is not None:
        answer["message"] = without_times(response.error_message, now_ms)
    return answer


def without_times(text: str | None, now_ms: int) -> str | None:
    """The text with the times that depend on when it was recorded written as distances from `now_ms`, in minutes."""
    if text is None:
        return None

    def minutes(match: re.Match[str]) -> str:
        distance = int(match.group()) - now_ms
        return f"<now{round(distance / 60_000):+} min>" if abs(distance) < 10**8 else match.group()

    return re.sub(r"(?<!\d)\d{13}(?!\d)", minutes, re.sub(r"\[-\d+", "[<the earliest>", text))


def send(client: WireClient, topic: str, data: bytes | None, version: int) -> Any:
    """Send one batch; return the response for the partition."""
    while True:
        response = client.request(produce_request(topic, data), version).responses[0].partition_responses[0]
        if response.error_code not in NOT_READY:
            return response


def ask(client: WireClient, topic: str, case: Case, now_ms: int) -> dict[str, object]:
    """Send the requests of a case; describe the answer to the last one."""
    for data in case.requests:
        response = send(client, topic, data, case.version)
    answer = answer_of(response, now_ms)
    data = case.requests[-1]
    if response.error_code == 0 and data is not None:
        fetched = client.request(fetch_request(topic, response.base_offset, max_bytes=1 << 22), 11)
        stored = bytes(fetched.responses[0].partitions[0].records or b"")
        if not stored:
            answer["stored"] = "nothing"
        elif changes := changes_of(data, stored[: 12 + struct.unpack_from(">i", stored, 8)[0]], now_ms):
            answer["stored"] = changes
    return answer


def main(bootstrap: str) -> None:
    answers = {}
    now_ms = int(time.time() * 1000)
    for number, case in enumerate(cases(now_ms)):
        topic = f"case-{now_ms}-{number}"
        with WireClient(bootstrap) as client:
            client.create_topic(topic)
            client.socket.settimeout(NO_ANSWER_SECONDS)
            try:
                answers[case.name] = ask(client, topic, case, now_ms)
            except ClientError as problem:
                print(f"{case.name}: {problem}")
                answers[case.name] = {"error": "no answer"}
    RECORDED.parent.mkdir(exist_ok=True)
    RECORDED.write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n")
    print(f"{len(answers)} answers")


if __name__ == "__main__":
    main(sys.argv[1])
