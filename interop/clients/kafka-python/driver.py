"""The driver of kafka-python (3.x and 2.x)."""

import importlib
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "_python"))

import kafka
from contract import LOGINS, TLS, Member, run
from kafka import ConsumerRebalanceListener, KafkaConsumer

POLL_MS = 1000
"""Longer than a rebalance takes: 3.0.12 loses an assignment that comes after its poll has given up."""

CAN = {"pattern", "subscribe", "max-poll", "range", "roundrobin"}


def token_provider():
    """The base class of token providers, which has changed its place."""
    for place in ("kafka.net.sasl.oauth", "kafka.sasl.oauth", "kafka.oauth.abstract"):
        try:
            return importlib.import_module(place).AbstractTokenProvider
        except ImportError:
            continue
    raise ImportError("this version has no AbstractTokenProvider")


def assignors():
    """The assignors that this version has, by Kafka's names."""
    from kafka.coordinator.assignors.range import RangePartitionAssignor
    from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

    found = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}
    try:
        from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

        found["sticky"] = StickyPartitionAssignor
    except ImportError:
        pass
    try:
        from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor

        found["cooperative-sticky"] = CooperativeStickyAssignor
    except ImportError:
        pass
    return found


def security_settings(security):
    """The settings for the field `security` of a command."""
    settings = {
        "security_protocol": security["protocol"],
        "ssl_cafile": security["ca"],
        "ssl_certfile": security.get("certificate"),
        "ssl_keyfile": security.get("key"),
        "sasl_mechanism": security.get("mechanism"),
        "sasl_plain_username": security.get("username"),
        "sasl_plain_password": security.get("password"),
    }
    if security.get("token"):
        settings["sasl_oauth_token_provider"] = TokenProvider(security["token"])
    return {name: value for name, value in settings.items() if value}


class TokenProvider(token_provider()):
    """The token that the command has."""

    def __init__(self, token, **config):
        super().__init__(**config)
        self._token = token

    def token(self):
        return self._token


class Listener(ConsumerRebalanceListener):
    def __init__(self, member):
        self.member = member

    def on_partitions_assigned(self, assigned):
        self.member.has_assigned((each.topic, each.partition) for each in assigned)

    def on_partitions_revoked(self, revoked):
        self.member.has_revoked((each.topic, each.partition) for each in revoked)

    def on_partitions_lost(self, lost):
        self.member.has_lost((each.topic, each.partition) for each in lost)


class KafkaPythonMember(Member):
    def open(self):
        options = self.options
        known = assignors()
        settings = {
            "bootstrap_servers": options["bootstrap"],
            "group_id": options["group"],
            "client_id": options.get("client_id") or self.name,
            "auto_offset_reset": "earliest",
            "enable_auto_commit": False,
            "session_timeout_ms": options.get("session_timeout_ms", 10_000),
            "heartbeat_interval_ms": options.get("heartbeat_interval_ms", 500),
            "max_poll_interval_ms": options.get("max_poll_interval_ms", 300_000),
            "metadata_max_age_ms": options.get("metadata_max_age_ms", 300_000),
            "partition_assignment_strategy": [known[name] for name in options.get("assignors", ["range"])],
            "retry_backoff_ms": 50,
            "reconnect_backoff_ms": 20,
            "reconnect_backoff_max_ms": 200,
        }
        if options.get("instance_id"):
            settings["group_instance_id"] = options["instance_id"]
        if options.get("security"):
            settings.update(security_settings(options["security"]))
        self.consumer = KafkaConsumer(**settings)
        if options.get("pattern"):
            self.consumer.subscribe(pattern=re.compile(options["pattern"]).pattern, listener=Listener(self))
        else:
            self.subscribe(options["topics"])

    def poll(self, seconds):
        found = self.consumer.poll(timeout_ms=POLL_MS)
        runs = [(tp.topic, tp.partition, each[0].offset, each[-1].offset) for tp, each in found.items() if each]
        return runs, sum(map(len, found.values()))

    def subscribe(self, topics):
        self.consumer.subscribe(topics, listener=Listener(self))

    def commit(self):
        self.consumer.commit()
        return [((tp.topic, tp.partition), self.consumer.position(tp)) for tp in self.consumer.assignment()]

    def close(self, reason):
        self.consumer.close()

    def is_fatal(self, problem):
        return type(problem).__name__ == "FencedInstanceIdError"


STATIC = {"static"} if "group_instance_id" in KafkaConsumer.DEFAULT_CONFIG else set()
run("kafka-python", kafka.__version__, CAN | TLS | LOGINS | STATIC | assignors().keys(), KafkaPythonMember)
