"""Fills a server of any release, and compares what another one serves with it.

    python -m tests.upgrade.content HOST:PORT FACTS.json

fills a server that was just started on an empty folder, and writes down what is in it.
"""

import json
import sys
from pathlib import Path
from typing import Any, Final

from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from _wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from _wire.records import parse_records
from coordinator.client.audit_topic import AuditTopic
from tests.log.batches import batch
from tests.wire_client import WireClient, fetch_request

TOPICS: Final = {"orders": 3, "payments": 1}
RECORDS: Final = 4
WITH_MEMBER: Final = "billing"
WITHOUT_MEMBERS: Final = "reporting"
CONSUMER_GROUP: Final = "shipping"
"""Of servers that have the consumer protocol (KIP-848)."""
COMMITTED: Final = {WITH_MEMBER: 2, WITHOUT_MEMBERS: 3}
SESSION_MS: Final = 60_000

Facts = dict[str, Any]


def fill(bootstrap: str) -> Facts:
    """Make topics, records, groups and committed offsets; what `differences` needs to find them again."""
    with WireClient(bootstrap) as client:
        for name, partitions in TOPICS.items():
            client.create_topic(name, partitions)
            for partition in range(partitions):
                for number in range(RECORDS):
                    answer = client.produce(name, bytes(batch(f"{name} {number}")), partition=partition)
                    assert answer.error_code == 0, answer
        member_id = client.join_alone(WITH_MEMBER, session_timeout_ms=SESSION_MS)
        _commit(client, WITH_MEMBER, member_id, 1)
        _commit(client, WITHOUT_MEMBERS, "", -1)
        facts: Facts = {"member_id": member_id, "consumer_epoch": None}
        if client.supports(ConsumerGroupHeartbeatRequest.API_KEY):
            facts["consumer_epoch"] = _join_consumer_group(client)
    return facts


def _commit(client: WireClient, group_id: str, member_id: str, generation_id: int) -> None:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=COMMITTED[group_id])
    request = OffsetCommitRequest(
        group_id=group_id,
        member_id=member_id,
        generation_id_or_member_epoch=generation_id,
        topics=[OffsetCommitRequestTopic(name="orders", partitions=[partition])],
    )
    (topic,) = client.request(request, 7).topics
    assert [each.error_code for each in topic.partitions] == [0]


def _join_consumer_group(client: WireClient) -> int:
    request = ConsumerGroupHeartbeatRequest(
        group_id=CONSUMER_GROUP,
        member_id="only",
        rebalance_timeout_ms=SESSION_MS,
        subscribed_topic_names=["orders"],
        topic_partitions=[],
    )
    joined = client.request(request, 1)
    assert joined.error_code == 0, joined
    epoch: int = joined.member_epoch
    return epoch


def differences(bootstrap: str, facts: Facts) -> list[str]:
    """What is not as it was when the server was filled, one line each."""
    found: list[str] = []

    def compare(what: str, is_now: object, was: object) -> None:
        if is_now != was:
            found.append(f"{what}: {was} before, {is_now} now")

    with WireClient(bootstrap) as client:
        compare("heartbeat of the member", client.heartbeat_error(WITH_MEMBER, facts["member_id"]), 0)
        if facts["consumer_epoch"] is not None:
            request = ConsumerGroupHeartbeatRequest(
                group_id=CONSUMER_GROUP, member_id="only", member_epoch=facts["consumer_epoch"]
            )
            beat = client.request(request, 1)
            compare("consumer group", (beat.error_code, beat.member_epoch), (0, facts["consumer_epoch"]))
        for name, partitions in TOPICS.items():
            for partition in range(partitions):
                wanted = [f"{name} {number}" for number in range(RECORDS)]
                compare(f"records of {name}-{partition}", _records(client, name, partition), wanted)
        for group_id, offset in COMMITTED.items():
            topics = [OffsetFetchRequestTopic(name="orders", partition_indexes=[0])]
            answer = client.request(OffsetFetchRequest(group_id=group_id, topics=topics), 5).topics[0].partitions[0]
            compare(f"offset of {group_id}", (answer.error_code, answer.committed_offset), (0, offset))
        _commit(client, WITH_MEMBER, facts["member_id"], 1)
    with AuditTopic(bootstrap) as audit:
        kinds = {type(record.event).__name__ for record in audit.group_events(WITH_MEMBER)}
    compare("the audit has the first generation", "GenerationStable" in kinds, True)
    return found


def _records(client: WireClient, topic: str, partition: int) -> list[str]:
    (response,) = client.request(fetch_request(topic, partition=partition), 11).responses
    return [(record.value or b"").decode() for record in parse_records(response.partitions[0].records)]


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(fill(sys.argv[1])), encoding="utf-8")
