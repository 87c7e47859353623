"""The driver of confluent-kafka (librdkafka)."""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "_python"))

import confluent_kafka
from confluent_kafka import Consumer, KafkaException
from contract import LOGINS, TLS, Member, librdkafka_security, run

CAN = {"pattern", "static", "subscribe", "max-poll", "range", "roundrobin", "cooperative-sticky", *TLS, *LOGINS}
TOKEN_SECONDS = 600
"""How long a token is taken for valid."""
CONSUMER_PROTOCOL_SINCE = 0x02040000
"""The version of librdkafka."""
TO_IGNORE = ("_PARTITION_EOF", "UNKNOWN_TOPIC_OR_PART", "_TRANSPORT", "_ALL_BROKERS_DOWN", "_RESOLVE")


def pairs(partitions):
    return [(partition.topic, partition.partition) for partition in partitions]


class ConfluentMember(Member):
    def open(self):
        options = self.options
        consumer_protocol = options.get("protocol") == "consumer"
        settings = {
            "bootstrap.servers": options["bootstrap"],
            "group.id": options["group"],
            "client.id": options.get("client_id") or self.name,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "max.poll.interval.ms": options.get("max_poll_interval_ms", 300_000),
            "topic.metadata.refresh.interval.ms": min(options.get("metadata_max_age_ms", 300_000), 300_000),
            "reconnect.backoff.ms": 20,
            "reconnect.backoff.max.ms": 200,
            "log_level": 3,  # errors, to stderr
        }
        if consumer_protocol:
            settings["group.protocol"] = "consumer"
            if options.get("server_assignor"):
                settings["group.remote.assignor"] = options["server_assignor"]
        else:
            settings["session.timeout.ms"] = options.get("session_timeout_ms", 10_000)
            settings["heartbeat.interval.ms"] = options.get("heartbeat_interval_ms", 500)
            settings["partition.assignment.strategy"] = ",".join(options.get("assignors", ["range"]))
        settings["max.poll.interval.ms"] = max(settings["max.poll.interval.ms"], settings.get("session.timeout.ms", 0))
        if options.get("instance_id"):
            settings["group.instance.id"] = options["instance_id"]
        security = options.get("security") or {}
        settings.update(librdkafka_security(security))
        if security.get("token"):
            settings["oauth_cb"] = lambda _: (security["token"], time.time() + TOKEN_SECONDS)
        self.consumer = Consumer(settings)
        self.read_up_to = {}
        self.subscribe(["^" + options["pattern"].lstrip("^")] if options.get("pattern") else options["topics"])

    def poll(self, seconds):
        first, last, count = {}, {}, 0
        for message in self.consumer.consume(500, seconds):
            error = message.error()
            if error is None:
                where = message.topic(), message.partition()
                first.setdefault(where, message.offset())
                last[where] = message.offset()
                count += 1
            elif error.fatal() or error.name() not in TO_IGNORE:
                raise KafkaException(error)
        self.read_up_to.update({where: offset + 1 for where, offset in last.items()})
        return [(*where, first[where], last[where]) for where in last], count

    def subscribe(self, topics):
        self.consumer.subscribe(
            topics,
            on_assign=lambda _, partitions: self.has_assigned(pairs(partitions)),
            on_revoke=lambda _, partitions: self.has_revoked(pairs(partitions)),
            on_lost=lambda _, partitions: self.has_lost(pairs(partitions)),
        )

    def commit(self):
        assignment = self.consumer.assignment()
        positions = [
            confluent_kafka.TopicPartition(tp.topic, tp.partition, self.read_up_to.get((tp.topic, tp.partition), 0))
            for tp in assignment
        ]
        self.consumer.commit(offsets=positions, asynchronous=False)
        return [((tp.topic, tp.partition), tp.offset) for tp in positions]

    def close(self, reason):
        self.consumer.close()

    def is_fatal(self, problem):
        return isinstance(problem, KafkaException) and (problem.args[0].fatal() or problem.args[0].name() == "_FATAL")


if confluent_kafka.libversion()[1] >= CONSUMER_PROTOCOL_SINCE:
    CAN.add("consumer-protocol")
run("confluent-kafka", confluent_kafka.__version__, CAN, ConfluentMember)
