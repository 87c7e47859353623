"""Send the batches of tests/broker/recompression_cases.py to an Apache Kafka and write down its answers.

python -m tests.broker.record_recompression_answers HOST:PORT
"""

import json
import sys
import time
from pathlib import Path
from typing import Final

from tests.broker.produce_cases import LATEST
from tests.broker.recompression_cases import Case, cases, description
from tests.broker.record_produce_answers import send
from tests.wire_client import WireClient, fetch_request

RECORDED: Final = Path(__file__).parent / "recorded" / "recompression_answers.json"


def ask(client: WireClient, topic: str, case: Case, now_ms: int) -> dict[str, object]:
    """Send the requests of a case; describe the answer to the last one."""
    client.create_topic(topic, configs=case.configs)
    for data in case.requests:
        response = send(client, topic, data, LATEST)
    fetched = client.request(fetch_request(topic, 0, max_bytes=1 << 22), case.fetch_version).responses[0].partitions[0]
    return description(case, response, fetched.error_code, bytes(fetched.records or b""), now_ms)


def main(bootstrap: str) -> None:
    now_ms = int(time.time() * 1000)
    answers = {}
    with WireClient(bootstrap) as client:
        for number, case in enumerate(cases(now_ms)):
            answers[case.name] = ask(client, f"case-{now_ms}-{number}", case, now_ms)
    RECORDED.write_text(json.dumps(answers, indent=1) + "\n")
    print(f"{len(answers)} answers")


if __name__ == "__main__":
    main(sys.argv[1])
