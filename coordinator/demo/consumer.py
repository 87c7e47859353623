"""A stock kafka-python consumer that commits after each poll and reports each step.

    python -m coordinator.demo.consumer --bootstrap HOST:PORT --topic orders --group demo --name consumer-1

Reports: `assigned` with the generation and the partitions, when either has changed; `read` with records of
[partition, offset, order], before they are committed; `committed` with the next offset per partition, after the commit;
`closed` after a clean close.
"""

from typing import Any

import click
from kafka import KafkaConsumer, OffsetAndMetadata
from kafka.structs import MemberState

from coordinator.demo.reports import report, stop_when_stdin_closes

POLL_MS = 1000
"""Longer than a rebalance: kafka-python loses an assignment that arrives after its poll has timed out."""


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
            _process(consumer, polled)
    consumer.close()
    report("closed")


def _membership(consumer: KafkaConsumer) -> tuple[int, list[int]] | None:
    """Return the generation and the assigned partitions; None while there is no assignment."""
    metadata = consumer.group_metadata()
    if metadata.state is not MemberState.STABLE:
        return None
    return metadata.generation_id, sorted(partition.partition for partition in consumer.assignment())


def _process(consumer: KafkaConsumer, polled: dict[Any, list[Any]]) -> None:
    """Report the records, then commit them: if the process is killed in between, its reads are still known."""
    report("read", records=[[r.partition, r.offset, int(r.value)] for records in polled.values() for r in records])
    next_offsets = {partition: records[-1].offset + 1 for partition, records in polled.items()}
    consumer.commit({partition: OffsetAndMetadata(offset, "", -1) for partition, offset in next_offsets.items()})
    report("committed", offsets=[[partition.partition, offset] for partition, offset in next_offsets.items()])


if __name__ == "__main__":
    main()
