"""The driver of aiokafka. Each member has an event loop of its own, which also runs while the member does not poll."""

import asyncio
import inspect
import os
import ssl
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "_python"))

import aiokafka
from aiokafka import AIOKafkaConsumer
from aiokafka.abc import AbstractTokenProvider, ConsumerRebalanceListener
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from contract import LOGINS, TLS, Member, run

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}


class TokenProvider(AbstractTokenProvider):
    """The token that the command has."""

    def __init__(self, token):
        self._token = token

    async def token(self):
        return self._token


def security_settings(security):
    """The settings for the field `security` of a command."""
    context = ssl.create_default_context(cafile=security["ca"])
    if security.get("certificate"):
        context.load_cert_chain(security["certificate"], security["key"])
    settings = {"security_protocol": security["protocol"], "ssl_context": context}
    if security.get("mechanism"):
        settings["sasl_mechanism"] = security["mechanism"]
        settings["sasl_plain_username"] = security.get("username")
        settings["sasl_plain_password"] = security.get("password")
    if security.get("token"):
        settings["sasl_oauth_token_provider"] = TokenProvider(security["token"])
    return settings


class Listener(ConsumerRebalanceListener):
    def __init__(self, member):
        self.member = member

    async def on_partitions_assigned(self, assigned):
        self.member.has_assigned((each.topic, each.partition) for each in assigned)

    async def on_partitions_revoked(self, revoked):
        self.member.has_revoked((each.topic, each.partition) for each in revoked)


class AiokafkaMember(Member):
    def open(self):
        options = self.options
        self.loop = asyncio.new_event_loop()

        async def start():
            self.consumer = AIOKafkaConsumer(
                bootstrap_servers=options["bootstrap"],
                group_id=options["group"],
                client_id=options.get("client_id") or self.name,
                auto_offset_reset="earliest",
                enable_auto_commit=False,
                session_timeout_ms=options.get("session_timeout_ms", 10_000),
                heartbeat_interval_ms=options.get("heartbeat_interval_ms", 500),
                max_poll_interval_ms=options.get("max_poll_interval_ms", 300_000),
                metadata_max_age_ms=options.get("metadata_max_age_ms", 300_000),
                partition_assignment_strategy=[ASSIGNORS[name] for name in options.get("assignors", ["range"])],
                retry_backoff_ms=50,
                **({"group_instance_id": options["instance_id"]} if options.get("instance_id") else {}),
                **(security_settings(options["security"]) if options.get("security") else {}),
            )
            if options.get("pattern"):
                self.consumer.subscribe(pattern=options["pattern"], listener=Listener(self))
            else:
                self.consumer.subscribe(options["topics"], listener=Listener(self))
            await self.consumer.start()

        self.loop.run_until_complete(start())

    def poll(self, seconds):
        found = self.loop.run_until_complete(self.consumer.getmany(timeout_ms=int(seconds * 1000)))
        runs = [(tp.topic, tp.partition, each[0].offset, each[-1].offset) for tp, each in found.items() if each]
        return runs, sum(map(len, found.values()))

    def idle(self, seconds):
        self.loop.run_until_complete(asyncio.sleep(seconds))

    def subscribe(self, topics):
        async def subscribe():
            self.consumer.subscribe(topics, listener=Listener(self))

        self.loop.run_until_complete(subscribe())

    def commit(self):
        async def commit():
            await self.consumer.commit()
            return [((tp.topic, tp.partition), await self.consumer.position(tp)) for tp in self.consumer.assignment()]

        return self.loop.run_until_complete(commit())

    def close(self, reason):
        self.loop.run_until_complete(self.consumer.stop())
        self.loop.close()

    def is_fatal(self, problem):
        return type(problem).__name__ == "FencedInstanceIdError"


CAN = {"pattern", "subscribe", "max-poll", *TLS, *LOGINS, *ASSIGNORS}
if "group_instance_id" in inspect.signature(AIOKafkaConsumer.__init__).parameters:
    CAN.add("static")
run("aiokafka", aiokafka.__version__, CAN, AiokafkaMember)
