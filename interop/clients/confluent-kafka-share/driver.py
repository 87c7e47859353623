"""The driver of confluent-kafka's share consumer (librdkafka)."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "_python"))

import confluent_kafka
from confluent_kafka import AcknowledgeType, KafkaException, ShareConsumer
from contract import Member, emit, run

TYPES = {"accept": AcknowledgeType.ACCEPT, "release": AcknowledgeType.RELEASE, "reject": AcknowledgeType.REJECT}


class ShareMember(Member):
    def open(self):
        options = self.options
        self.is_explicit = options.get("acknowledgement") == "explicit"
        self.held = set()
        self.consumer = ShareConsumer(
            {
                "bootstrap.servers": options["bootstrap"],
                "group.id": options["group"],
                "client.id": options.get("client_id") or self.name,
                "share.acknowledgement.mode": "explicit" if self.is_explicit else "implicit",
                "max.poll.records": options.get("max_records", 500),
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 200,
                "log_level": 3,  # errors, to stderr
            }
        )
        self.consumer.set_acknowledgement_commit_callback(
            lambda offsets, problem: self._acknowledged("async", dict.fromkeys(offsets, problem))
        )
        self.subscribe(options["topics"])

    def poll(self, seconds):
        if self.held:
            self.idle(0.01)
            return [], 0
        delivered = []
        for message in self.consumer.poll(seconds):
            if message.error() is not None:
                raise KafkaException(message.error())
            place = message.topic(), message.partition(), message.offset()
            delivered.append((*place, message.delivery_count()))
            if self.is_explicit:
                self.held.add(place)
        if delivered:
            emit("delivered", member=self.name, records=delivered)
        return [], 0

    def acknowledge(self, command):
        for topic, partition, offset in command["records"]:
            self.consumer.acknowledge_offset(topic, partition, offset, TYPES[command["type"]])
            self.held.discard((topic, partition, offset))
        if command["how"] == "sync":
            self._acknowledged("sync", self.consumer.commit_sync())
        elif command["how"] == "async":
            self.consumer.commit_async()

    def _acknowledged(self, how, results):
        told = {}
        for where, problem in results.items():
            told.setdefault(where.topic, {})[str(where.partition)] = problem.args[0].name() if problem else ""
        emit("acknowledged", member=self.name, how=how, results=told)

    def subscribe(self, topics):
        self.consumer.subscribe(topics)

    def close(self, reason):
        self.consumer.close()


run("confluent-kafka", confluent_kafka.__version__, {"share-protocol"}, ShareMember, {"commit", "commit-answer"})
