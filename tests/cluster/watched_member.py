"""A consumer as a process of its own, which a test kills or suspends. Prints a line when it has its partitions."""

import sys
import time

from kafka import KafkaConsumer
from kafka.consumer.subscription_state import ConsumerRebalanceListener


class Printed(ConsumerRebalanceListener):
    def on_partitions_revoked(self, revoked):
        print("revoked", len(revoked), flush=True)

    def on_partitions_assigned(self, assigned):
        print("assigned", len(assigned), flush=True)


def main() -> None:
    bootstrap, group_id, client_id, topic = sys.argv[1:5]
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=group_id,
        client_id=client_id,
        session_timeout_ms=6_000,
        heartbeat_interval_ms=500,
        max_poll_interval_ms=20_000,
    )
    consumer.subscribe([topic], listener=Printed())
    until = time.monotonic() + 300
    while time.monotonic() < until:
        consumer.poll(timeout_ms=200)
        if "close" in sys.argv[5:] and consumer.assignment():
            consumer.close()
            return


if __name__ == "__main__":
    main()
