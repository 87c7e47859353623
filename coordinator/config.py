"""The settings: name (Kafka's), type, default, bounds and documentation.

Each setting is declared here once. Parsing, validation and docs/configuration.md are derived from the declarations.
"""

import difflib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")
N = TypeVar("N", int, float)

INT16_MAX: Final = 2**15 - 1
INT32_MAX: Final = 2**31 - 1
INT64_MAX: Final = 2**63 - 1

SEGMENT_BYTES_MIN: Final = 1024 * 1024
"""The lower bound of a topic's `segment.bytes`.

Kafka accepts a smaller `offsets.topic.segment.bytes`, but then fails to create the topic.
"""
PARTITIONS_MAX: Final = 10_000
"""The most partitions of one topic: Kafka's controller rejects a request for more (POLICY_VIOLATION)."""


class ConfigError(ValueError):
    """A setting is invalid. The message is one line: the setting, the problem, and what is allowed."""


@dataclass(frozen=True, eq=False, slots=True)
class ConfigKey(Generic[T]):
    """One setting. `at_least` and `at_most` are inclusive bounds of a number; `one_of` lists the allowed words."""

    name: str
    default: T
    doc: str
    at_least: float | None = None
    at_most: float | None = None
    one_of: tuple[str, ...] = ()

    @property
    def type_name(self) -> str:
        return {bool: "boolean", int: "int", float: "double", str: "string"}[type(self.default)]

    def format(self, value: T) -> str:
        """A value as in a properties file."""
        return str(value).lower() if isinstance(value, bool) else str(value)

    def parse(self, text: str) -> T:
        """Parse and validate a value.

        Raises:
            ConfigError: the value is not of the setting's type, or not allowed.
        """
        value: Any = text.strip()
        if isinstance(self.default, bool):
            if value.lower() not in ("true", "false"):
                raise ConfigError(f"{self.name}={text}: expected true or false")
            value = value.lower() == "true"
        elif isinstance(self.default, int):
            value = self._parse_int(value)
        elif isinstance(self.default, float):
            value = self._parse_float(value)
        elif self.one_of and value not in self.one_of:
            raise ConfigError(f"{self.name}={text}: expected one of {', '.join(self.one_of)}")
        return value  # type: ignore[no-any-return]

    def _parse_int(self, text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise ConfigError(f"{self.name}={text}: expected a whole number") from None
        return self._within_bounds(value, text)

    def _parse_float(self, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise ConfigError(f"{self.name}={text}: expected a number") from None
        if not math.isfinite(value):
            raise ConfigError(f"{self.name}={text}: expected a number")
        return self._within_bounds(value, text)

    def _within_bounds(self, value: N, text: str) -> N:
        if self.at_least is not None and value < self.at_least:
            raise ConfigError(f"{self.name}={text}: must be at least {self.at_least}")
        if self.at_most is not None and value > self.at_most:
            raise ConfigError(f"{self.name}={text}: must be at most {self.at_most}")
        return value


NODE_ID = ConfigKey("node.id", 1, "The id of this node, as clients see it in Metadata responses.", 0, INT32_MAX)
LISTENERS = ConfigKey(
    "listeners",
    "PLAINTEXT://127.0.0.1:9092",
    "The addresses to listen on: a comma-separated list of NAME://HOST:PORT. Port 0 binds a free port.",
)
ADVERTISED_LISTENERS = ConfigKey(
    "advertised.listeners",
    "",
    "The address of each listener that is returned to clients, in the form of `listeners`. "
    "If empty, the bound addresses are returned.",
)
LOG_DIRS = ConfigKey(
    "log.dirs",
    "./coordinator-data",
    "The directories in which the logs are stored: a comma-separated list. A new partition goes to the one "
    "that has the fewest. The first one has the metadata log, unless `metadata.log.dir` is given.",
)
METADATA_LOG_DIR = ConfigKey(
    "metadata.log.dir",
    "",
    "The directory of the metadata log, which may be one of `log.dirs`. If empty, it is the first of these.",
)
SOCKET_REQUEST_MAX_BYTES = ConfigKey(
    "socket.request.max.bytes",
    104_857_600,
    "The maximum size of a request in bytes. A larger request closes its connection.",
    1,
    INT32_MAX,
)
SOCKET_REQUEST_MAX_ELEMENTS = ConfigKey(
    "socket.request.max.elements",
    200_000,
    "The maximum number of elements that all arrays of a request have together. A request with more closes its "
    "connection. Kafka has no such limit.",
    100,
    INT32_MAX,
)
QUEUED_MAX_REQUEST_BYTES = ConfigKey(
    "queued.max.request.bytes",
    536_870_912,
    "The maximum number of bytes of requests that all connections together hold, unfinished or not handled yet; -1: no "
    "limit. Above it the connection that holds the most is closed. Kafka has no limit by default, and stops reading.",
    -1,
    INT64_MAX,
)
CONNECTIONS_MAX_UNSENT_BYTES = ConfigKey(
    "connections.max.unsent.bytes",
    536_870_912,
    "The maximum number of bytes of responses that all clients together have not read. Above it the connection with "
    "the most is closed. Kafka has no such limit.",
    1_048_576,
    INT64_MAX,
)
CONNECTIONS_MAX_STALLED_MS = ConfigKey(
    "connections.max.stalled.ms",
    60_000,
    "How long a client may take to send a request to its end, or to read its responses, beside the time for 16 kB a "
    "second. A connection that takes longer is closed. Kafka has no such limit.",
    1_000,
    INT32_MAX,
)
MAX_GROUPS_PER_IP = ConfigKey(
    "max.groups.per.ip",
    100_000,
    "The maximum number of groups that clients of one IP address have created, by joining or committing, and that "
    "still exist. A request that would create another one is answered POLICY_VIOLATION. Kafka has no such limit.",
    1,
    INT32_MAX,
)
MAX_TRANSACTIONAL_IDS_PER_IP = ConfigKey(
    "max.transactional.ids.per.ip",
    500_000,
    "The maximum number of transactional ids that producers of one IP address have initialized first, and that have not"
    " expired (`transactional.id.expiration.ms`). An InitProducerId with another one is answered POLICY_VIOLATION. Some"
    " clients, as Flink's Kafka sink with the naming strategy INCREMENTING, use new ids all the time. Kafka has no such"
    " limit.",
    1,
    INT32_MAX,
)
MAX_PENDING_MEMBERS_PER_IP = ConfigKey(
    "max.pending.members.per.ip",
    20_000,
    "The maximum number of member ids that were handed out to clients of one IP address (KIP-394) and with which no "
    "member has joined yet. Above it the oldest one becomes unknown. Kafka has no such limit.",
    1,
    INT32_MAX,
)
MAX_REQUEST_PARTITION_SIZE_LIMIT = ConfigKey(
    "max.request.partition.size.limit",
    2_000,
    "The maximum number of partitions in the response to a DescribeTopicPartitions, whatever the client asks for.",
    1,
    INT32_MAX,
)
FETCH_MAX_BYTES = ConfigKey(
    "fetch.max.bytes",
    16_777_216,
    "The maximum number of bytes of records in the response to a Fetch, whatever the client asks for; a single larger "
    "batch is returned all the same. Kafka's default is 57671680; a smaller one lets other clients wait less.",
    1_024,
    INT32_MAX,
)
MAX_BROKER_PARTITIONS = ConfigKey(
    "max.broker.partitions",
    100_000,
    "The maximum number of partitions of all topics together, internal ones included. A request for more is rejected "
    "with POLICY_VIOLATION. Kafka has no such limit; the name is that of KIP-578.",
    1_000,
    INT32_MAX,
)
MAX_CONNECTIONS = ConfigKey(
    "max.connections",
    INT32_MAX,
    "The maximum number of connections at any time, over all listeners. At this number no more are accepted until some "
    "have gone. There may be fewer: a quarter of the open files that the process may have (`ulimit -n`), at least 256 "
    "and at most half of them, is kept for the log.",
    1,
    INT32_MAX,
)
MAX_CONNECTIONS_PER_IP = ConfigKey(
    "max.connections.per.ip",
    INT32_MAX,
    "The maximum number of connections at any time from one IP address. Further connections are closed.",
    0,
    INT32_MAX,
)
MAX_CONNECTIONS_PER_IP_OVERRIDES = ConfigKey(
    "max.connections.per.ip.overrides",
    "",
    "Other values of `max.connections.per.ip` for some addresses: a comma-separated list of HOST:COUNT, like "
    "`hostName:100,127.0.0.1:200`. A host name is resolved at the start.",
)
MAX_CONNECTION_CREATION_RATE = ConfigKey(
    "max.connection.creation.rate",
    INT32_MAX,
    "The maximum number of new connections a second, over all listeners. Further ones are accepted later.",
    1,
    INT32_MAX,
)
CONNECTIONS_MAX_IDLE_MS = ConfigKey(
    "connections.max.idle.ms",
    600_000,
    "Close a connection after this many ms without incoming data, unless a request is pending. Negative: never.",
    -1,
    INT64_MAX,
)
QUOTA_WINDOW_NUM = ConfigKey(
    "quota.window.num",
    11,
    "The number of samples over which the rates of client quotas are measured, the current one included.",
    1,
    10_000,
)
QUOTA_WINDOW_SIZE_SECONDS = ConfigKey(
    "quota.window.size.seconds", 1, "The length in seconds of each sample of client quotas.", 1, 86_400
)
CLIENT_QUOTAS_MAX = ConfigKey(
    "client.quotas.max",
    10_000,
    "The maximum number of users, client ids, pairs of both and IP addresses that have quotas. A request that would "
    "give quotas to another one is answered POLICY_VIOLATION. Kafka has no such limit.",
    1,
    INT32_MAX,
)
CONTROLLER_QUOTA_WINDOW_NUM = ConfigKey(
    "controller.quota.window.num",
    11,
    "The number of samples of `controller_mutation_rate`: times their length and the rate, as many partitions may be "
    "created or deleted in a burst.",
    1,
    10_000,
)
CONTROLLER_QUOTA_WINDOW_SIZE_SECONDS = ConfigKey(
    "controller.quota.window.size.seconds",
    1,
    "The length in seconds of each sample of `controller_mutation_rate`.",
    1,
    86_400,
)
AUTO_CREATE_TOPICS_ENABLE = ConfigKey(
    "auto.create.topics.enable", True, "Create a topic automatically when a client requests its metadata."
)
NUM_PARTITIONS = ConfigKey("num.partitions", 1, "The default number of partitions per topic.", 1, PARTITIONS_MAX)
MESSAGE_MAX_BYTES = ConfigKey(
    "message.max.bytes",
    1_048_588,
    "The maximum size in bytes of a record batch in a Produce request, after compression.",
    0,
    INT32_MAX,
)
LOG_SEGMENT_BYTES = ConfigKey(
    "log.segment.bytes", 1_073_741_824, "The maximum size of a log segment in bytes.", SEGMENT_BYTES_MIN, INT32_MAX
)
LOG_ROLL_MS = ConfigKey(
    "log.roll.ms",
    7 * 24 * 3600 * 1000,
    "The maximum time in ms between the first and the last timestamp of a segment, before a new segment is rolled.",
    1,
    INT64_MAX,
)
LOG_INDEX_INTERVAL_BYTES = ConfigKey(
    "log.index.interval.bytes", 4096, "The interval in bytes at which an entry is added to the indexes.", 0, INT32_MAX
)
LOG_INDEX_SIZE_MAX_BYTES = ConfigKey(
    "log.index.size.max.bytes",
    10 * 1024 * 1024,
    "The maximum size of an offset index in bytes. A segment whose index is full is rolled.",
    4,
    INT32_MAX,
)
LOG_RETENTION_HOURS = ConfigKey(
    "log.retention.hours",
    7 * 24,
    "Hours to keep records before their segment is deleted; -1: no limit. Only used if neither `log.retention.ms` nor "
    "`log.retention.minutes` is set.",
    -1,
    INT32_MAX,
)
LOG_RETENTION_MINUTES = ConfigKey(
    "log.retention.minutes",
    7 * 24 * 60,
    "Minutes to keep records before their segment is deleted; -1: no limit. If it is not set, `log.retention.hours` is "
    "used.",
    -1,
    INT32_MAX,
)
LOG_RETENTION_MS = ConfigKey(
    "log.retention.ms",
    7 * 24 * 3600 * 1000,
    "Time in ms to keep records before their segment is deleted; -1: no limit. If it is not set, "
    "`log.retention.minutes` is used.",
    -1,
    INT64_MAX,
)
LOG_RETENTION_BYTES = ConfigKey(
    "log.retention.bytes",
    -1,
    "The size in bytes that a partition may have before its oldest segments are deleted; -1: no limit.",
    -INT64_MAX - 1,
    INT64_MAX,
)
LOG_RETENTION_CHECK_INTERVAL_MS = ConfigKey(
    "log.retention.check.interval.ms",
    300_000,
    "The interval in ms at which logs are checked for segments to delete.",
    1,
    INT64_MAX,
)
LOG_CLEANER_ENABLE = ConfigKey(
    "log.cleaner.enable", True, "Whether the logs of compacted topics, __consumer_offsets above all, are compacted."
)
LOG_CLEANER_THREADS = ConfigKey(
    "log.cleaner.threads", 1, "The number of threads that compact logs. Only 1 is possible.", 1, 1
)
LOG_CLEANER_BACKOFF_MS = ConfigKey(
    "log.cleaner.backoff.ms",
    15_000,
    "The time in ms until the next look for logs to compact, when there was none.",
    0,
    INT64_MAX,
)
LOG_CLEANER_DEDUPE_BUFFER_SIZE = ConfigKey(
    "log.cleaner.dedupe.buffer.size",
    134_217_728,
    "The maximum number of bytes for the keys of a log that is compacted: 24 for each, and room that stays free. If "
    "there are more keys, the rest of the log is compacted in another round. Only what is needed is taken.",
    1_048_576,
    INT64_MAX,
)
LOG_CLEANER_IO_BUFFER_LOAD_FACTOR = ConfigKey(
    "log.cleaner.io.buffer.load.factor",
    0.9,
    "How full the memory for the keys of a log may become. More holds more keys, and takes longer.",
    0.1,
    1,
)
LOG_CLEANER_IO_MAX_BYTES_PER_SECOND = ConfigKey(
    "log.cleaner.io.max.bytes.per.second",
    INT64_MAX,
    "The maximum number of bytes a second that compaction reads and writes together, on average. By default there is "
    "no limit, as in Kafka.",
    1,
    INT64_MAX,
)
LOG_CLEANER_MIN_CLEANABLE_RATIO = ConfigKey(
    "log.cleaner.min.cleanable.ratio",
    0.5,
    "A log is compacted when more than this part of its bytes was not compacted before.",
    0,
    1,
)
LOG_CLEANER_DELETE_RETENTION_MS = ConfigKey(
    "log.cleaner.delete.retention.ms",
    86_400_000,
    "The time in ms to keep tombstones and the markers of transactions, from the first compaction that meets them on.",
    0,
    INT64_MAX,
)
LOG_CLEANER_MIN_COMPACTION_LAG_MS = ConfigKey(
    "log.cleaner.min.compaction.lag.ms", 0, "The least time in ms before a record is compacted.", 0, INT64_MAX
)
LOG_CLEANER_MAX_COMPACTION_LAG_MS = ConfigKey(
    "log.cleaner.max.compaction.lag.ms",
    INT64_MAX,
    "The most time in ms before a record is compacted, as far as its segment is finished: a log with an older one is "
    "compacted, whatever `log.cleaner.min.cleanable.ratio` says, and segments are rolled at this age.",
    1,
    INT64_MAX,
)
METADATA_LOG_MAX_RECORD_BYTES_BETWEEN_SNAPSHOTS = ConfigKey(
    "metadata.log.max.record.bytes.between.snapshots",
    20_971_520,
    "The size in bytes of the metadata log above which it is replaced by a snapshot of what it says, if that is less "
    "than half as large: at a start, and in the background while the server runs.",
    1,
    INT64_MAX,
)
LOG_FLUSH_POLICY = ConfigKey(
    "log.flush.policy",
    "page-cache",
    "When an append counts, so that clients are answered and can read it: `page-cache` when it is written, which "
    "survives the end of the process, but not a power loss; `always` when it is on stable storage. Then all that was "
    "appended in one turn of the event loop is flushed together. Kafka has no such key; its acks=all with one replica "
    "is `page-cache`.",
    one_of=("page-cache", "always"),
)
LOG_FLUSH_INTERVAL_MESSAGES = ConfigKey(
    "log.flush.interval.messages",
    INT64_MAX,
    "After how many records a log is flushed, in the background: no answer waits for it (see `log.flush.policy`).",
    1,
    INT64_MAX,
)
LOG_FLUSH_INTERVAL_MS = ConfigKey(
    "log.flush.interval.ms",
    INT64_MAX,
    "The time in ms after which an appended record is flushed at the latest, in the background.",
    0,
    INT64_MAX,
)
LOG_FLUSH_OFFSET_CHECKPOINT_INTERVAL_MS = ConfigKey(
    "log.flush.offset.checkpoint.interval.ms",
    60_000,
    "The interval in ms at which the recovery points are stored: a start after a kill reads the logs from there on.",
    1,
    INT32_MAX,
)
LOG_SEGMENT_DELETE_DELAY_MS = ConfigKey(
    "log.segment.delete.delay.ms",
    60_000,
    "The time in ms after which the files of a deleted segment are removed. Until then they are renamed.",
    0,
    INT64_MAX,
)
LOG_MESSAGE_TIMESTAMP_TYPE = ConfigKey(
    "log.message.timestamp.type",
    "CreateTime",
    "Whether the timestamp of a record is the one of the producer or the time of the append.",
    one_of=("CreateTime", "LogAppendTime"),
)
LOG_MESSAGE_TIMESTAMP_BEFORE_MAX_MS = ConfigKey(
    "log.message.timestamp.before.max.ms",
    INT64_MAX,
    "The most ms that the timestamp of a record may lie before the time of its arrival. A batch with an older one is "
    "rejected with INVALID_TIMESTAMP.",
    0,
    INT64_MAX,
)
LOG_MESSAGE_TIMESTAMP_AFTER_MAX_MS = ConfigKey(
    "log.message.timestamp.after.max.ms",
    3_600_000,
    "The most ms that the timestamp of a record may lie after the time of its arrival. A batch with a later one is "
    "rejected with INVALID_TIMESTAMP.",
    0,
    INT64_MAX,
)
PRODUCE_MAX_DECOMPRESSED_BYTES = ConfigKey(
    "produce.max.decompressed.bytes",
    32 * 1024 * 1024,
    "The maximum size in bytes of a compressed batch in a Produce request after its decompression, which is needed to "
    "validate its records. A larger one is rejected with MESSAGE_TOO_LARGE; Kafka's Java producer then splits it "
    "and sends the parts. It bounds the memory and the time that one batch can take. Kafka has no such setting.",
    1024 * 1024,
    INT32_MAX,
)
PRODUCER_ID_EXPIRATION_MS = ConfigKey(
    "producer.id.expiration.ms",
    24 * 3600 * 1000,
    "The time in ms after the last timestamp of an idempotent producer's batches at which a partition forgets the "
    "producer. It may then send any sequence number.",
    1,
    INT32_MAX,
)
PRODUCER_ID_EXPIRATION_CHECK_INTERVAL_MS = ConfigKey(
    "producer.id.expiration.check.interval.ms",
    600_000,
    "The interval in ms at which expired producers are forgotten.",
    1,
    INT32_MAX,
)
PRODUCER_IDS_PER_PARTITION_MAX = ConfigKey(
    "producer.ids.per.partition.max",
    10_000,
    "The most idempotent producers that a partition remembers. One more makes it forget the one that has not written "
    "for the longest time, as if it had expired: a batch that this one sends twice is appended twice. "
    "Kafka has no such setting.",
    1,
    INT32_MAX,
)
GROUP_MIN_SESSION_TIMEOUT_MS = ConfigKey(
    "group.min.session.timeout.ms",
    6000,
    "The minimum session timeout of a member in ms. A shorter one is rejected with INVALID_SESSION_TIMEOUT.",
    1,
    INT32_MAX,
)
GROUP_MAX_SESSION_TIMEOUT_MS = ConfigKey(
    "group.max.session.timeout.ms",
    1_800_000,
    "The maximum session timeout of a member in ms. A longer one is rejected with INVALID_SESSION_TIMEOUT.",
    1,
    INT32_MAX,
)
GROUP_INITIAL_REBALANCE_DELAY_MS = ConfigKey(
    "group.initial.rebalance.delay.ms",
    3000,
    "The time in ms that the first rebalance of an empty group waits for more members to join (KIP-134).",
    0,
    INT32_MAX,
)
GROUP_MAX_SIZE = ConfigKey(
    "group.max.size",
    INT32_MAX,
    "The maximum number of members of a group. Further members are rejected with GROUP_MAX_SIZE_REACHED.",
    1,
    INT32_MAX,
)
OFFSET_METADATA_MAX_BYTES = ConfigKey(
    "offset.metadata.max.bytes",
    4096,
    "The maximum length of the metadata of a committed offset, in UTF-16 code units as in Kafka.",
    0,
    INT32_MAX,
)
OFFSETS_RETENTION_MINUTES = ConfigKey(
    "offsets.retention.minutes",
    7 * 24 * 60,
    "Minutes to keep a committed offset after its group became empty, or after the commit if no member subscribes to "
    "the topic.",
    1,
    INT32_MAX,
)
OFFSETS_RETENTION_CHECK_INTERVAL_MS = ConfigKey(
    "offsets.retention.check.interval.ms",
    600_000,
    "The interval in ms at which expired committed offsets are removed.",
    1,
    INT64_MAX,
)
GROUP_AUDIT_OFFSETS_INTERVAL_MS = ConfigKey(
    "group.audit.offsets.interval.ms",
    60_000,
    "The interval in ms at which the offset commits of each group are written to the audit topic. "
    "Kafka has no such setting.",
    1000,
    24 * 3600 * 1000,
)
AUDIT_COMPRESSION_TYPE = ConfigKey(
    "audit.compression.type",
    "lz4",
    "The compression of the batches in __group_audit: none, gzip, snappy, lz4, zstd. A single small event is never "
    "compressed. Kafka has no such setting.",
    one_of=("none", "gzip", "snappy", "lz4", "zstd"),
)
AUDIT_CHAIN = ConfigKey(
    "audit.chain",
    False,
    "Whether each record of __group_audit carries the hash of the one before it, so that `coordinator audit verify` "
    "finds the first event that was changed, left out or moved. Kafka has no such setting.",
)
OFFSETS_TOPIC_COMPRESSION_CODEC = ConfigKey(
    "offsets.topic.compression.codec",
    0,
    "The compression of the batches in __consumer_offsets: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.",
    0,
    4,
)
OFFSETS_LOAD_BUFFER_SIZE = ConfigKey(
    "offsets.load.buffer.size",
    5 * 1024 * 1024,
    "The number of bytes to read from __consumer_offsets at a time when groups are loaded. "
    "A batch that is larger is read whole.",
    1,
    INT32_MAX,
)
OFFSETS_COMMIT_TIMEOUT_MS = ConfigKey(
    "offsets.commit.timeout.ms",
    5000,
    "Accepted and ignored: there is one node, so a commit does not wait for replicas.",
    1,
    INT32_MAX,
)
OFFSETS_TOPIC_REPLICATION_FACTOR = ConfigKey(
    "offsets.topic.replication.factor",
    3,
    "Accepted and ignored: there is one node, so a partition has one replica.",
    1,
    INT16_MAX,
)
GROUP_COORDINATOR_REBALANCE_PROTOCOLS = ConfigKey(
    "group.coordinator.rebalance.protocols", "classic", "The enabled rebalance protocols.", one_of=("classic",)
)
GROUP_COORDINATOR_THREADS = ConfigKey(
    "group.coordinator.threads", 4, "Accepted and ignored: one event loop serves all groups.", 1, INT32_MAX
)
GROUP_COORDINATOR_APPEND_LINGER_MS = ConfigKey(
    "group.coordinator.append.linger.ms",
    -1,
    "Accepted and ignored: the records of one iteration of the event loop are appended together, without a linger.",
    -1,
    INT32_MAX,
)
OFFSETS_TOPIC_NUM_PARTITIONS = ConfigKey(
    "offsets.topic.num.partitions",
    50,
    "The number of partitions of __consumer_offsets. It cannot change after the first start.",
    1,
    PARTITIONS_MAX,
)
OFFSETS_TOPIC_SEGMENT_BYTES = ConfigKey(
    "offsets.topic.segment.bytes",
    104_857_600,
    "The maximum size in bytes of a log segment of __consumer_offsets.",
    SEGMENT_BYTES_MIN,
    INT32_MAX,
)
TRANSACTION_STATE_LOG_NUM_PARTITIONS = ConfigKey(
    "transaction.state.log.num.partitions",
    50,
    "The number of partitions of __transaction_state. It cannot change after the topic has been created.",
    1,
    PARTITIONS_MAX,
)
TRANSACTION_STATE_LOG_SEGMENT_BYTES = ConfigKey(
    "transaction.state.log.segment.bytes",
    104_857_600,
    "The maximum size in bytes of a log segment of __transaction_state.",
    SEGMENT_BYTES_MIN,
    INT32_MAX,
)
TRANSACTION_STATE_LOG_LOAD_BUFFER_SIZE = ConfigKey(
    "transaction.state.log.load.buffer.size",
    5 * 1024 * 1024,
    "The number of bytes to read from __transaction_state at a time when transactions are loaded. "
    "A batch that is larger is read whole.",
    1,
    INT32_MAX,
)
TRANSACTION_STATE_LOG_REPLICATION_FACTOR = ConfigKey(
    "transaction.state.log.replication.factor",
    3,
    "Accepted and ignored: there is one node, so a partition has one replica.",
    1,
    INT16_MAX,
)
TRANSACTION_STATE_LOG_MIN_ISR = ConfigKey(
    "transaction.state.log.min.isr",
    2,
    "Accepted and ignored: there is one node, so a partition has one replica.",
    1,
    INT32_MAX,
)
TRANSACTION_MAX_TIMEOUT_MS = ConfigKey(
    "transaction.max.timeout.ms",
    900_000,
    "The longest timeout in ms that a client may set for its transactions; a longer one is rejected.",
    1,
    INT32_MAX,
)
TRANSACTIONAL_ID_EXPIRATION_MS = ConfigKey(
    "transactional.id.expiration.ms",
    604_800_000,
    "The time in ms after its last change at which a transactional id without an open transaction is forgotten.",
    1,
    INT32_MAX,
)
ADD_PARTITIONS_TO_TXN_RETRY_BACKOFF_MS = ConfigKey(
    "add.partitions.to.txn.retry.backoff.ms",
    20,
    "The time in ms after which a Produce tries again to add its partitions to a transaction, while the transaction"
    " before it ends.",
    1,
    INT32_MAX,
)
ADD_PARTITIONS_TO_TXN_RETRY_BACKOFF_MAX_MS = ConfigKey(
    "add.partitions.to.txn.retry.backoff.max.ms",
    100,
    "How long in ms a Produce tries to add its partitions to a transaction before it fails.",
    0,
    INT32_MAX,
)
TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS = ConfigKey(
    "transaction.abort.timed.out.transaction.cleanup.interval.ms",
    10_000,
    "The interval in ms at which transactions are aborted that have been open for longer than their timeout.",
    1,
    INT32_MAX,
)
TRANSACTION_REMOVE_EXPIRED_TRANSACTION_CLEANUP_INTERVAL_MS = ConfigKey(
    "transaction.remove.expired.transaction.cleanup.interval.ms",
    3_600_000,
    "The interval in ms at which transactional ids are forgotten that have expired.",
    1,
    INT32_MAX,
)
ADMIN_LISTENER = ConfigKey(
    "admin.listener",
    "",
    "The address of the admin port, which serves /metrics, /healthz and /readyz over HTTP: HOST:PORT, or :PORT on "
    "127.0.0.1. Port 0 binds a free port. If empty, there is none. There is no login: bind other addresses than "
    "loopback only in a network that you trust. Kafka has no such setting.",
)
METRICS_GROUPS_ALLOW = ConfigKey(
    "metrics.groups.allow",
    "",
    "Groups that always have metrics of their own while they exist: a comma-separated list of group ids, not more than "
    "`metrics.groups.max`. Kafka has no such setting.",
)
METRICS_GROUPS_MAX = ConfigKey(
    "metrics.groups.max",
    20,
    "The maximum number of groups with metrics of their own: those of `metrics.groups.allow`, then those with the most "
    "recent rebalances, then those with the most members. A group keeps its metrics for at least ten minutes. "
    "Kafka has no such setting.",
    0,
    1000,
)

ALL_KEYS: Final[tuple[ConfigKey[Any], ...]] = tuple(
    value for value in list(globals().values()) if isinstance(value, ConfigKey)
)
_BY_NAME: Final = {key.name: key for key in ALL_KEYS}


class Config:
    """The values of all settings. `config[KEY]` has the type of the key."""

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        """Parse settings given as text, by name; the others get their defaults.

        Raises:
            ConfigError: a name is unknown (the message suggests the nearest one), or a value is not allowed.
        """
        self._values: dict[ConfigKey[Any], Any] = {key: key.default for key in ALL_KEYS}
        self._given: set[ConfigKey[Any]] = set()
        for name, text in (texts or {}).items():
            key = find_key(name)
            self._values[key] = key.parse(text)
            self._given.add(key)
        if self[GROUP_MIN_SESSION_TIMEOUT_MS] > self[GROUP_MAX_SESSION_TIMEOUT_MS]:
            raise ConfigError(
                f"{GROUP_MIN_SESSION_TIMEOUT_MS.name}={self[GROUP_MIN_SESSION_TIMEOUT_MS]}: "
                f"must not be above {GROUP_MAX_SESSION_TIMEOUT_MS.name}={self[GROUP_MAX_SESSION_TIMEOUT_MS]}"
            )

        if self[LOG_CLEANER_MIN_COMPACTION_LAG_MS] > self[LOG_CLEANER_MAX_COMPACTION_LAG_MS]:
            raise ConfigError(
                f"{LOG_CLEANER_MIN_COMPACTION_LAG_MS.name}={self[LOG_CLEANER_MIN_COMPACTION_LAG_MS]}: "
                f"must not be above {LOG_CLEANER_MAX_COMPACTION_LAG_MS.name}={self[LOG_CLEANER_MAX_COMPACTION_LAG_MS]}"
            )
        self.log_directories()
        for retention in (LOG_RETENTION_HOURS, LOG_RETENTION_MINUTES, LOG_RETENTION_MS):
            if self[retention] == 0:
                raise ConfigError(f"{retention.name}=0: must be -1 or at least 1")

    def __getitem__(self, key: ConfigKey[T]) -> T:
        value: T = self._values[key]
        return value

    def log_directories(self) -> list[Path]:
        """The directories of `log.dirs`, none of them twice.

        Raises:
            ConfigError: an entry of the list is empty, or a directory is named twice.
        """
        text = self[LOG_DIRS]
        names = [name.strip() for name in text.split(",")]
        if not all(names):
            raise ConfigError(f"{LOG_DIRS.name}={text}: the name of a directory is empty")
        paths = [Path(name) for name in names]
        for number, path in enumerate(paths):
            if path.resolve() in [other.resolve() for other in paths[:number]]:
                raise ConfigError(f"{LOG_DIRS.name}={text}: {path} is named twice")
        return paths

    def is_given(self, key: ConfigKey[Any]) -> bool:
        """Whether the value was given, and is not the default."""
        return key in self._given

    def text(self, key: ConfigKey[Any]) -> str:
        """The value as in a properties file."""
        return key.format(self._values[key])


def find_key(name: str) -> ConfigKey[Any]:
    """Return the key with this name.

    Raises:
        ConfigError: there is none; the message suggests the nearest name.
    """
    if name in _BY_NAME:
        return _BY_NAME[name]
    near = difflib.get_close_matches(name, _BY_NAME, n=1, cutoff=0.0)
    raise ConfigError(f"unknown setting {name!r}; did you mean {near[0]!r}?")


def parse_settings(lines: Iterable[str]) -> dict[str, str]:
    """Parse lines of the form KEY=VALUE.

    Raises:
        ConfigError: a line has no "=" or no key.
    """
    settings = {}
    for line in lines:
        name, equals, value = line.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"{line.strip()!r}: expected KEY=VALUE")
        settings[name.strip()] = value.strip()
    return settings


def read_properties(path: Path) -> dict[str, str]:
    """Read a file in the form of Kafka's server.properties: KEY=VALUE lines, # or ! comments, blank lines.

    Raises:
        ConfigError: the file cannot be read, or a line is not of that form.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise ConfigError(f"cannot read {path}: {problem}") from None
    lines = (line.strip() for line in text.splitlines())
    return parse_settings(line for line in lines if line and line[0] not in "#!")
