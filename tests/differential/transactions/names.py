"""Words of histories with transactions: transactional ids, groups, topics, producer ids, batches of records.

A text that begins with `~` is a name of the history's own. A producer id is `p1` for the first one that the server
handed out to the history, `p2` for the next. Batches are written as their fields (see `TransactionNames._batch`).
"""

import time
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.notation import Definition, Field
from _wire.records import BatchHeader, batch_headers, build_batch, parse_batch
from _wire.structs import Message
from coordinator.internal_topics import OFFSETS_TOPIC
from tests.differential.names import Names

OWN: Final = "~"
LEFT_OUT: Final = frozenset({"leader_epoch", "session_id", "log_append_time_ms"})
"""Leader epochs count elections: a Kafka that is started again holds one, our server none."""
TIMES: Final = frozenset({"transaction_start_time_ms", "last_timestamp", "timestamp"})
HANDS_OUT: Final = frozenset({"InitProducerId", "EndTxn"})
LISTED: Final = {"ListTransactions": ("transaction_states", "transactional_id"), "ListGroups": ("groups", "group_id")}
"""API → the field of its response with what all histories of a server have, and the name of one."""
VERIFIED: Final = frozenset({"Produce", "TxnOffsetCommit"})
"""The APIs that report TRANSACTION_ABORTABLE or, to clients that do not know it, INVALID_TXN_STATE. Kafka mixes them up
when it asks about the transactions of an older and a newer client in one request (`AddPartitionsToTxnManager` has one
version for each), so they count as the same."""
NOT_HANDED_OUT: Final = 1 << 40


class TransactionNames(Names):
    """What names of a history stand for on one server."""

    def __init__(self, prefix: str, port: int) -> None:
        super().__init__(prefix, {}, port)
        self._producer_ids: list[int] = []

    def add_topic(self, name: str, topic_id: bytes) -> None:
        self._topic_ids[name] = topic_id
        self._topic_names[topic_id] = name

    # ---- requests

    def _value(self, definition: Definition, field: Field, said: Any, version: int) -> Any:
        if field.type == "records":
            return None if said is None else b"".join(map(self._batch, said))
        if isinstance(said, str) and field.type == "int64":
            return self._producer_id(said)
        if isinstance(said, str) and field.type == "string":
            return self._prefix + said.removeprefix(OWN) if said.startswith(OWN) else self._real.get(said, said)
        return super()._value(definition, field, said, version)

    def _producer_id(self, said: str) -> int:
        """One that was not handed out on this server stands for none of them."""
        number = int(said.removeprefix("p"))
        return self._producer_ids[number - 1] if 0 < number <= len(self._producer_ids) else NOT_HANDED_OUT

    def _batch(self, said: dict[str, Any]) -> bytes:
        return build_batch(
            [(None, value.encode(), ()) for value in said["values"]],
            timestamp_ms=int(time.time() * 1000),
            producer_id=self._producer_id(said["producer_id"]) if said["producer_id"] else -1,
            producer_epoch=said["producer_epoch"],
            base_sequence=said["base_sequence"],
            is_transactional=said["is_transactional"],
        )

    # ---- answers

    def answer(self, api: str, version: int, message: Message) -> dict[str, Any]:
        if api in HANDS_OUT:
            self._learn(getattr(message, "producer_id", -1))
        if api in LISTED:
            name, key = LISTED[api]
            mine = [each for each in getattr(message, name) if getattr(each, key).startswith(self._prefix)]
            setattr(message, name, mine)
        return super().answer(api, version, message)

    def _render(self, definition: Definition, name: str, message: Any, version: int) -> dict[str, Any]:
        said = super()._render(definition, name, message, version)
        if name == "PartitionData" and message.aborted_transactions:
            said["aborted_transactions"] = self._needed(definition, message, version)
        if getattr(message, "topic", "") == OFFSETS_TOPIC:
            # Which they are, and whether groups share one, depends on the names of the groups, which differ each time.
            said["partitions"] = ["of a group"] if said["partitions"] else []
        if definition.name in VERIFIED and said.get("error_code") == ErrorCode.TRANSACTION_ABORTABLE:
            said["error_code"] = ErrorCode.INVALID_TXN_STATE.value
        return said

    def _needed(self, definition: Definition, partition: Any, version: int) -> list[dict[str, Any]]:
        """The aborted transactions with records below the last stable offset: no other records are in the response.

        Kafka also names some that follow, up to the next entry of the offset index.
        """
        needed = [
            aborted_transaction
            for aborted_transaction in partition.aborted_transactions
            if aborted_transaction.first_offset < partition.last_stable_offset
        ]
        return [self._render(definition, "AbortedTransaction", each, version) for each in needed]

    def _learn(self, producer_id: int) -> None:
        if producer_id >= 0 and producer_id not in self._producer_ids:
            self._producer_ids.append(producer_id)

    def _say(self, definition: Definition, field: Field, value: Any, version: int) -> Any:
        if field.name in LEFT_OUT or field.name == "error_message":
            return "left out"
        if field.name == "coordinator_epoch":
            return "an epoch" if value >= 0 else value
        if field.name in TIMES:
            return "a time" if value > 0 else value
        if field.name == "producer_id":
            return self._say_producer_id(value)
        if field.type == "records":
            return None if value is None else [self._say_batch(value, header) for header in batch_headers(value)]
        return super()._say(definition, field, value, version)

    def _say_producer_id(self, producer_id: int) -> str | int:
        known = producer_id in self._producer_ids
        return f"p{self._producer_ids.index(producer_id) + 1}" if known else producer_id

    def _say_text(self, text: str) -> str:
        said = super()._say_text(text)
        return f"{OWN}{said}" if text.startswith(self._prefix) else said

    def _say_batch(self, data: bytes, header: BatchHeader) -> dict[str, Any]:
        _, records = parse_batch(data, header.position)
        return {
            "offsets": [header.base_offset, header.last_offset],
            "producer_id": self._say_producer_id(header.producer_id),
            "producer_epoch": header.producer_epoch,
            "base_sequence": header.base_sequence,
            "is_transactional": header.is_transactional,
            # A marker's value is the epoch of its coordinator, which counts elections.
            "control": [(record.key or b"").hex() for record in records] if header.is_control else None,
            "values": None if header.is_control else [(record.value or b"").decode() for record in records],
        }
