"""A well-behaved client in a process of its own, which measures how long the server lets it wait.

`python -m tests.hostile.victim BOOTSTRAP` asks for ApiVersions, commits an offset, produces a record, and asks for the
metadata of many topics, which takes several slices, one after the other and again and again. For each line on stdin it
prints the longest waits since the last one.
"""

import json
import select
import sys
import time
from typing import Final

from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.records import build_batch
from tests.wire_client import WireClient, produce_request

PAUSE_SECONDS: Final = 0.002
TOPIC: Final = "victim"
LONG: Final = 1_000
"""Topics of a request that takes several slices."""


def main(bootstrap: str) -> None:
    with WireClient(bootstrap, "victim") as client:
        client.socket.settimeout(120)
        client.create_topic(TOPIC)
        commit = OffsetCommitRequest(
            group_id="victim",
            topics=[
                OffsetCommitRequestTopic(name=TOPIC, partitions=[OffsetCommitRequestPartition(committed_offset=1)])
            ],
        )
        produce = produce_request(TOPIC, build_batch([(b"key", b"value", [])], timestamp_ms=0))
        names = [MetadataRequestTopic(name=f"none-{number}") for number in range(LONG)]
        long_metadata = MetadataRequest(topics=names, allow_auto_topic_creation=False)
        requests = {
            "ApiVersions": (ApiVersionsRequest(), 0),
            "OffsetCommit": (commit, 8),
            "Produce": (produce, 9),
            "long Metadata": (long_metadata, 12),
        }
        waits = dict.fromkeys(requests, 0.0)
        print("ready", flush=True)
        while True:
            for name, (request, version) in requests.items():
                began = time.monotonic()
                client.request(request, version)
                waits[name] = max(waits[name], time.monotonic() - began)
            if select.select([sys.stdin], [], [], PAUSE_SECONDS)[0]:
                if not sys.stdin.readline():
                    return
                print(json.dumps({name: round(seconds * 1000, 1) for name, seconds in waits.items()}), flush=True)
                waits = dict.fromkeys(requests, 0.0)


if __name__ == "__main__":
    main(sys.argv[1])
