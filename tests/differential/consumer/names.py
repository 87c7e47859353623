"""Words of histories of consumer groups: as those of transactions, and ids of members that the server has made."""

import re
from typing import Any, Final

from _wire.embedded import decode_versioned, encode_versioned
from _wire.errors import MalformedMessage
from _wire.messages import consumer_protocol_assignment, consumer_protocol_subscription
from _wire.notation import Definition, Field
from tests.differential.transactions.names import OWN, TransactionNames

MADE_ID: Final = re.compile("[A-Za-z0-9_-]{22}")
"""A UUID as Kafka writes it, for a member that names none (version 0 of ConsumerGroupHeartbeat)."""

ASSIGNMENTS: Final = frozenset({"assignment", "member_assignment"})
"""The fields with assignments of the protocol of consumers."""


class ConsumerNames(TransactionNames):
    """What names of a history stand for on one server."""

    @property
    def _stand_in(self) -> bytes:
        return OWN.encode() * len(self._prefix)

    def forget_topic(self, name: str) -> None:
        """The topic was deleted; its id stays known."""
        self._topic_ids.pop(name)

    def topic_ids(self) -> dict[str, bytes]:
        """Name → id of the topics that exist."""
        return {name: topic_id for name, topic_id in self._topic_ids.items() if name}

    def _value(self, definition: Definition, field: Field, said: Any, version: int) -> Any:
        if field.type == "bytes" and isinstance(said, dict):
            return self._subscription(said) if "subscription" in said else self._assignment(said)
        return super()._value(definition, field, said, version)

    def _subscription(self, said: dict[str, Any]) -> bytes:
        """`subscription` is the version."""
        owned = [
            consumer_protocol_subscription.TopicPartition(topic=self._name(topic), partitions=partitions)
            for topic, partitions in said["owned"].items()
        ]
        message = consumer_protocol_subscription.ConsumerProtocolSubscription(
            topics=[self._name(topic) for topic in said["topics"]], user_data=None, owned_partitions=owned
        )
        return encode_versioned(message, said["subscription"])

    def _assignment(self, said: dict[str, Any]) -> bytes:
        """`assignment` is the version."""
        assigned = [
            consumer_protocol_assignment.TopicPartition(topic=self._name(topic), partitions=partitions)
            for topic, partitions in said["partitions"].items()
        ]
        message = consumer_protocol_assignment.ConsumerProtocolAssignment(assigned_partitions=assigned, user_data=None)
        return encode_versioned(message, said["assignment"])

    def _name(self, topic: str) -> str:
        return self._prefix + topic.removeprefix(OWN)

    def _say(self, definition: Definition, field: Field, value: Any, version: int) -> Any:
        if field.name in ASSIGNMENTS and field.type == "bytes" and value:
            return self._say_assignment(value)
        if field.type == "bytes" and value:
            # The names of topics in a subscription, in as many bytes.
            return super()._say(definition, field, value.replace(self._prefix.encode(), self._stand_in), version)
        if field.name == "member_id" and isinstance(value, str) and MADE_ID.fullmatch(value):
            return self._say_made_id(value)
        return super()._say(definition, field, value, version)

    def _say_assignment(self, data: bytes) -> Any:
        """The topics come in the order of a hash map."""
        try:
            message = decode_versioned(consumer_protocol_assignment.ConsumerProtocolAssignment, data)
        except MalformedMessage:
            return f"0x{data.hex()}"
        assigned = {
            self._say_text(assigned_partition.topic): sorted(assigned_partition.partitions)
            for assigned_partition in message.assigned_partitions
        }
        return {"version": int.from_bytes(data[:2], "big"), "partitions": dict(sorted(assigned.items()))}

    def _say_made_id(self, member_id: str) -> str:
        if member_id not in self._said:
            said = f"made-{len(self._said) + 1}"
            self._said[member_id], self._real[said] = said, member_id
        return self._said[member_id]
