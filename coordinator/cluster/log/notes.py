"""What nodes leave for each other in the log of the groups, beside the records of the groups: a batch for each note.

- A fence is the first batch that a node writes to a partition. From there on the broker refuses batches of earlier
  epochs of its producer id. An epoch means nothing to another producer id: where the log has batches of one, as after a
  transactional id expired (`transactional.id.expiration.ms`), the node writes a fence with that id, too, of the last
  epoch that there is. The next one may have been given out already.
- The audit checkpoint is the offset of the audit from which a load has to read to know all groups. It is only a hint:
  the audit itself shows whether a completed checkpoint begins there.
- A rule says which groups the nodes coordinate: every partition has all of them.
- Another one says which groups that stay with the cluster the nodes watch. Every partition has all of these, whether it
  names a group or a pattern, as each node has to know them.
- The groups of the partition that the nodes own, each with a note of its own: its sentinel is in the cluster.
- The groups of the partition that the audit may say to have members at the cluster (`group.held_by_cluster`): the node
  that leads the partition next has to tell when that is over.
"""

from typing import Any, Final

import msgspec

from _wire.batch_reader import parse_batch
from _wire.batches import batch_headers
from coordinator.cluster.log.access import ProducerIdentity
from coordinator.cluster.log.cluster_log import ClusterLog
from coordinator.cluster.log.group_patterns import GroupPattern, is_pattern
from coordinator.core.stored import StoredRecord
from coordinator.runtime.interfaces import ReplayedLog
from coordinator.runtime.slices import Steps

NOTE: Final = (10_000).to_bytes(2, "big") + b"node "
"""How the key of a note begins: with a type of two bytes, as in all logs of Kafka's coordinators, whose types are below
100."""
FENCE_KEY: Final = NOTE + b"fence "
AUDIT_CHECKPOINT_KEY: Final = NOTE + b"audit checkpoint"
RULE_KEY: Final = NOTE + b"rule "
WATCH_KEY: Final = NOTE + b"watch "
OWNED_KEY: Final = NOTE + b"owned "
HELD_KEY: Final = NOTE + b"held "
EPOCH_MAX: Final = (1 << 15) - 1


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """The node that wrote a fence."""

    node_id: int
    coordinator_epoch: int


class AuditCheckpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where a load may begin to read the audit."""

    offset: int


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the groups that a name or pattern is about are coordinated by the nodes."""

    is_adopted: bool
    at_ms: int
    by: str


class WatchRule(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the groups that a name or pattern is about are watched where they stay with the cluster."""

    is_watched: bool
    at_ms: int
    by: str


class Since(msgspec.Struct, frozen=True, kw_only=True):
    """Since when (ms since the epoch) a group is what its note says."""

    since_ms: int


encode = msgspec.json.Encoder().encode


def fence_record(producer_id: int, owner: Owner) -> StoredRecord:
    """One key for each producer id: compaction keeps the last fence of each."""
    return FENCE_KEY + producer_id.to_bytes(8, "big"), encode(owner)


def checkpoint_record(offset: int) -> StoredRecord:
    return AUDIT_CHECKPOINT_KEY, encode(AuditCheckpoint(offset=offset))


def rule_record(pattern: str, rule: Rule) -> StoredRecord:
    return RULE_KEY + pattern.encode(), encode(rule)


def watch_record(pattern: str, rule: WatchRule) -> StoredRecord:
    return WATCH_KEY + pattern.encode(), encode(rule)


def owned_record(group_id: str, since_ms: int | None) -> StoredRecord:
    """None: the nodes own the group no more."""
    return OWNED_KEY + group_id.encode(), None if since_ms is None else encode(Since(since_ms=since_ms))


def held_record(group_id: str, since: Since | None) -> StoredRecord:
    """None: the group has no members at the cluster any more, and the audit says so."""
    return HELD_KEY + group_id.encode(), None if since is None else encode(since)


class Notes:
    """What the notes of a partition say, and which producer ids have to be fenced."""

    def __init__(self) -> None:
        self.audit_checkpoint: int | None = None
        self.rules: dict[str, Rule] = {}
        """Name of a group, or pattern → rule."""
        self.adopted: dict[str, GroupPattern] = {}
        """The patterns of rules that adopt groups."""
        self.watched: dict[str, WatchRule] = {}
        """Name of a group, or pattern → rule."""
        self.owned: set[str] = set()
        """Ids of the groups that the nodes own."""
        self.held: dict[str, Since] = {}
        """Id of a group → since when it has members at the cluster."""
        self._epochs: dict[int, int] = {}
        """Producer id → epoch of its last batch."""

    def watching(self, log: ClusterLog) -> ReplayedLog:
        """The log, whose batches are noted as they are read."""
        return _Watched(log, self)

    def note(self, data: bytes) -> None:
        """Note whole batches."""
        for header in batch_headers(data, check_crc=False):
            start, end = header.position, header.position + header.size_in_bytes
            if header.record_count == 1 and data.find(NOTE, start, end) >= 0:
                _, (record,) = parse_batch(data, start)
                self.apply(record.key or b"", record.value)
            self._epochs[header.producer_id] = header.producer_epoch

    def apply(self, key: bytes, value: bytes | None) -> None:
        """Apply a note; other records are passed over. One that is damaged counts as none."""
        try:
            if key == AUDIT_CHECKPOINT_KEY:
                checkpoint = None if value is None else msgspec.json.decode(value, type=AuditCheckpoint)
                self.audit_checkpoint = None if checkpoint is None else checkpoint.offset
            elif key.startswith(RULE_KEY):
                self._set_rule(_name(key, RULE_KEY), msgspec.json.decode(value, type=Rule) if value else None)
            elif key.startswith(WATCH_KEY):
                rule = msgspec.json.decode(value, type=WatchRule) if value else None
                _set(self.watched, _name(key, WATCH_KEY), rule)
            elif key.startswith(OWNED_KEY):
                (self.owned.discard if value is None else self.owned.add)(_name(key, OWNED_KEY))
            elif key.startswith(HELD_KEY):
                _set(self.held, _name(key, HELD_KEY), value and msgspec.json.decode(value, type=Since))
        except (msgspec.DecodeError, UnicodeDecodeError):
            return

    def _set_rule(self, name: str, rule: Rule | None) -> None:
        _set(self.rules, name, rule)
        is_adopted = rule is not None and rule.is_adopted and is_pattern(name)
        _set(self.adopted, name, GroupPattern(name) if is_adopted else None)

    def to_fence(self, own: int) -> list[ProducerIdentity]:
        """The producer ids other than `own` that may still write, each with the epoch that fences it.

        No node is given the last epoch (Kafka gives out another producer id before), so it marks those that are fenced.
        """
        return [
            ProducerIdentity(producer_id, EPOCH_MAX)
            for producer_id, epoch in self._epochs.items()
            if producer_id >= 0 and producer_id != own and epoch < EPOCH_MAX
        ]


def _name(key: bytes, prefix: bytes) -> str:
    return key[len(prefix) :].decode()


def _set(notes: dict[str, Any], name: str, value: Any) -> None:
    if value:
        notes[name] = value
    else:
        notes.pop(name, None)


class _Watched:
    """A log as it is replayed."""

    def __init__(self, log: ClusterLog, notes: Notes) -> None:
        self._log = log
        self._notes = notes
        self.name = log.name

    @property
    def log_start_offset(self) -> int:
        return self._log.log_start_offset

    @property
    def log_end_offset(self) -> int:
        return self._log.log_end_offset

    def read_steps(self, offset: int, bytes_max: int) -> Steps[bytes]:
        data = yield from self._log.read_steps(offset, bytes_max)
        self._notes.note(data)
        return data
