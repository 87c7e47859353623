"""Random histories of producers with transactions, what they should and should not send.

A client is either of the time before KIP-890 (it adds partitions before it writes to them) or of the time since (its
Produce and TxnOffsetCommit add them, its epoch rises with each transaction).
"""

import random
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from _wire.errors import ErrorCode
from tests.differential.stateful import Restart
from tests.differential.steps import Rest, Send
from tests.differential.transactions.side import GROUP, TOPICS, TRANSACTIONAL_IDS
from tests.differential.transactions.steps import TransactionStep

SHORT_MS: Final = 4_000
"""A transaction timeout that runs out in a Rest, and nowhere else."""
LONG_MS: Final = 600_000
MAX_MS: Final = 900_000
INT32_MAX: Final = (1 << 31) - 1
INT64_MAX: Final = (1 << 63) - 1
STATES: Final = ("Empty", "Ongoing", "CompleteCommit", "CompleteAbort", "PrepareCommit", "Dead", "ongoing", "nonsense")
NO_PRODUCER: Final = ""
LONG_METADATA: Final = 21

Body = dict[str, Any]
Partition = tuple[str, int]
PARTITIONS: Final[tuple[Partition, ...]] = tuple((name, n) for name, count in TOPICS.items() for n in range(count))


@dataclass
class Producer:
    """A client with a transactional id (None: it is idempotent only), as it sees itself."""

    name: str
    transactional_id: str | None
    raises_epoch: bool
    """Whether it is a client of KIP-890."""
    producer_id: str = NO_PRODUCER
    epoch: int = -1
    is_open: bool = False
    added: set[Partition] = field(default_factory=set)
    sequences: defaultdict[Partition, int] = field(default_factory=lambda: defaultdict(int))
    last: dict[Partition, Body] = field(default_factory=dict)
    ends: int = 0


class Generator:
    """A story for one seed: the same seed and the same answers give the same steps."""

    def __init__(self, seed: int, versions: Mapping[str, tuple[int, int]], *, restarts: bool) -> None:
        """`versions`: API → those that both sides serve. With `restarts`, the servers are restarted once."""
        self._random = random.Random(f"transactions {seed}")
        self._versions = versions
        self.hurries = self._chance(0.2)
        self._producers = self._new_producers()
        self._steps_left = self._random.randint(25, 60)
        self._has_restarts = restarts
        self._restart_at = self._random.randint(8, 20) if restarts else -1
        self._sent: dict[str, tuple[Send, Producer]] = {}
        self._member: Body = {"member_id": "", "generation_id": -1}
        self._members = ["nobody", ""]
        self._has_group = self._chance(0.6)
        self._values = 0
        self._producer_ids = [NO_PRODUCER, "p99"]

    def _new_producers(self) -> list[Producer]:
        """Two may have the same transactional id: they fence each other."""
        ids = self._pick(["~t1"], ["~t1", "~t1"], ["~t1", "~t2"], ["~t1", "~t1", "~t2"], ["~t1", None])
        return [Producer(name, id_, self._chance(0.6)) for name, id_ in zip("abc", ids, strict=False)]

    def next_step(self) -> TransactionStep | None:
        self._steps_left -= 1
        if self._steps_left < 0:
            return None
        if self._steps_left == 0:
            return self._send(self._producers[0], "Fetch", *self._fetch_all(1))
        if self._steps_left == self._restart_at:
            return self._restart()
        if self.hurries and self._chance(0.06):
            return Rest()
        producer = self._random.choice(self._producers)
        if (self._has_group and not self._member["member_id"]) or (
            self._member["generation_id"] < 0 and self._has_group
        ):
            return self._send(producer, "JoinGroup", *self._join())
        while True:
            moves = self._sensible(producer) if self._chance(0.68) else ODD
            move = self._random.choices(list(moves), list(moves.values()))[0]
            api, first, last, body = move(self, producer)
            if api in self._versions:
                return self._send(producer, api, first, last, body)

    def _restart(self) -> Restart:
        """Perhaps with a transaction that ends at that moment, so that its markers are written after the start."""
        producer = self._random.choice(self._producers)
        how = self._pick("kill", "kill", "stop")
        if producer.is_open and producer.transactional_id and self._chance(0.7):
            api, first, last, body = self._end(producer)
            return Restart(how, self._send(producer, api, first, last, body))
        return Restart(how, None)

    def _send(self, producer: Producer, api: str, first: int, last: int, body: Body) -> Send:
        lowest, highest = self._versions[api]
        lowest, highest = max(lowest, first), min(highest, last)
        version = self._random.randint(lowest, max(lowest, highest))
        step = Send(f"s{len(self._sent) + 1}", producer.name, api, version, body)
        self._sent[step.label] = step, producer
        return step

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def _pick(self, *values: Any) -> Any:
        return self._random.choice(values)

    # ---- what the clients learn

    def heard(self, step: Send, answer: Any) -> None:
        """The answer that both servers gave."""
        _, producer = self._sent[step.label]
        if not isinstance(answer, dict):
            return
        error = answer.get("error_code", 0)
        if step.api == "InitProducerId" and error == 0:
            self._initialized(producer, answer)
        elif step.api == "AddPartitionsToTxn" and step.version <= 3 and not _errors(answer):
            producer.is_open = True
            topics = step.body["v3_and_below_topics"]
            producer.added |= {(topic["name"], index) for topic in topics for index in topic["partitions"]}
        elif step.api in ("AddOffsetsToTxn", "TxnOffsetCommit") and not _errors(answer) and not error:
            producer.is_open = True
        elif step.api == "Produce" and not _errors(answer):
            self._produced(producer, step)
        elif step.api == "EndTxn" and error == 0:
            self._ended(producer, answer)
        elif step.api == "JoinGroup":
            self._joined(step, answer)
        elif error in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH) and self._chance(0.5):
            producer.producer_id, producer.epoch = NO_PRODUCER, -1

    def _initialized(self, producer: Producer, answer: Body) -> None:
        producer.producer_id, producer.epoch = answer["producer_id"], answer["producer_epoch"]
        if producer.producer_id not in self._producer_ids:
            self._producer_ids.append(producer.producer_id)
        self._begin_again(producer)

    def _begin_again(self, producer: Producer) -> None:
        producer.is_open = False
        producer.added.clear()
        producer.sequences.clear()
        producer.last.clear()

    def _produced(self, producer: Producer, step: Send) -> None:
        for topic in step.body["topic_data"]:
            for each in topic["partition_data"]:
                tp = (topic["name"], each["index"])
                (batch,) = each["records"]
                if batch["base_sequence"] == producer.sequences[tp]:
                    producer.sequences[tp] += len(batch["values"])
                producer.last[tp] = batch
                producer.added.add(tp)
                producer.is_open = producer.transactional_id is not None

    def _ended(self, producer: Producer, answer: Body) -> None:
        producer.is_open = False
        producer.added.clear()
        producer.ends += 1
        if "producer_epoch" in answer:
            producer.producer_id, producer.epoch = answer["producer_id"], answer["producer_epoch"]
            producer.sequences.clear()
            producer.last.clear()

    def _joined(self, step: Send, answer: Body) -> None:
        if answer["error_code"] in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
            self._member = {"member_id": answer["member_id"], "generation_id": answer["generation_id"]}
            if answer["member_id"] not in self._members:
                self._members.append(answer["member_id"])
        else:
            self._member = {"member_id": "", "generation_id": -1}

    # ---- what a client does next

    def _sensible(self, producer: Producer) -> "dict[Move, int]":
        if producer.producer_id == NO_PRODUCER:
            return {Generator._init: 1}
        if producer.transactional_id is None:
            return {Generator._produce: 5, Generator._produce_again: 1}
        moves: dict[Move, int] = {Generator._produce: 5, Generator._commit_offsets: 2, Generator._init_again: 1}
        if producer.is_open:
            moves |= {Generator._end: 3, Generator._produce_again: 1, Generator._read: 2}
        if not producer.raises_epoch:
            moves |= {Generator._add_partitions: 6 if not producer.added else 1, Generator._add_offsets: 2}
        return moves

    def _init(self, producer: Producer) -> "Asked":
        timeout_ms = self._pick(SHORT_MS, LONG_MS) if self.hurries else LONG_MS
        body = {"transactional_id": producer.transactional_id, "transaction_timeout_ms": timeout_ms}
        return "InitProducerId", 0, 5, body

    def _init_again(self, producer: Producer) -> "Asked":
        """KIP-360: the client names what it has, so that it gets the next epoch, and no other client does."""
        api, _, last, body = self._init(producer)
        return api, 3, last, body | {"producer_id": producer.producer_id or -1, "producer_epoch": producer.epoch}

    def _add_partitions(self, producer: Producer) -> "Asked":
        chosen = self._random.sample(PARTITIONS, self._pick(1, 1, 2, 3))
        body = {
            "v3_and_below_transactional_id": producer.transactional_id,
            "v3_and_below_producer_id": producer.producer_id or -1,
            "v3_and_below_producer_epoch": producer.epoch,
            "v3_and_below_topics": _by_topic(chosen),
        }
        return "AddPartitionsToTxn", 0, 3, body

    def _add_offsets(self, producer: Producer) -> "Asked":
        return "AddOffsetsToTxn", 0, 3, self._as_producer(producer) | {"group_id": GROUP}

    def _as_producer(self, producer: Producer) -> Body:
        return {
            "transactional_id": producer.transactional_id or "",
            "producer_id": producer.producer_id or -1,
            "producer_epoch": producer.epoch,
        }

    def _batch(self, producer: Producer, tp: Partition) -> Body:
        self._values += 1
        count = self._pick(1, 1, 3)
        return {
            "producer_id": producer.producer_id,
            "producer_epoch": producer.epoch,
            "base_sequence": producer.sequences[tp],
            "is_transactional": producer.transactional_id is not None,
            "values": [f"{producer.name}{self._values}.{n}" for n in range(count)],
        }

    def _produce(self, producer: Producer) -> "Asked":
        known = sorted(producer.added)
        may_write = known if known and not producer.raises_epoch else list(PARTITIONS)
        chosen = self._random.sample(may_write, min(len(may_write), self._pick(1, 1, 1, 2)))
        return self._produce_to(producer, {tp: self._batch(producer, tp) for tp in chosen})

    def _produce_again(self, producer: Producer) -> "Asked":
        if not producer.last:
            return self._produce(producer)
        tp = self._pick(*sorted(producer.last))
        return self._produce_to(producer, {tp: producer.last[tp]})

    def _produce_to(self, producer: Producer, batches: dict[Partition, Body]) -> "Asked":
        by_topic: dict[str, list[Body]] = {}
        for (name, index), batch in batches.items():
            by_topic.setdefault(name, []).append({"index": index, "records": [batch]})
        topics = [{"name": name, "topic_id": name, "partition_data": data} for name, data in by_topic.items()]
        body = {"transactional_id": producer.transactional_id, "acks": -1, "timeout_ms": 10_000, "topic_data": topics}
        return ("Produce", 12, 13, body) if producer.raises_epoch else ("Produce", 3, 11, body)

    def _commit_offsets(self, producer: Producer) -> "Asked":
        member = self._member if self._has_group and self._chance(0.7) else {"member_id": "", "generation_id": -1}
        body = self._as_producer(producer) | member | {"group_id": GROUP, "topics": self._positions()}
        return ("TxnOffsetCommit", 5, 5, body) if producer.raises_epoch else ("TxnOffsetCommit", 0, 4, body)

    def _positions(self) -> list[Body]:
        topics = []
        for name in self._random.sample(sorted(TOPICS), self._pick(1, 1, 2)):
            indexes = self._random.sample(range(TOPICS[name]), self._random.randint(1, TOPICS[name]))
            partitions = [
                {
                    "partition_index": index,
                    "committed_offset": self._pick(0, 7, self._random.randrange(1 << 40)),
                    "committed_leader_epoch": self._pick(-1, 0, 3),
                    "committed_metadata": self._pick(None, "", "at work"),
                }
                for index in indexes
            ]
            topics.append({"name": name, "partitions": partitions})
        return topics

    def _end(self, producer: Producer) -> "Asked":
        body = self._as_producer(producer) | {"committed": self._chance(0.6)}
        return ("EndTxn", 5, 5, body) if producer.raises_epoch else ("EndTxn", 0, 4, body)

    def _join(self) -> tuple[int, int, Body]:
        body = {
            "group_id": GROUP,
            "session_timeout_ms": LONG_MS,
            "rebalance_timeout_ms": LONG_MS,
            "member_id": self._member["member_id"],
            "protocol_type": "consumer",
            "protocols": [{"name": "a", "metadata": "0x"}],
        }
        return 4, 9, body

    def _fetch_all(self, isolation_level: int) -> tuple[int, int, Body]:
        partitions = {tp: 0 for tp in PARTITIONS}
        return 4, 18, self._fetch_body(partitions, isolation_level)

    def _fetch_body(self, partitions: dict[Partition, int], isolation_level: int) -> Body:
        by_topic: dict[str, list[Body]] = {}
        for (name, index), offset in sorted(partitions.items()):
            asked = {"partition": index, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
            by_topic.setdefault(name, []).append(asked)
        topics = [{"topic": name, "topic_id": name, "partitions": asked} for name, asked in by_topic.items()]
        return {
            "replica_id": -1,
            "max_wait_ms": 0,
            "min_bytes": 0,
            "max_bytes": 1 << 24,
            "isolation_level": isolation_level,
            "topics": topics,
            "rack_id": "",
        }

    def _read(self, producer: Producer) -> "Asked":
        chosen = self._random.sample(PARTITIONS, self._pick(1, 2, 3))
        offsets = {tp: self._pick(0, 0, 0, 1, 2, 5, 1000, -1) for tp in chosen}
        return "Fetch", 4, 18, self._fetch_body(offsets, self._pick(0, 1, 1, 1))

    # ---- what a client should not do, and what administrators do

    def _strange_init(self, producer: Producer) -> "Asked":
        api, _, last, body = self._init(producer)
        change = self._pick(
            {"transactional_id": ""},
            {"transactional_id": None},
            {"transactional_id": self._pick(*TRANSACTIONAL_IDS, "~t3")},
            {"transaction_timeout_ms": self._pick(0, -1, MAX_MS, MAX_MS + 1, INT32_MAX, -INT32_MAX)},
            {"producer_id": self._pick(*self._producer_ids) or -1, "producer_epoch": self._pick(-1, 0, 1, 2)},
            {"producer_id": producer.producer_id or -1, "producer_epoch": producer.epoch + self._pick(-2, -1, 1)},
            {"producer_id": self._pick(-1, -2, 0), "producer_epoch": self._pick(-2, 0, producer.epoch, 32767)},
        )
        return api, self._pick(0, 3, 4), last, body | change

    def _strange_producer(self, producer: Producer) -> Body:
        change: Body = self._pick(
            {"producer_epoch": producer.epoch + self._pick(-2, -1, 1)},
            {"producer_epoch": self._pick(-1, 0, 32767)},
            {"producer_id": self._pick(*self._producer_ids) or -1},
            {"transactional_id": self._pick("", "~t2", "~t3")},
            {},
        )
        return self._as_producer(producer) | change

    def _strange_add_partitions(self, producer: Producer) -> "Asked":
        asked = self._strange_producer(producer)
        topics = _by_topic(self._random.sample(PARTITIONS, 2))
        missing: tuple[list[Body], ...] = (
            [],
            [],
            [],
            [{"name": "~unheard-of", "partitions": [0]}],
            [{"name": "~gone", "partitions": [7, -1]}],
        )
        topics += self._pick(*missing)
        if self._chance(0.1):
            topics[0]["partitions"].append(self._pick(7, -1))
        if self._chance(0.4):
            one = asked | {"verify_only": self._chance(0.5), "topics": topics}
            return "AddPartitionsToTxn", 4, 5, {"transactions": [one]}
        body = {f"v3_and_below_{name}": said for name, said in asked.items()} | {"v3_and_below_topics": topics}
        return "AddPartitionsToTxn", 0, 3, body

    def _strange_add_offsets(self, producer: Producer) -> "Asked":
        return "AddOffsetsToTxn", 0, 4, self._strange_producer(producer) | {"group_id": self._pick(GROUP, "~h", "")}

    def _strange_produce(self, producer: Producer) -> "Asked":
        tp = self._pick(*PARTITIONS)
        batch = self._batch(producer, tp)
        batch |= self._pick(
            {"producer_epoch": max(producer.epoch + self._pick(-1, 1), -1)},
            {"base_sequence": self._pick(0, 1, producer.sequences[tp] + 2, INT32_MAX)},
            {"producer_id": self._pick(*self._producer_ids)},
            {"is_transactional": not batch["is_transactional"]},
            {"producer_id": NO_PRODUCER, "producer_epoch": -1, "base_sequence": -1, "is_transactional": False},
            {"base_sequence": -1},
            {},
        )
        api, first, last, body = self._produce_to(producer, {tp: batch})
        body |= self._pick(
            {}, {}, {"transactional_id": self._pick(None, "", "~t1", "~t2", "~t3")}, {"acks": self._pick(1, 2, -2)}
        )
        if self._chance(0.2):
            body["topic_data"][0]["partition_data"][0]["index"] = self._pick(-1, 9)
        return api, self._pick(first, 3), self._pick(last, 13), body

    def _strange_commit(self, producer: Producer) -> "Asked":
        _, first, last, body = self._commit_offsets(producer)
        # Kafka knows producers in `__consumer_offsets`, too, and reports an old epoch before a wrong id: not so here.
        body |= self._pick(
            {"producer_epoch": producer.epoch + self._pick(-2, -1, 1)},
            {"member_id": self._pick(*self._members), "generation_id": self._pick(-1, 0, 1, 2, 99)},
            {"group_id": self._pick("", "~h")},
            {"topics": [{"name": "~unheard-of", "partitions": [{"partition_index": 0, "committed_offset": 1}]}]},
            {"group_instance_id": "i1"},
            {"topics": []},
        )
        if body["topics"] and self._chance(0.2):
            body["topics"][0]["partitions"][0]["committed_metadata"] = "x" * LONG_METADATA
        return "TxnOffsetCommit", self._pick(first, 3), self._pick(last, 5), body

    def _strange_end(self, producer: Producer) -> "Asked":
        return "EndTxn", 0, 5, self._strange_producer(producer) | {"committed": self._chance(0.5)}

    def _write_markers(self, producer: Producer) -> "Asked":
        """As `kafka-transactions.sh --abort` does. After a restart the servers have other coordinator epochs."""
        if self._has_restarts:
            return self._list(producer)
        marker = {
            "producer_id": self._pick(producer.producer_id or -1, -1),
            # After one of a later epoch Kafka's coordinator gives up its own marker, and the transaction never ends.
            "producer_epoch": max(producer.epoch + self._pick(0, 0, 0, -1), -1),
            "transaction_result": self._chance(0.3),
            "coordinator_epoch": self._pick(0, 0, -1),
            "transaction_version": self._pick(0, 2),
            "topics": [
                {"name": each["name"], "partition_indexes": each["partitions"]}
                for each in _by_topic(self._random.sample(PARTITIONS, self._pick(1, 1, 2)))
            ],
        }
        return "WriteTxnMarkers", 1, 2, {"markers": [marker]}

    def _list(self, producer: Producer) -> "Asked":
        body = {
            "state_filters": self._random.sample(STATES, self._pick(0, 0, 1, 2)),
            "producer_id_filters": self._random.sample(self._producer_ids[1:], self._pick(0, 0, 1)),
            "duration_filter": self._pick(-1, -1, -2, 600_000, INT64_MAX),
            "transactional_id_pattern": self._pick(None, None, "", "~t1", "~t.*", "~.1", "(", "~[t]2$"),
        }
        return "ListTransactions", 0, 2, body

    def _describe(self, producer: Producer) -> "Asked":
        return (
            "DescribeTransactions",
            0,
            0,
            {"transactional_ids": self._pick(["~t3"], ["~t1", "~t1"], [""], [], ["~t2", ""])},
        )

    def _producers_of(self, producer: Producer) -> "Asked":
        indexes = self._pick([0], [7], [-1], [], [0, 0])
        return (
            "DescribeProducers",
            0,
            0,
            {"topics": [{"name": self._pick("~orders", "~unheard-of"), "partition_indexes": indexes}]},
        )

    def _offsets(self, producer: Producer) -> "Asked":
        timestamps = self._random.sample((-1, -2, -3, 0, INT64_MAX), 2)
        partitions = [{"partition_index": n, "timestamp": at} for n, at in enumerate(timestamps)]
        body = {
            "replica_id": -1,
            "isolation_level": self._pick(0, 1),
            "topics": [{"name": "~orders", "partitions": partitions}],
        }
        return "ListOffsets", 2, 11, body

    def _find(self, producer: Producer) -> "Asked":
        keys = self._pick(["~t1"], ["~t1", "~t3"], [""], [])
        return (
            "FindCoordinator",
            1,
            6,
            {"key": self._pick("~t1", ""), "coordinator_keys": keys, "key_type": self._pick(1, 1, 1, 0, 3)},
        )

    def _join_again(self, producer: Producer) -> "Asked":
        return "JoinGroup", *self._join()

    def _leave(self, producer: Producer) -> "Asked":
        member = {"member_id": self._pick(*self._members)}
        return "LeaveGroup", 0, 5, {"group_id": GROUP, "members": [member]} | member

    def _plain_commit(self, producer: Producer) -> "Asked":
        body = {"group_id": GROUP, "member_id": "", "generation_id_or_member_epoch": -1}
        topics = [topic | {"topic_id": topic["name"]} for topic in self._positions()]
        return "OffsetCommit", 2, 10, body | {"topics": topics}

    def _delete_offsets(self, producer: Producer) -> "Asked":
        return (
            "OffsetDelete",
            0,
            0,
            {"group_id": GROUP, "topics": [{"name": "~orders", "partitions": [{"partition_index": 0}]}]},
        )

    def _delete_group(self, producer: Producer) -> "Asked":
        return "DeleteGroups", 0, 2, {"groups_names": [GROUP]}


def _by_topic(partitions: list[Partition]) -> list[Body]:
    indexes: dict[str, list[int]] = {}
    for name, index in partitions:
        indexes.setdefault(name, []).append(index)
    return [{"name": name, "partitions": found} for name, found in indexes.items()]


def _errors(answer: Any) -> bool:
    """Whether there is an error in any partition."""
    if isinstance(answer, list):
        return any(map(_errors, answer))
    if isinstance(answer, dict):
        return any(said if name.endswith("error_code") else _errors(said) for name, said in answer.items())
    return False


Asked = tuple[str, int, int, Body]
"""API, the lowest and the highest version, request."""
Move = Callable[[Generator, Producer], Asked]

ODD: Final[dict[Move, int]] = {
    Generator._strange_init: 4,
    Generator._strange_add_partitions: 3,
    Generator._strange_add_offsets: 2,
    Generator._strange_produce: 6,
    Generator._strange_commit: 4,
    Generator._strange_end: 5,
    Generator._init: 2,
    Generator._init_again: 1,
    Generator._end: 2,
    Generator._write_markers: 1,
    Generator._list: 2,
    Generator._describe: 1,
    Generator._producers_of: 1,
    Generator._offsets: 2,
    Generator._read: 2,
    Generator._find: 1,
    Generator._join_again: 1,
    Generator._leave: 1,
    Generator._plain_commit: 1,
    Generator._delete_offsets: 1,
    Generator._delete_group: 1,
}
