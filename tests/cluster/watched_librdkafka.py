"""A consumer of librdkafka as a process of its own, of either protocol. `slow`: with partitions it polls no more.

python -m tests.cluster.watched_librdkafka BOOTSTRAP GROUP CLIENT TOPIC classic|consumer [slow]
"""

import sys
import time

from confluent_kafka import Consumer

MAX_POLL_INTERVAL_MS = 10_000
SESSION_TIMEOUT_MS = 6_000


def main() -> None:
    bootstrap, group_id, client_id, topic, protocol = sys.argv[1:6]
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": group_id,
        "client.id": client_id,
        "group.protocol": protocol,
        "max.poll.interval.ms": MAX_POLL_INTERVAL_MS,
        "log_level": 3,
    }
    if protocol == "classic":
        settings |= {"session.timeout.ms": SESSION_TIMEOUT_MS, "heartbeat.interval.ms": 500}
    consumer = Consumer(settings)
    consumer.subscribe([topic], on_assign=lambda consumer, assigned: print("assigned", len(assigned), flush=True))
    until = time.monotonic() + 300
    while time.monotonic() < until:
        consumer.poll(0.2)
        if "slow" in sys.argv[6:] and consumer.assignment():
            time.sleep(2 * MAX_POLL_INTERVAL_MS / 1_000)


if __name__ == "__main__":
    main()
