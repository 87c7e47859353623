"""A stock kafka-python consumer that commits what it has read, poll by poll, and reports each step.

    python -m coordinator.demo.consumer --bootstrap HOST:PORT --topic orders --group demo --name consumer-1

Reports: `assigned` with the generation and partitions, whenever either changed; `read` with records of
[partition, offset, order], before they are committed; `committed` with the next offset per partition, once the group
has it; `closed` after a clean close.
"""

from typing import Any

import click
from kafka import KafkaConsumer, OffsetAndMetadata
from kafka.structs import MemberState

from coordinator.demo.reports import report, stop_when_stdin_closes

POLL_MS = 1000
"""Long enough for a whole rebalance: kafka-python loses an assignment that comes after its poll gave up."""


@click.command
@click.option("--bootstrap", required=True)
@click.option("--topic", required=True)
@click.option("--group", required=True)
@click.option("--name", required=True, help="client.id")
@click.option("--instance-id", help="group.instance.id: makes it a static member")
@click.option("--session-timeout-ms", type=int, required=True)
def main(bootstrap: str, topic: str, group: str, name: str, instance_id: str | None, session_timeout_ms: int) -> None:
    """Consume until stdin closes, then leave the group (a static member stays in it until its session ends)."""
    stopping = stop_when_stdin_closes()
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=group,
        group_instance_id=instance_id,
        client_id=name,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=session_timeout_ms,
        heartbeat_interval_ms=session_timeout_ms // 12,  # how soon a member learns of a rebalance
    )
    membership = None
    while not stopping.is_set():
        polled = consumer.poll(timeout_ms=POLL_MS)
        if (now := _membership(consumer)) is not None and now != membership:
            membership = now
            report("assigned", generation=now[0], partitions=now[1])
        if polled:
            _take(consumer, polled)
    consumer.close()
    report("closed")


def _membership(consumer: KafkaConsumer) -> tuple[int, list[int]] | None:
    """Generation and partitions, or None while there is no assignment to work on."""
    metadata = consumer.group_metadata()
    if metadata.state is not MemberState.STABLE:
        return None
    return metadata.generation_id, sorted(partition.partition for partition in consumer.assignment())


def _take(consumer: KafkaConsumer, polled: dict[Any, list[Any]]) -> None:
    """Report first, commit then: of a process that is killed in between, everything it has read is known."""
    report("read", records=[[r.partition, r.offset, int(r.value)] for records in polled.values() for r in records])
    next_offsets = {partition: records[-1].offset + 1 for partition, records in polled.items()}
    consumer.commit({partition: OffsetAndMetadata(offset, "", -1) for partition, offset in next_offsets.items()})
    report("committed", offsets=[[partition.partition, offset] for partition, offset in next_offsets.items()])


if __name__ == "__main__":
    main()
