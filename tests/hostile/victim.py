"""A well-behaved client in a process of its own, which measures how long the server lets it wait.

`python -m tests.hostile.victim BOOTSTRAP` asks for ApiVersions, commits an offset, produces a record, and asks for the
metadata of many topics, which takes several slices, one after the other and again and again. For each line on stdin it
prints the longest waits since the last one.

At a node in front of a cluster, `BOOTSTRAP BROKER SETTINGS`, it sends what is not about groups to the port of the
broker, and logs in at both with the settings of a client, as JSON. It is also a member of a group there, whose
heartbeats the node answers itself.
"""

import json
import select
import sys
import time
from typing import Final

from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.heartbeat import HeartbeatRequest
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.records import build_batch
from _wire.structs import Message
from coordinator.client.bootstrap import Bootstrap
from coordinator.client.security import ClientSecurity
from tests.wire_client import WireClient, produce_request

PAUSE_SECONDS: Final = 0.002
TOPIC: Final = "victim"
MEMBERS: Final = "victim-members"
"""The group of which it is a member."""
LONG: Final = 1_000
"""Topics of a request that takes several slices."""


def main(bootstrap: str, broker: str = "", settings: str = "{}") -> None:
    security = ClientSecurity(json.loads(settings))
    with (
        WireClient(Bootstrap(bootstrap, security), "victim") as client,
        WireClient(Bootstrap(broker or bootstrap, security), "victim") as broker_client,
    ):
        for each in (client, broker_client):
            each.socket.settimeout(120)
        broker_client.create_topic(TOPIC)
        commit = OffsetCommitRequest(
            group_id="victim",
            topics=[
                OffsetCommitRequestTopic(name=TOPIC, partitions=[OffsetCommitRequestPartition(committed_offset=1)])
            ],
        )
        produce = produce_request(TOPIC, build_batch([(b"key", b"value", [])], timestamp_ms=0))
        names = [MetadataRequestTopic(name=f"none-{number}") for number in range(LONG)]
        long_metadata = MetadataRequest(topics=names, allow_auto_topic_creation=False)
        requests: dict[str, tuple[WireClient, Message, int]] = {
            "ApiVersions": (client, ApiVersionsRequest(), 0),
            "OffsetCommit": (client, commit, 8),
            "Produce": (broker_client, produce, 9),
            "long Metadata": (broker_client, long_metadata, 12),
        }
        if broker:
            member_id = client.join_alone(MEMBERS, session_timeout_ms=60_000)
            heartbeat = HeartbeatRequest(group_id=MEMBERS, generation_id=1, member_id=member_id)
            requests["Heartbeat"] = (client, heartbeat, 3)
        waits = dict.fromkeys(requests, 0.0)
        print("ready", flush=True)
        while True:
            for name, (connection, request, version) in requests.items():
                began = time.monotonic()
                connection.request(request, version)
                waits[name] = max(waits[name], time.monotonic() - began)
            if select.select([sys.stdin], [], [], PAUSE_SECONDS)[0]:
                if not sys.stdin.readline():
                    return
                print(json.dumps({name: round(seconds * 1000, 1) for name, seconds in waits.items()}), flush=True)
                waits = dict.fromkeys(requests, 0.0)


if __name__ == "__main__":
    main(*sys.argv[1:])
