"""Who owns each partition of a group, who owned it last, and since when nobody does. The only definition of both.

The time of a partition without an owner begins when its last owner stopped: at its last sign of life if it was removed,
at its LeaveGroup, or when it gave the partition up for a rebalance. It ends when the next owner gets its assignment,
however many generations later. What never had an owner, such as the partitions of a new topic, is not without one.

What changed is told when the group is stable: of a partition that moved several times since it was stable before, only
where it came from, where it is, and its longest time without an owner.
"""

from collections.abc import Container, Mapping
from typing import Final, NamedTuple

import msgspec

from coordinator.audit.schema import MemberRef, TopicPartitions

Partition = tuple[str, int]
"""Topic and index."""

KAFKA_STREAMS: Final = "stream"
SHORTER_KEPT: Final = 8
TOPIC_IDS_KEPT: Final = 1_000
"""So many ids of topics are compared with later ones, more than an event names."""
GIVES_UP_MS: Final = 1_000
"""So soon a member gives up what another one is to have, if it runs and is not busy."""


EAGER_ASSIGNORS: Final = frozenset({"range", "roundrobin", "sticky"})
"""Kafka's assignors whose members give up all partitions before they join (KIP-429); sticky at least moves few."""


def is_cooperative(protocol_name: str) -> bool:
    """Whether members keep what they own while they rebalance (KIP-429), by the name of their assignor."""
    return "cooperative" in protocol_name or protocol_name == KAFKA_STREAMS


class Absence(msgspec.Struct, frozen=True, gc=False):
    """Partitions that `member` owned last, and that had no owner until another one was assigned them. Wall-clock times.

    Those of one member that stopped, or were assigned, at different times are different absences.
    """

    member: MemberRef
    partitions: int
    stopped_ms: int
    assigned_ms: int
    is_revoked: bool = False
    """A cooperative rebalance took them from an owner that lives on, for the next generation to assign."""
    is_unsure: bool = False
    """The member may have stopped before `stopped_ms`: that is when it was missed."""
    shorter: tuple[int, ...] = ()
    """When owners had stopped otherwise, as far as it was for a shorter time."""

    @property
    def ms(self) -> int:
        return self.assigned_ms - self.stopped_ms


class Owner(msgspec.Struct, gc=False):
    """The last owner of a partition. `stopped_ms` is when it stopped; None while it owns the partition.

    `is_revoked`: it stopped because a generation did not assign it the partition again. `is_unsure`: it may have
    stopped earlier.
    """

    member_id: str
    assigned_ms: int = 0
    """Since when it is assigned the partition without a break; 0: not known."""
    owned_ms: int = 0
    """Since when no other one is; 0: not known."""
    stopped_ms: int | None = None
    is_revoked: bool = False
    is_unsure: bool = False


class Idle(msgspec.Struct, frozen=True, gc=False):
    """The longest time for which a partition had no owner since the group was stable."""

    member_id: str
    stopped_ms: int
    assigned_ms: int
    is_revoked: bool
    is_unsure: bool
    shorter: tuple[int, ...] = ()
    """When owners had stopped the other times, the first `SHORTER_KEPT` of them."""

    @property
    def ms(self) -> int:
        return self.assigned_ms - self.stopped_ms


class OwnershipChange(NamedTuple):
    """What changed since the group was stable before.

    `is_partial`: others may have had no owner either, as it is not known when theirs stopped.

    `moved` counts the partitions that had another owner then, `first` those that had none before; `absences` are of
    those that had none for a time. `could_stay` of those that moved had an owner that is there still.
    """

    moved: int
    absences: list[Absence]
    first: int = 0
    could_stay: int = 0
    is_partial: bool = False


class Owners(msgspec.Struct, gc=False):
    """The owners of all partitions that a group has been seen to own."""

    by_partition: dict[Partition, Owner] = {}
    owned: dict[str, set[Partition]] = {}
    """Member id → the partitions of which it is the last owner."""
    names: dict[str, MemberRef] = {}
    """Member id → the member, for each last owner, and each owner of `idle`."""
    before: dict[Partition, str | None] = {}
    """Partition → its last owner when the group was stable, of those that another member was assigned since then.

    None: it never had one.
    """
    idle: dict[Partition, Idle] = {}
    """Of those that have an owner again, and had none for a time since the group was stable."""
    is_unsure: bool = False
    """Whether the owner of another one may have stopped before it was assigned again, since the group was stable."""
    handed_over: set[int] = set()
    """When owners stopped in the ms in which another one was assigned what they had, since the group was stable."""
    gone: set[str] = set()
    """Topics that were deleted since they were assigned: of what is created again nobody is known to be the owner."""
    appeared: set[str] = set()
    """Topics that appeared since the group was loaded last and are there still: they are no others of a former name."""
    gone_before: set[str] = set()
    """Those that were gone when the generation started: what members keep of them are names alone."""
    topic_ids: dict[str, str] = {}
    """Topic → its id when members were last assigned partitions of it, as far as events tell."""
    stale: int = 0
    """For how many generations figures are not known, as partitions were assigned of a topic that was deleted after the
    generation started: which one is meant is open."""
    are_rejoins_recorded: bool = False
    """Whether events say when members that rejoin were heard before; older ones do not."""
    claiming: set[str] = set()
    """Protocols whose members were seen to keep what they own while they rebalance, whatever their names."""
    missed: set[str] = set()
    """Members that stopped as far as their silence tells, which are members still."""
    given_back: dict[Partition, int] = {}
    """Partition → when its last owner was to have it again, without an event that says when it had."""
    are_complete: bool = True
    """False after events are missing or name no partitions, until an assignment names all of them again."""

    def forget(self) -> None:
        """Events are missing: nothing is known until the next assignment."""
        self.by_partition, self.owned, self.names = {}, {}, {}
        self.before, self.idle, self.gone, self.gone_before = {}, {}, set(), set()
        self.given_back = {}
        self.are_complete = False

    # ---- members stop

    def gave_up(self, member_id: str, at_ms: int, *, is_unsure: bool = False, consumed_ms: int | None = None) -> None:
        """A member stopped consuming all that it owns: it left, was last heard, or joins an eager rebalance.

        One that was not heard after it was assigned a partition may never have had it; nor one of which nothing is
        known since then (`consumed_ms`: until when it surely had what it was assigned before).
        """
        self.resumed(at_ms, member_id)
        sign_ms = at_ms if consumed_ms is None else min(at_ms, consumed_ms)
        for partition in self.owned.get(member_id, ()):
            owner = self.by_partition[partition]
            was_gone = owner.is_revoked and owner.stopped_ms is not None and at_ms < owner.stopped_ms
            if owner.stopped_ms is None or was_gone:
                # Until it was assigned the partition, that had no owner because of the one before, if there was one.
                owner.stopped_ms, owner.is_revoked = max(at_ms, owner.owned_ms), False
                owner.is_unsure = is_unsure or sign_ms < owner.assigned_ms
            elif is_unsure and owner.is_revoked:
                owner.is_unsure = True  # a generation took it, and whether the member had it until then is not known

    def is_given_back(self, member_id: str, partitions: TopicPartitions, at_ms: int) -> None:
        """A member that gave up what it had for a rebalance is to have that again, as the rebalance is dropped.

        It asks for it when it learns of that, and no event says when.
        """
        for partition in flat(partitions):
            owner = self.by_partition.get(partition)
            if owner is not None and owner.member_id == member_id and owner.stopped_ms is not None:
                self.given_back[partition] = at_ms

    def resumed(self, at_ms: int | None = None, member_id: str | None = None) -> None:
        """What was given back before a time its owners have by then, or one of them has: since it was, at the earliest.

        Of what is given back at that time itself events tell when they have it.
        """
        for partition, since_ms in list(self.given_back.items()):
            owner = self.by_partition.get(partition)
            if owner is not None and member_id not in (None, owner.member_id):
                continue
            del self.given_back[partition]
            if owner is None or owner.stopped_ms is None or owner.stopped_ms >= since_ms:
                continue
            if at_ms is not None and at_ms <= since_ms:
                continue
            self._note_idle(partition, Owner(owner.member_id, is_unsure=True), owner.stopped_ms, since_ms)
            owner.assigned_ms, owner.stopped_ms = since_ms, None
            owner.is_revoked = owner.is_unsure = False

    def was_missed(self, member_id: str, at_ms: int) -> None:
        """A static member did not join, and nothing was heard of it since then."""
        self.missed.add(member_id)
        self.gave_up(member_id, at_ms, is_unsure=True)

    def lived(self, member_id: str, heard_ms: int) -> None:
        """A member that was missed was heard all the same: it may have had until then what it had."""
        for partition in self.owned.get(member_id, ()):
            owner = self.by_partition[partition]
            if owner.stopped_ms is not None and owner.stopped_ms < heard_ms and not owner.is_revoked:
                owner.stopped_ms = heard_ms

    def doubt(self, member_id: str) -> None:
        """A member claims nothing of what it has stopped to consume: it may have had nothing of it before, either."""
        for partition in self.owned.get(member_id, ()):
            owner = self.by_partition[partition]
            owner.is_unsure |= owner.stopped_ms is not None

    def had_lost(self, member: MemberRef, partitions: TopicPartitions, stopped_ms: int, assigned_ms: int) -> None:
        """A member had lost what it had before it rejoined, and others were assigned that at a time."""
        for partition in flat(partitions):
            owner = self.by_partition.get(partition)
            is_another = owner is not None and owner.member_id != member.member_id and owner.owned_ms == assigned_ms
            was_its_own = self.before.get(partition) == member.member_id and stopped_ms < assigned_ms
            if is_another and was_its_own and partition not in self.idle:
                self.names[member.member_id] = member
                had = Owner(member.member_id, is_unsure=True)
                self._note_idle(partition, had, stopped_ms, assigned_ms)

    def went_on(self, member_id: str, had: TopicPartitions | None = None) -> None:
        """It turns out that a member stopped nothing of what it had when it rejoined; None: all that it owned last."""
        for partition in self.owned.get(member_id, ()) if had is None else flat(had):
            owner = self.by_partition.get(partition)
            if owner is not None and owner.member_id == member_id and not owner.is_revoked:
                owner.stopped_ms, owner.is_unsure = None, False

    def still_had(self, member_id: str, at_ms: int) -> None:
        """A member rejoins that keeps what it owns, and says so when it has given up what it had to.

        One that stood still, or was busy, had that until then: since when not is not known.
        """
        for partition in self.owned.get(member_id, ()):
            owner = self.by_partition[partition]
            if owner.is_revoked and owner.stopped_ms is not None and at_ms - owner.stopped_ms > GIVES_UP_MS:
                owner.stopped_ms, owner.is_unsure = at_ms, True

    def never_had(self, member_id: str, gained: TopicPartitions, lost: TopicPartitions) -> None:
        """A member was not told of its last assignment, as the next rebalance had begun by then.

        It goes on with what it was to give up, and has nothing of what it was to have besides.
        """
        for partition in flat(gained):
            owner = self.by_partition.get(partition)
            if owner is not None and owner.member_id == member_id and owner.stopped_ms is None:
                owner.stopped_ms, owner.is_unsure = owner.owned_ms, True
        for partition in flat(lost):
            owner = self.by_partition.get(partition)
            if owner is not None and owner.member_id == member_id and owner.is_revoked:
                owner.stopped_ms, owner.is_revoked = None, False

    def never_gave_up(self, member_id: str, gained: TopicPartitions, claimed: int, at_ms: int) -> None:
        """Of what a member gains again, it still had so many when it rejoined: it never learned that it had lost them.

        Where it claims fewer than it gains, which ones is not known.
        """
        found = (self.by_partition.get(partition) for partition in flat(gained))
        revoked = [owner for owner in found if owner is not None and owner.member_id == member_id and owner.is_revoked]
        for owner in revoked:
            had_all = len(revoked) <= claimed
            owner.stopped_ms, owner.is_revoked, owner.is_unsure = None if had_all else at_ms, False, not had_all

    def never_got(self, member_id: str, partitions: TopicPartitions, heard_ms: int | None, at_ms: int) -> None:
        """A member says what it owns, and these are not among it, though it was told of them: it was not answered.

        One that was not heard since a load may have had them until now.
        """
        for partition in flat(partitions):
            owner = self.by_partition.get(partition)
            if owner is not None and owner.member_id == member_id and owner.stopped_ms is None:
                last_ms = at_ms if heard_ms is None else heard_ms
                owner.stopped_ms, owner.is_unsure = max(owner.assigned_ms, last_ms), True

    def never_began(self, member_id: str, partitions: TopicPartitions) -> bool:
        """Whether a member is known to have had none of these partitions, though it was assigned them."""
        found = (self.by_partition.get(partition) for partition in flat(partitions))
        return all(had is None or had.member_id != member_id or had.stopped_ms == had.owned_ms for had in found)

    def revoked(self, member_id: str, partitions: TopicPartitions, at_ms: int, *, is_unsure: bool = False) -> None:
        """A member gives up partitions that nobody has got yet; `is_unsure`: it may have done so earlier."""
        for partition in flat(partitions):
            owner = self.by_partition.get(partition)
            if owner is not None and owner.member_id == member_id and owner.stopped_ms is None:
                owner.stopped_ms, owner.is_revoked, owner.is_unsure = at_ms, True, is_unsure

    def has_no_more(self, member: MemberRef, partitions: TopicPartitions, at_ms: int) -> None:
        """A member is assigned these alone: what it has besides it gives up, as it never learned that it lost that."""
        left = {topic: set(indexes) for topic, indexes in partitions.items()}
        for partition in self.owned.get(member.member_id, ()):
            owner = self.by_partition[partition]
            if owner.stopped_ms is None and partition[1] not in left.get(partition[0], ()):
                owner.stopped_ms, owner.is_revoked, owner.is_unsure = at_ms, True, False

    # ---- members begin

    def assigned(self, member: MemberRef, partitions: TopicPartitions, at_ms: int) -> None:
        """A member gets its assignment, and owns these partitions from now on."""
        member_id, by_partition = member.member_id, self.by_partition
        self.gone.difference_update(partitions)
        for topic, indexes in partitions.items():
            for index in indexes:
                partition = topic, index
                owner = by_partition.get(partition)
                if owner is None:
                    by_partition[partition] = Owner(member_id, at_ms, at_ms)
                    self._own(member, partition)
                    self.before.setdefault(partition, None)
                    continue
                if owner.stopped_ms is not None:
                    if owner.stopped_ms < at_ms:
                        self._note_idle(partition, owner, owner.stopped_ms, at_ms)
                    elif owner.is_unsure:
                        self.is_unsure = True
                    elif len(self.handed_over) < SHORTER_KEPT:
                        self.handed_over.add(at_ms)
                    owner.assigned_ms, owner.stopped_ms = at_ms, None
                    owner.is_revoked = owner.is_unsure = False
                if owner.member_id != member_id:
                    owner.assigned_ms = owner.owned_ms = at_ms
                    self.before.setdefault(partition, owner.member_id)
                    self.owned[owner.member_id].discard(partition)
                    self._own(member, partition)
                    owner.member_id = member_id

    def _note_idle(self, partition: Partition, owner: Owner, stopped_ms: int, assigned_ms: int) -> None:
        idle = Idle(owner.member_id, stopped_ms, assigned_ms, owner.is_revoked, owner.is_unsure)
        before = self.idle.get(partition)
        if before is not None:
            longer, shorter = (before, idle) if before.ms >= idle.ms else (idle, before)
            # One that may have been longer than it seems may have been the longest.
            stops = (*before.shorter, shorter.stopped_ms)[:SHORTER_KEPT]
            idle = msgspec.structs.replace(longer, is_unsure=longer.is_unsure or shorter.is_unsure, shorter=stops)
        self.idle[partition] = idle

    def end_generation(self, members: Container[str] = ()) -> OwnershipChange:
        """What the assignments since the last call changed: the group is stable, with these members."""
        self.resumed()
        counts: dict[Idle, int] = {}
        shorter: dict[Idle, set[int]] = {}
        for recorded in self.idle.values():
            idle = msgspec.structs.replace(recorded, shorter=())
            counts[idle] = counts.get(idle, 0) + 1
            shorter.setdefault(idle, set()).update(recorded.shorter)
        absences = [
            Absence(
                self.names[idle.member_id],
                count,
                idle.stopped_ms,
                idle.assigned_ms,
                idle.is_revoked,
                idle.is_unsure or self.is_unsure,
                tuple(sorted(shorter[idle] | self.handed_over)),
            )
            for idle, count in counts.items()
        ]
        left = [
            before
            for partition, before in self.before.items()
            if (owner := self.by_partition[partition]).member_id != before and owner.stopped_ms is None
        ]
        first = left.count(None)
        is_partial = self.is_unsure
        self.before, self.idle, self.is_unsure, self.handed_over = {}, {}, False, set()
        self.missed.clear()
        for member_id in [name for name in self.names if not self.owned.get(name)]:
            self.owned.pop(member_id, None)
            del self.names[member_id]
        could_stay = sum(member_id in members for member_id in left)
        return OwnershipChange(len(left) - first, absences, first, could_stay, is_partial)

    def deleted(self, topic: str, partitions_left: int) -> None:
        """A topic has only its first partitions left: the others are gone, not without an owner."""
        if not partitions_left:
            self.gone.add(topic)
            self.appeared.discard(topic)
            self.topic_ids.pop(topic, None)
        for partition in [tp for tp in self.by_partition if tp[0] == topic and tp[1] >= partitions_left]:
            owner = self.by_partition.pop(partition)
            self.owned[owner.member_id].discard(partition)
            self.before.pop(partition, None)
            self.idle.pop(partition, None)

    def note_topic_ids(self, topic_ids: Mapping[str, str]) -> None:
        """The topics that there are when a generation starts: one with another id has had no owner."""
        for topic, topic_id in topic_ids.items():
            if self.topic_ids.get(topic, topic_id) != topic_id:
                self.deleted(topic, 0)
        if len(self.topic_ids) > TOPIC_IDS_KEPT:
            self.topic_ids = {}
        self.topic_ids.update(topic_ids)

    def goes_on(self, member: MemberRef, partitions: TopicPartitions, at_ms: int) -> None:
        """A member is assigned again what was assigned before: of topics that are gone since, these are others."""
        left = {topic: indexes for topic, indexes in partitions.items() if topic not in self.gone}
        self.assigned(member, left, at_ms)

    def found(self, member: MemberRef, partitions: TopicPartitions) -> None:
        """A member is told to own these partitions, without an assignment that can be seen."""
        for partition in flat(partitions):
            owner = self.by_partition.get(partition)
            if owner is None and partition[0] not in self.gone:
                self.by_partition[partition] = Owner(member.member_id)
                self._own(member, partition)

    def replaced(self, old_member_id: str, member: MemberRef) -> None:
        """A static member came back under a new member id, and has what it had."""
        for partition in self.owned.pop(old_member_id, ()):
            self.by_partition[partition].member_id = member.member_id
            self._own(member, partition)
        for partition in [tp for tp, before in self.before.items() if before == old_member_id]:
            self.before[partition] = member.member_id

    def lost_since(self, time_ms: int) -> int:
        """How many partitions have no owner now, and had one until that time or later."""
        stops = (owner.stopped_ms for owner in self.by_partition.values())
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
        topic: [index for index in indexes if index not in others.get(topic, ())]
        for topic, indexes in partitions.items()
    }
    return {topic: indexes for topic, indexes in left.items() if indexes}


def flat(partitions: TopicPartitions) -> list[Partition]:
    return [(topic, index) for topic, indexes in partitions.items() for index in indexes]
