"""What clients were told, and what of it no client may be told: the invariants of a history.

An answer counts for the time between its request and its arrival, as a client knows no more. So a rule is about a
request that was sent after an earlier answer had arrived, with whichever client.
"""

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from _wire.batch_reader import parse_records
from _wire.embedded import decode_versioned, prefix_of
from _wire.errors import ErrorCode
from _wire.messages.consumer_group_metadata_record import ConsumerGroupMetadataKey, ConsumerGroupMetadataValue
from _wire.messages.group_metadata_record import GroupMetadataKey, GroupMetadataValue
from coordinator.audit.schema import GroupCreated, GroupRemoved, decode_event
from coordinator.core.classic.records import KEY_TYPE
from coordinator.core.consumer.records import METADATA_TYPE
from coordinator.internal_topics import AUDIT_TOPIC
from tests.simulation.consumers import partitions_of

CONSUMER_SESSION_MS: Final = 45_000
"""Kafka's default, which nodes have, too."""
LOADING: Final = -1
"""In place of a leadership, while a node takes the partition over."""


class RuleBroken(AssertionError):
    """A client was told what it may not be told, or something is stored that may not be."""


class Told(NamedTuple):
    """Something that grows, as a client was told it."""

    value: int
    received_ms: int
    who: str


class Highest:
    """The highest value that anybody was told, and when."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._told: list[Told] = []
        """Rising in value and in time."""

    def check(self, value: int, sent_ms: int, received_ms: int, who: str) -> None:
        """Raises RuleBroken: a higher value was known before this one was asked for."""
        for told in reversed(self._told):
            if told.value <= value:
                break
            if told.received_ms < sent_ms:
                raise RuleBroken(
                    f"{self._what}: {who} was told {value} for a request of {sent_ms}, but {told.who} was told"
                    f" {told.value} at {told.received_ms}"
                )
        if not self._told or value > self._told[-1].value:
            self._told.append(Told(value, received_ms, who))


class Commit(NamedTuple):
    """A commit of one offset that a client has sent. All offsets of a history differ: they number the commits."""

    group_id: str
    partition: int
    offset: int
    generation: int
    member: str


class Reports:
    """What is known from clients, and from what is stored in the logs and in the cluster."""

    def __init__(self) -> None:
        self._leaderships: dict[str, Highest] = {}
        self._generations: dict[str, Highest] = {}
        self._owners: dict[tuple[str, int], dict[int, str]] = defaultdict(dict)
        """Group and generation → partition → its owner."""
        self._commits: dict[int, Commit] = {}
        self._acknowledged: dict[tuple[str, int], Commit] = {}
        """Group and partition → the last commit of the highest generation that its client knows to be stored."""
        self.stored_offsets: dict[tuple[str, int], Commit] = {}
        self._member_since: dict[tuple[str, str], int] = {}
        """Group and member of KIP-848 → when it sent the last heartbeat that was answered."""
        self._holders: dict[str, dict[int, str]] = defaultdict(dict)
        """The same groups → partition → the member that uses it."""
        self._audited: dict[str, int] = {}
        """Group → its generation by the last event of the audit."""
        self.acknowledged_commits: Counter[str] = Counter()
        self.has_sentinel: Callable[[str], bool] = lambda group_id: True
        self.successes = 0

    # ---- members

    def succeeded(self, group_id: str, who: str, sent_ms: int, received_ms: int, leadership: int | None) -> None:
        """A node has answered a member as the coordinator of its group, as one that leads since `leadership`."""
        self.successes += 1
        if leadership is None:
            raise RuleBroken(f"{who} of {group_id} was answered at {received_ms} by a node that leads nothing")
        highest = self._leaderships.setdefault(group_id, Highest(f"leadership of {group_id}"))
        highest.check(leadership, sent_ms, received_ms, who)

    def joined(self, group_id: str, who: str) -> None:
        """A member was told that it has joined. From then on nobody may join the group at the cluster."""
        if not self.has_sentinel(group_id):
            raise RuleBroken(f"{who} has joined {group_id}, which has no sentinel at the cluster")

    def in_generation(self, group_id: str, who: str, generation: int, sent_ms: int, received_ms: int) -> None:
        """A member was told that it is in a generation that is stored."""
        highest = self._generations.setdefault(group_id, Highest(f"generation of {group_id}"))
        highest.check(generation, sent_ms, received_ms, who)

    def assigned(self, group_id: str, generation: int, who: str, assignment: bytes) -> frozenset[int]:
        """A member was told what it owns in a generation."""
        partitions = frozenset(partition.partition for partition in partitions_of(assignment))
        owners = self._owners[group_id, generation]
        for partition in partitions:
            owner = owners.setdefault(partition, who)
            if owner != who:
                raise RuleBroken(
                    f"{who} and {owner} own partition {partition} of {group_id} in generation {generation}"
                )
        return partitions

    # ---- members of consumer groups (KIP-848)

    def in_epoch(self, group_id: str, who: str, epoch: int, sent_ms: int, received_ms: int) -> None:
        """A member was told its epoch, which is stored."""
        highest = self._generations.setdefault(f"{group_id} {who}", Highest(f"epoch of {who} of {group_id}"))
        highest.check(epoch, sent_ms, received_ms, who)

    def is_member(self, group_id: str, who: str, sent_ms: int) -> None:
        """A heartbeat was answered that was sent then: the session is not over before it has passed since."""
        self._member_since[group_id, who] = sent_ms

    def removed(self, group_id: str, who: str, now_ms: int) -> None:
        """A member was told that it is none."""
        sent_ms = self._member_since.pop((group_id, who), None)
        if sent_ms is not None and now_ms < sent_ms + CONSUMER_SESSION_MS:
            raise RuleBroken(f"{who} is no member of {group_id} at {now_ms}; its heartbeat of {sent_ms} was answered")

    def owns(self, group_id: str, who: str, partitions: frozenset[int], now_ms: int) -> None:
        """A member was told what it owns, or has given it up. Nobody else may own it unless its session is over."""
        holders = self._holders[group_id]
        for partition in [each for each, holder in holders.items() if holder == who and each not in partitions]:
            del holders[partition]
        for partition in partitions:
            holder = holders.setdefault(partition, who)
            if holder != who and now_ms < self._member_since.get((group_id, holder), 0) + CONSUMER_SESSION_MS:
                raise RuleBroken(f"{who} and {holder} own partition {partition} of {group_id} at {now_ms}")
            holders[partition] = who

    # ---- committed offsets

    def commits(self, group_id: str, partition: int, generation: int, member: str) -> Commit:
        """A client is about to commit; its offset is the number of the commit."""
        commit = Commit(group_id, partition, len(self._commits), generation, member)
        self._commits[commit.offset] = commit
        return commit

    def acknowledged(self, commit: Commit) -> None:
        self.acknowledged_commits[commit.group_id] += 1
        key = commit.group_id, commit.partition
        before = self._acknowledged.get(key)
        if before is None or (before.generation, before.offset) < (commit.generation, commit.offset):
            self._acknowledged[key] = commit
        stored = self.stored_offsets.get(key)
        if stored is None or stored.generation < commit.generation:
            raise RuleBroken(f"{commit} was acknowledged, but {stored} is stored")

    def stored(self, request: Any, response: Any) -> None:
        """The cluster has answered an OffsetCommit."""
        errors = {
            partition.partition_index: partition.error_code
            for topic in response.topics
            for partition in topic.partitions
        }
        for topic in request.topics:
            for partition in topic.partitions:
                if errors[partition.partition_index] == ErrorCode.NONE:
                    self._store(self._commits[partition.committed_offset])

    def _store(self, commit: Commit) -> None:
        key = commit.group_id, commit.partition
        acknowledged = self._acknowledged.get(key)
        if acknowledged is not None and commit.generation < acknowledged.generation:
            raise RuleBroken(f"{acknowledged} was acknowledged, and then {commit} is stored")
        self.stored_offsets[key] = commit

    # ---- logs

    def appended(self, topic: str, partition: int, batch: bytes) -> None:
        """A batch was stored in a log of the nodes."""
        for record in parse_records(batch):
            if topic == AUDIT_TOPIC:
                if record.key is not None and record.value:
                    self._audit(decode_event(record.value))
            elif record.key is not None and record.value is not None:
                self._stored(record.key, record.value)

    def _stored(self, key: bytes, value: bytes) -> None:
        if prefix_of(key) == KEY_TYPE:
            group_id = decode_versioned(GroupMetadataKey, key).group
            generation = decode_versioned(GroupMetadataValue, value).generation
        elif prefix_of(key) == METADATA_TYPE:
            group_id = decode_versioned(ConsumerGroupMetadataKey, key).group_id
            generation = decode_versioned(ConsumerGroupMetadataValue, value).epoch
        else:
            return
        audited = self._audited.get(group_id, -1)
        if audited < generation:
            raise RuleBroken(f"generation {generation} of {group_id} is stored, and its audit is at {audited}")

    def _audit(self, event: Any) -> None:
        if isinstance(event, GroupCreated | GroupRemoved):
            self._audited[event.group_id] = event.generation_id
        self._audited[event.group_id] = max(event.generation_id, self._audited.get(event.group_id, 0))
