"""How the members of a consumer group (KIP-848) get to the target assignment of a generation, and who holds up whom."""

from typing import Final

import msgspec

from coordinator.audit.schema import MemberReconciled, MemberRef, TopicPartitions
from coordinator.explain.words import Names, counted, duration, listed, plain

MEMBERS_KEPT_MAX: Final = 10_000
PARTITIONS_NAMED: Final = 3

Partition = tuple[str, int]


class Revocation(msgspec.Struct, gc=False):
    """Partitions that a member was asked to give up. Times are wall-clock ms since the epoch; None: not yet."""

    member: MemberRef
    asked_ms: int
    partitions: TopicPartitions
    count: int
    gave_up_ms: int | None = None
    was_removed: bool = False
    """Whether the member was removed before it had given them up; `gave_up_ms` is when."""
    waiting: dict[str, MemberRef] = {}
    """Member id → a member that waits for some of these partitions."""

    @property
    def took_ms(self) -> int | None:
        return None if self.gave_up_ms is None else max(0, self.gave_up_ms - self.asked_ms)


class Reconciliations(msgspec.Struct, gc=False):
    """What the members of one generation were asked to give up, by member id."""

    revocations: dict[str, Revocation] = {}
    waits: dict[str, dict[str, MemberRef]] = {}
    """Member id → those who wait for it now, by member id."""
    waits_of: dict[str, list[str]] = {}
    """Member id → the members that it waits for now."""

    def apply(self, event: MemberReconciled) -> None:
        """Take in a step of a member."""
        member, member_id = event.member, event.member.member_id
        self._note_waits(event)
        found = self.revocations.get(member_id)
        if event.revoking_count:
            if (found is None or found.gave_up_ms is not None) and len(self.revocations) < MEMBERS_KEPT_MAX:
                waiting = dict(self.waits.get(member_id, {}))
                self.revocations[member_id] = Revocation(
                    member, event.time_ms, event.revoking, event.revoking_count, waiting=waiting
                )
        elif found is not None and found.gave_up_ms is None:
            found.gave_up_ms = event.time_ms

    def removed(self, member_id: str, at_ms: int) -> None:
        """A member is gone, and what it had not given up is free."""
        found = self.revocations.get(member_id)
        if found is not None and found.gave_up_ms is None:
            found.gave_up_ms, found.was_removed = at_ms, True

    def ended(self) -> None:
        """Nobody waits any more."""
        self.waits, self.waits_of = {}, {}

    def slowest(self) -> Revocation | None:
        """The one that others waited for longest, as far as it is over; else the one that began first."""
        waited = [each for each in self.revocations.values() if each.waiting]
        unfinished = [each for each in waited if each.gave_up_ms is None]
        if unfinished:
            return min(unfinished, key=lambda each: each.asked_ms)
        return max(waited, key=lambda each: each.took_ms or 0, default=None)

    def _note_waits(self, event: MemberReconciled) -> None:
        waiter = event.member
        for holder_id in self.waits_of.pop(waiter.member_id, ()):
            self.waits[holder_id].pop(waiter.member_id, None)
        if event.waits_for:
            self.waits_of[waiter.member_id] = [each.member.member_id for each in event.waits_for]
        for each in event.waits_for:
            holder_id = each.member.member_id
            self.waits.setdefault(holder_id, {})[waiter.member_id] = waiter
            found = self.revocations.get(holder_id)
            if found is not None and found.gave_up_ms is None:
                found.waiting[waiter.member_id] = waiter


def revocation_told(revocation: Revocation, names: Names, held_up_ms: int) -> str | None:
    """Who held up whom; None if that was shorter than `held_up_ms`."""
    took_ms = revocation.took_ms
    if took_ms is not None and took_ms < held_up_ms:
        return None
    which = _partitions_named(revocation)
    waiting = f" {names.listed(list(revocation.waiting.values()))} waited for it." if revocation.waiting else ""
    who = names.of(revocation.member)
    if took_ms is None:
        return f"{who} was asked to give up {which} and has not done so.{waiting.replace(' waited', ' waits', 1)}"
    if revocation.was_removed:
        return f"{who} was asked to give up {which}, and was removed {duration(took_ms)} later.{waiting}"
    return f"{who} was asked to give up {which}, and took {duration(took_ms)} to do so.{waiting}"


def _partitions_named(revocation: Revocation) -> str:
    named = [f"{plain(topic)}-{index}" for topic, indexes in revocation.partitions.items() for index in indexes][
        :PARTITIONS_NAMED
    ]
    if not named:
        return counted(revocation.count, "partition")
    return listed(named, more=max(0, revocation.count - len(named)))
