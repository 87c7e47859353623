"""Every setting: Kafka's name, type, default, bounds, doc. Declared here once; parsing, help and docs come from it."""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")

INT16_MAX: Final = 2**15 - 1
INT32_MAX: Final = 2**31 - 1
INT64_MAX: Final = 2**63 - 1

SEGMENT_BYTES_MIN: Final = 1024 * 1024
"""Of a topic's `segment.bytes`. Kafka takes less for `offsets.topic.segment.bytes`, but cannot make the topic then."""
PARTITIONS_MAX: Final = 10_000
"""Of one topic: Kafka's controller makes no more in one request (POLICY_VIOLATION), whatever these settings say."""


class ConfigError(ValueError):
    """A setting that cannot be taken; the message is one line that says which, why and what would do."""


@dataclass(frozen=True, eq=False, slots=True)
class ConfigKey(Generic[T]):
    """One setting. `at_least` and `at_most` bound numbers, both inclusive; `one_of` lists the words allowed."""

    name: str
    default: T
    doc: str
    at_least: int | None = None
    at_most: int | None = None
    one_of: tuple[str, ...] = ()

    @property
    def type_name(self) -> str:
        return {bool: "boolean", int: "int", str: "string"}[type(self.default)]

    def parse(self, text: str) -> T:
        """The value that `text` stands for. Raises ConfigError naming key, value and what is allowed."""
        value: Any = text.strip()
        if isinstance(self.default, bool):
            if value.lower() not in ("true", "false"):
                raise ConfigError(f"{self.name}={text}: expected true or false")
            value = value.lower() == "true"
        elif isinstance(self.default, int):
            value = self._parse_int(value)
        elif self.one_of and value not in self.one_of:
            raise ConfigError(f"{self.name}={text}: expected one of {', '.join(self.one_of)}")
        return value  # type: ignore[no-any-return]

    def _parse_int(self, text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise ConfigError(f"{self.name}={text}: expected a whole number") from None
        if self.at_least is not None and value < self.at_least:
            raise ConfigError(f"{self.name}={text}: must be at least {self.at_least}")
        if self.at_most is not None and value > self.at_most:
            raise ConfigError(f"{self.name}={text}: must be at most {self.at_most}")
        return value


NODE_ID = ConfigKey("node.id", 1, "The id of this node, as Metadata and FindCoordinator name it.", 0, INT32_MAX)
LISTENERS = ConfigKey(
    "listeners",
    "PLAINTEXT://127.0.0.1:9092",
    "Where clients connect: NAME://HOST:PORT, several separated by commas. Port 0 picks a free one.",
)
ADVERTISED_LISTENERS = ConfigKey(
    "advertised.listeners",
    "",
    "The endpoint that answers name to clients, per listener name; empty: the address it is bound to.",
)
LOG_DIRS = ConfigKey("log.dirs", "./coordinator-data", "The folder that holds the logs.")
SOCKET_REQUEST_MAX_BYTES = ConfigKey(
    "socket.request.max.bytes", 104_857_600, "The largest request; a larger one closes its connection.", 1, INT32_MAX
)
MAX_CONNECTIONS = ConfigKey(
    "max.connections", INT32_MAX, "Connections at one time, over all listeners; one more is closed.", 0, INT32_MAX
)
MAX_CONNECTIONS_PER_IP = ConfigKey(
    "max.connections.per.ip", INT32_MAX, "Connections at one time from one address; one more is closed.", 0, INT32_MAX
)
CONNECTIONS_MAX_IDLE_MS = ConfigKey(
    "connections.max.idle.ms",
    600_000,
    "A connection that nothing came in by for so long is closed, unless a request of it waits; below 0: never.",
    -1,
    INT64_MAX,
)
AUTO_CREATE_TOPICS_ENABLE = ConfigKey(
    "auto.create.topics.enable", True, "Make a topic when a client asks for its metadata."
)
NUM_PARTITIONS = ConfigKey("num.partitions", 1, "Partitions of a topic made without a count.", 1, PARTITIONS_MAX)
MESSAGE_MAX_BYTES = ConfigKey(
    "message.max.bytes", 1_048_588, "The largest record batch that Produce takes, compressed.", 0, INT32_MAX
)
LOG_SEGMENT_BYTES = ConfigKey(
    "log.segment.bytes", 1_073_741_824, "A segment is rolled before it outgrows this.", SEGMENT_BYTES_MIN, INT32_MAX
)
LOG_ROLL_MS = ConfigKey(
    "log.roll.ms", 7 * 24 * 3600 * 1000, "A segment is rolled when its first record is this old.", 1, INT64_MAX
)
LOG_INDEX_INTERVAL_BYTES = ConfigKey(
    "log.index.interval.bytes", 4096, "Bytes of log between two entries of an index.", 0, INT32_MAX
)
GROUP_MIN_SESSION_TIMEOUT_MS = ConfigKey(
    "group.min.session.timeout.ms", 6000, "The shortest session timeout; below: INVALID_SESSION_TIMEOUT.", 1, INT32_MAX
)
GROUP_MAX_SESSION_TIMEOUT_MS = ConfigKey(
    "group.max.session.timeout.ms",
    1_800_000,
    "The longest session timeout; above: INVALID_SESSION_TIMEOUT.",
    1,
    INT32_MAX,
)
GROUP_INITIAL_REBALANCE_DELAY_MS = ConfigKey(
    "group.initial.rebalance.delay.ms",
    3000,
    "How long the first rebalance of an empty group waits for more members (KIP-134).",
    0,
    INT32_MAX,
)
GROUP_MAX_SIZE = ConfigKey(
    "group.max.size", INT32_MAX, "Members a group may hold; the next one gets GROUP_MAX_SIZE_REACHED.", 1, INT32_MAX
)
OFFSET_METADATA_MAX_BYTES = ConfigKey(
    "offset.metadata.max.bytes",
    4096,
    "The longest metadata text of a committed offset, in UTF-16 code units as Kafka counts them.",
    0,
    INT32_MAX,
)
OFFSETS_RETENTION_MINUTES = ConfigKey(
    "offsets.retention.minutes",
    7 * 24 * 60,
    "How old a committed offset gets: since its group became empty, or since the commit where nobody reads the topic.",
    1,
    INT32_MAX,
)
OFFSETS_RETENTION_CHECK_INTERVAL_MS = ConfigKey(
    "offsets.retention.check.interval.ms", 600_000, "How often offsets are looked at for their age.", 1, INT64_MAX
)
GROUP_AUDIT_OFFSETS_INTERVAL_MS = ConfigKey(
    "group.audit.offsets.interval.ms",
    60_000,
    "Interval at which the offset commits of each group are reported to the audit topic (no setting of Kafka's).",
    1000,
    24 * 3600 * 1000,
)
OFFSETS_TOPIC_COMPRESSION_CODEC = ConfigKey(
    "offsets.topic.compression.codec",
    0,
    "How batches of __consumer_offsets are compressed: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.",
    0,
    4,
)
OFFSETS_LOAD_BUFFER_SIZE = ConfigKey(
    "offsets.load.buffer.size",
    5 * 1024 * 1024,
    "Bytes of __consumer_offsets that are read at once while groups are loaded; a larger batch is read whole.",
    1,
    INT32_MAX,
)
OFFSETS_COMMIT_TIMEOUT_MS = ConfigKey(
    "offsets.commit.timeout.ms",
    5000,
    "Changes nothing here: the log is on this node, so a commit waits for no other.",
    1,
    INT32_MAX,
)
OFFSETS_TOPIC_REPLICATION_FACTOR = ConfigKey(
    "offsets.topic.replication.factor",
    3,
    "Changes nothing here: there is one node, so a partition has one replica.",
    1,
    INT16_MAX,
)
GROUP_COORDINATOR_REBALANCE_PROTOCOLS = ConfigKey(
    "group.coordinator.rebalance.protocols", "classic", "The group protocols that are served.", one_of=("classic",)
)
GROUP_COORDINATOR_THREADS = ConfigKey(
    "group.coordinator.threads", 4, "Changes nothing here: one loop coordinates all groups.", 1, INT32_MAX
)
GROUP_COORDINATOR_APPEND_LINGER_MS = ConfigKey(
    "group.coordinator.append.linger.ms",
    -1,
    "Changes nothing here: what one turn of the loop brings is appended together, and nothing waits for more.",
    -1,
    INT32_MAX,
)
OFFSETS_TOPIC_NUM_PARTITIONS = ConfigKey(
    "offsets.topic.num.partitions", 50, "Partitions of __consumer_offsets; fixed once it is made.", 1, PARTITIONS_MAX
)
OFFSETS_TOPIC_SEGMENT_BYTES = ConfigKey(
    "offsets.topic.segment.bytes",
    104_857_600,
    "The segment size of __consumer_offsets.",
    SEGMENT_BYTES_MIN,
    INT32_MAX,
)
TRANSACTION_STATE_LOG_NUM_PARTITIONS = ConfigKey(
    "transaction.state.log.num.partitions",
    50,
    "Partitions of __transaction_state; fixed once it is made.",
    1,
    PARTITIONS_MAX,
)

ALL_KEYS: Final[tuple[ConfigKey[Any], ...]] = tuple(
    value for value in list(globals().values()) if isinstance(value, ConfigKey)
)
_BY_NAME: Final = {key.name: key for key in ALL_KEYS}


class Config:
    """The values in force. `config[KEY]` has the key's own type."""

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        """Take settings as text, by Kafka's names.

        Raises ConfigError for an unknown name (the nearest one is suggested) and for a value out of bounds.
        """
        self._values: dict[ConfigKey[Any], Any] = {key: key.default for key in ALL_KEYS}
        for name, text in (texts or {}).items():
            key = find_key(name)
            self._values[key] = key.parse(text)
        if self[GROUP_MIN_SESSION_TIMEOUT_MS] > self[GROUP_MAX_SESSION_TIMEOUT_MS]:
            raise ConfigError(
                f"{GROUP_MIN_SESSION_TIMEOUT_MS.name}={self[GROUP_MIN_SESSION_TIMEOUT_MS]}: "
                f"must not be above {GROUP_MAX_SESSION_TIMEOUT_MS.name}={self[GROUP_MAX_SESSION_TIMEOUT_MS]}"
            )

    def __getitem__(self, key: ConfigKey[T]) -> T:
        value: T = self._values[key]
        return value


def find_key(name: str) -> ConfigKey[Any]:
    """The key of that name. Raises ConfigError with the nearest name when there is none."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    near = difflib.get_close_matches(name, _BY_NAME, n=1, cutoff=0.0)
    raise ConfigError(f"unknown setting {name!r}; did you mean {near[0]!r}?")


def parse_settings(lines: Iterable[str]) -> dict[str, str]:
    """Settings written as KEY=VALUE, one each. Raises ConfigError for a line without "="."""
    settings = {}
    for line in lines:
        name, equals, value = line.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"{line.strip()!r}: expected KEY=VALUE")
        settings[name.strip()] = value.strip()
    return settings


def read_properties(path: Path) -> dict[str, str]:
    """Settings of a file in Kafka's server.properties form: KEY=VALUE lines, # or ! comments, blank lines.

    Raises ConfigError when the file cannot be read or a line is not a setting.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise ConfigError(f"cannot read {path}: {problem}") from None
    lines = (line.strip() for line in text.splitlines())
    return parse_settings(line for line in lines if line and line[0] not in "#!")
