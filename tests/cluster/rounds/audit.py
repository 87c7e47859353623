"""Whether the audit is whole, by the rules of its readers (`coordinator/audit/schema/`)."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from coordinator.audit import schema
from coordinator.client.audit_topic import AuditTopic
from coordinator.client.bootstrap import Bootstrap
from coordinator.client.cluster import EARLIEST
from coordinator.client.wire import ClientError

SECONDS: Final = 20
VOIDABLE_EVENTS: Final = 1_000
"""So many of the newest events of a group are remembered, as a load may take them back."""


@dataclass
class AuditedGroup:
    """A group by its events, since its last incarnation began."""

    created_seq: int
    seq: int
    generations: dict[int, int] = field(default_factory=dict)
    """Number of an event → the generation after it, of the events that took effect."""

    @property
    def generation(self) -> int:
        return self.generations[max(self.generations)] if self.generations else 0


class AuditCheck:
    """Reads on from where it has stopped the time before."""

    def __init__(self, brokers: str) -> None:
        self._broker = brokers.split(",", maxsplit=1)[0]
        self.problems: list[str] = []
        """What is wrong with the events."""
        self._groups: dict[str, AuditedGroup] = {}
        self._removed: set[str] = set()
        self._position: dict[int, int] = {}
        self.events = 0
        self.unseen = 0
        """Events that tell of what nodes did not see."""
        self.members: dict[str, set[str]] = defaultdict(set)
        """Group → the ids of its members, by its events."""

    @property
    def present(self) -> set[str]:
        """The groups that there are, by their events."""
        return self._groups.keys() - self._removed

    def read(self) -> list[str]:
        """Read what has come since the last call; return why that is not possible now, if it is not."""
        try:
            with AuditTopic(Bootstrap(self._broker), SECONDS) as topic:
                self._read(topic)
        except ClientError as problem:
            return [str(problem)]
        return []

    def _read(self, topic: AuditTopic) -> None:
        new = [partition for partition in topic.partitions if partition not in self._position]
        self._position |= topic.offsets(new, EARLIEST) if new else {}
        for record in topic.records(dict(self._position), lambda key: True):
            self._position[record.partition] = record.offset + 1
            if record.record[0] is None:
                continue
            if record.event is None:
                self.problems.append(f"the record at {record.partition}:{record.offset} is no event")
            else:
                self.events += 1
                self.problems += self.apply(record.event)
                self.unseen += isinstance(record.event, schema.GroupUnseen)
                self._count_members(record.event)

    def _count_members(self, event: schema.AuditEvent) -> None:
        members = self.members[event.group_id]
        match event:
            case schema.MemberJoined():
                members.add(event.member.member_id)
            case schema.MemberRemoved():
                members.discard(event.member.member_id)
            case schema.StaticMemberReplaced():
                members.discard(event.old_member_id)
                members.add(event.member.member_id)
            case schema.GroupCreated() | schema.GroupRemoved():
                members.clear()
            case schema.GroupSnapshot() | schema.GroupLoaded() | schema.GroupConverted():
                members.clear()
                members.update(each.member.member_id for each in event.members)

    def apply(self, event: schema.AuditEvent) -> Iterable[str]:
        """What is wrong with the next event of a partition."""
        group = self._groups.get(event.group_id)
        if group is not None and event.seq <= group.seq:
            return  # a duplicate
        if group is None or event.seq == event.created_seq:
            if group is not None and event.group_id not in self._removed:
                yield f"{event.group_id}: a new incarnation at {event.seq}, and no event that it was removed"
            self._removed.discard(event.group_id)
            group = self._groups[event.group_id] = AuditedGroup(event.created_seq, event.seq - 1)
            if event.seq != event.created_seq:
                yield f"{event.group_id}: the first event is {event.seq}, of incarnation {event.created_seq}"
        if event.seq != group.seq + 1 or event.created_seq != group.created_seq:
            yield f"{event.group_id}: event {event.seq} of incarnation {event.created_seq} comes after {group.seq}"
        group.seq = event.seq
        if isinstance(event, schema.GroupRemoved):
            self._removed.add(event.group_id)
        if isinstance(event, schema.GroupLoaded):
            yield from self._take_back(group, event)
        if type(event) not in schema.NEVER_VOID:
            yield from self._check_generation(group, event)

    def _check_generation(self, group: AuditedGroup, event: schema.AuditEvent) -> Iterable[str]:
        if event.generation_id < group.generation:
            yield f"{event.group_id}: generation {event.generation_id} in event {event.seq} after {group.generation}"
        oldest = event.seq - VOIDABLE_EVENTS
        group.generations = {seq: generation for seq, generation in group.generations.items() if seq > oldest}
        group.generations[event.seq] = event.generation_id

    def _take_back(self, group: AuditedGroup, event: schema.GroupLoaded) -> Iterable[str]:
        if event.lost:
            yield f"{event.group_id}: no event leads to the state that was loaded (event {event.seq})"
        if event.void_from_seq is not None:
            group.generations = {
                seq: generation for seq, generation in group.generations.items() if seq < event.void_from_seq
            }
