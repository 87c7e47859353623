"""Who owns each partition of a group, who owned it last, and since when nobody does. The only definition of both.

The time of a partition without an owner begins when its last owner stopped: at its last sign of life if it was removed,
at its LeaveGroup, or when it gave the partition up for a rebalance. It ends when the next owner gets its assignment,
however many generations later. What never had an owner, such as the partitions of a new topic, is not without one.
"""

from typing import Final, NamedTuple

import msgspec

from coordinator.audit.schema import MemberRef, TopicPartitions

Partition = tuple[str, int]
"""Topic and index."""

KAFKA_STREAMS: Final = "stream"


def is_cooperative(protocol_name: str) -> bool:
    """Whether members keep what they own while they rebalance (KIP-429), by the name of their assignor."""
    return "cooperative" in protocol_name or protocol_name == KAFKA_STREAMS


class Absence(msgspec.Struct, frozen=True, gc=False):
    """Partitions that `member` owned last, and that had no owner until a generation assigned them. Wall-clock times."""

    member: MemberRef
    partitions: int
    stopped_ms: int
    assigned_ms: int
    is_revoked: bool = False
    """A cooperative rebalance took them from an owner that lives on, for the next generation to assign."""

    @property
    def ms(self) -> int:
        return self.assigned_ms - self.stopped_ms


class Owner(msgspec.Struct, gc=False):
    """The last owner of a partition. `stopped_ms` is when it stopped; None while it owns the partition.

    `is_revoked`: it stopped because a generation did not assign it the partition again.
    """

    member_id: str
    stopped_ms: int | None = None
    is_revoked: bool = False


class Taken(NamedTuple):
    """What the assignments of a generation changed.

    `moved` counts the partitions that had another owner, `first` those that never had one; `absences` are of those that
    had none for a time.
    """

    moved: int
    absences: list[Absence]
    first: int = 0


class Owners(msgspec.Struct, gc=False):
    """The owners of all partitions that a group has been seen to own."""

    by_partition: dict[Partition, Owner] = {}
    owned: dict[str, set[Partition]] = {}
    """Member id → the partitions of which it is the last owner."""
    names: dict[str, MemberRef] = {}
    """Member id → the member, for each last owner, and each owner of `ended`."""
    moved: int = 0
    """Partitions that the generation that is being assigned took from another member."""
    first: int = 0
    """Partitions that it gave to their first owner."""
    ended: dict[tuple[str, int, bool], int] = {}
    """Of that generation: last owner, `stopped_ms` and `is_revoked` → partitions that have an owner again."""
    is_known: bool = True
    """False after events are missing or name no partitions, until an assignment names all of them again."""

    def forget(self) -> None:
        """Events are missing: nothing is known until the next assignment."""
        self.by_partition, self.owned, self.names = {}, {}, {}
        self.moved, self.first, self.ended = 0, 0, {}
        self.is_known = False

    # ---- members stop

    def gave_up(self, member_id: str, at_ms: int) -> None:
        """A member stopped consuming all that it owns: it left, was last heard, or joins an eager rebalance."""
        for partition in self.owned.get(member_id, ()):
            owner = self.by_partition[partition]
            if owner.stopped_ms is None:
                owner.stopped_ms = at_ms

    def went_on(self, member_id: str) -> None:
        """It turns out that a member stopped nothing when it rejoined."""
        for partition in self.owned.get(member_id, ()):
            owner = self.by_partition[partition]
            if not owner.is_revoked:
                owner.stopped_ms = None

    def revoked(self, member_id: str, partitions: TopicPartitions, at_ms: int) -> None:
        """A member gives up partitions that nobody has got yet."""
        for partition in flat(partitions):
            owner = self.by_partition.get(partition)
            if owner is not None and owner.member_id == member_id and owner.stopped_ms is None:
                owner.stopped_ms, owner.is_revoked = at_ms, True

    # ---- members begin

    def assigned(self, member: MemberRef, partitions: TopicPartitions, at_ms: int) -> None:
        """A member gets its assignment, and owns these partitions from now on."""
        member_id, by_partition = member.member_id, self.by_partition
        for topic, indexes in partitions.items():
            for index in indexes:
                partition = topic, index
                owner = by_partition.get(partition)
                if owner is None:
                    by_partition[partition] = Owner(member_id)
                    self._own(member, partition)
                    self.first += 1
                    continue
                if owner.stopped_ms is not None:
                    if owner.stopped_ms < at_ms:
                        key = owner.member_id, owner.stopped_ms, owner.is_revoked
                        self.ended[key] = self.ended.get(key, 0) + 1
                    owner.stopped_ms, owner.is_revoked = None, False
                if owner.member_id != member_id:
                    self.moved += 1
                    self.owned[owner.member_id].discard(partition)
                    self._own(member, partition)
                    owner.member_id = member_id

    def take(self, assigned_ms: int) -> Taken:
        """What the assignments since the last call changed: all members of a generation have theirs."""
        absences = [
            Absence(self.names[member_id], count, stopped_ms, assigned_ms, is_revoked)
            for (member_id, stopped_ms, is_revoked), count in self.ended.items()
        ]
        taken = Taken(self.moved, absences, self.first)
        self.moved, self.first, self.ended = 0, 0, {}
        for member_id in [each for each in self.names if not self.owned.get(each)]:
            self.owned.pop(member_id, None)
            del self.names[member_id]
        return taken

    def deleted(self, topic: str, partitions_left: int) -> None:
        """A topic has only its first partitions left: the others are gone, not without an owner."""
        for partition in [each for each in self.by_partition if each[0] == topic and each[1] >= partitions_left]:
            owner = self.by_partition.pop(partition)
            self.owned[owner.member_id].discard(partition)

    def found(self, member: MemberRef, partitions: TopicPartitions) -> None:
        """A member is told to own these partitions, without an assignment that can be seen."""
        for partition in flat(partitions):
            owner = self.by_partition.get(partition)
            if owner is None:
                self.by_partition[partition] = Owner(member.member_id)
                self._own(member, partition)

    def replaced(self, old_member_id: str, member: MemberRef) -> None:
        """A static member came back under a new member id, and has what it had."""
        for partition in self.owned.pop(old_member_id, ()):
            self.by_partition[partition].member_id = member.member_id
            self._own(member, partition)

    def lost_since(self, time_ms: int) -> int:
        """How many partitions have no owner now, and had one until that time or later."""
        stops = (each.stopped_ms for each in self.by_partition.values())
        return sum(1 for stopped_ms in stops if stopped_ms is not None and stopped_ms >= time_ms)

    def _own(self, member: MemberRef, partition: Partition) -> None:
        owned = self.owned.get(member.member_id)
        if owned is None:
            owned = self.owned[member.member_id] = set()
        owned.add(partition)
        self.names[member.member_id] = member


def without(partitions: TopicPartitions, others: TopicPartitions) -> TopicPartitions:
    """Those partitions that are not among the others."""
    if not others:
        return partitions
    left = {
        topic: [each for each in indexes if each not in others.get(topic, ())] for topic, indexes in partitions.items()
    }
    return {topic: indexes for topic, indexes in left.items() if indexes}


def flat(partitions: TopicPartitions) -> list[Partition]:
    return [(topic, index) for topic, indexes in partitions.items() for index in indexes]
