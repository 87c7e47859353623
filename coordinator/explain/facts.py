"""What several findings about a group rest on, found once."""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Final, TypeVar

from coordinator.core.causes import Cause
from coordinator.explain.changes import Joining, Removal, Replacement
from coordinator.explain.claims.findings import Identity
from coordinator.explain.generation import Generation, Outcome
from coordinator.explain.history import GroupHistory
from coordinator.explain.identities import identity

T = TypeVar("T")

JOINS: Final = frozenset({"JoinGroup", "ConsumerGroupHeartbeat"})
RETURN_MS: Final = 60_000
"""A member that joins within this time after it left or was removed is taken for the same one."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A removal, and the next join of a client of the same identity within `RETURN_MS`."""

    removal: Removal
    back_ms: int | None
    back_id: str = ""
    """The member id that it came back with."""
    is_same_process: bool = False
    """Whether it surely is the same process: by its connection, or by a member id that nobody else has (KIP-848)."""


class Facts:
    """What several findings rest on, found once."""

    def __init__(self, history: GroupHistory) -> None:
        self.history = history

    @cached_property
    def complete(self) -> list[Generation]:
        """The generations that counted, each with a known start."""
        tracked = self.history.generations
        return [
            generation
            for generation in tracked
            if generation.rebalance_started_ms is not None and not generation.is_void
        ]

    @cached_property
    def stable(self) -> list[Generation]:
        return [generation for generation in self.complete if generation.outcome is Outcome.STABLE]

    def rebalances_between(self, from_ms: int, until_ms: int) -> int:
        """How many rebalances began in this time (wall clock)."""
        return sum(1 for generation in self.complete if from_ms <= (generation.rebalance_started_ms or 0) <= until_ms)

    @cached_property
    def _asked_again(self) -> dict[str, list[int]]:
        """Member id → when its client asked under it though it was removed, or joined with it: one of KIP-848 does."""
        found: dict[str, list[int]] = defaultdict(list)
        for rejected in self.history.rejected:
            is_of_living = rejected.api.endswith("Heartbeat") or rejected.api == "OffsetCommit"
            if rejected.error == "UNKNOWN_MEMBER_ID" and is_of_living and not rejected.injected:
                found[rejected.member.member_id].append(rejected.time_ms)
        for changes in (*(generation.changes for generation in self.history.generations), self.history.pending_changes):
            for joining in changes.joined:
                found[joining.member.member_id].append(joining.at_ms)
        return found

    @cached_property
    def _removed_ms(self) -> dict[str, list[int]]:
        """Member id → when members with it were removed: one of KIP-848 keeps it, and so does a load."""
        found: dict[str, list[int]] = defaultdict(list)
        for generation in self.history.generations:
            for removal in generation.changes.removed:
                found[removal.member.member_id].append(removal.at_ms)
        return found

    def came_again(self, removal: Removal) -> bool:
        """Whether the client of a removed member asked again under its id, before that was removed again: it lived."""
        member_id = removal.member.member_id
        later = [time_ms for time_ms in self._removed_ms.get(member_id, ()) if time_ms > removal.at_ms]
        until_ms = min(later, default=None)
        return any(
            removal.at_ms <= time_ms and (until_ms is None or time_ms < until_ms)
            for time_ms in self._asked_again.get(member_id, ())
        )

    @cached_property
    def _refused_ms(self) -> dict[Identity, int]:
        """Client → when it was last refused a place in the group."""
        joins = (rejected for rejected in self.history.rejected if rejected.api in JOINS and not rejected.injected)
        return {identity(rejected.member): rejected.time_ms for rejected in joins}

    def asked_again(self, removal: Removal) -> bool:
        """Whether the client of a removed member was refused a place after that: it lives, or runs again."""
        return self._refused_ms.get(identity(removal.member), 0) > removal.at_ms

    @cached_property
    def first_joined_ms(self) -> dict[str, int]:
        """Member id → when a member joined with it first."""
        joins = [joining for generation in self.history.generations for joining in generation.changes.joined]
        return {joining.member.member_id: joining.at_ms for joining in reversed(joins)}

    @cached_property
    def _joined_ms(self) -> dict[str, int]:
        """Member id → when a member joined with it last."""
        joins = [joining for generation in self.history.generations for joining in generation.changes.joined]
        return {joining.member.member_id: joining.at_ms for joining in (*joins, *self.history.pending_changes.joined)}

    def joined_again(self, removal: Removal) -> bool:
        """Whether the client of a removed member joined again with its id, as one of KIP-848 does: it lives."""
        return self._joined_ms.get(removal.member.member_id, 0) >= removal.at_ms

    @cached_property
    def last_joined_ms(self) -> dict[Identity, int]:
        """Client id and host → when a client of that name joined last, also if it is gone again."""
        joins = [joining for generation in self.history.generations for joining in generation.changes.joined]
        found: dict[Identity, int] = {}
        for joining in (*joins, *self.history.pending_changes.joined):
            client = joining.member.client_id, joining.member.client_host
            found[client] = max(found.get(client, 0), joining.at_ms)
        for replacements in self.replacements.values():
            for change in replacements:
                client = change.member.client_id, change.member.client_host
                found[client] = max(found.get(client, 0), change.at_ms)
        for tracked in self.history.members.values():
            client = tracked.member.client_id, tracked.member.client_host
            found[client] = max(found.get(client, 0), tracked.joined_ms or 0)
        return found

    @cached_property
    def visits(self) -> dict[Identity, list[Visit]]:
        """Identity → its removals in order; by an administrator or a rebalance timeout too."""
        joins: dict[Identity, deque[Joining]] = defaultdict(deque)
        for generation in self.history.generations:
            for joined in generation.changes.joined:
                joins[identity(joined.member)].append(joined)
        visits: dict[Identity, list[Visit]] = defaultdict(list)
        for generation in self.history.generations:
            for removal in generation.changes.removed:
                waiting = joins[identity(removal.member)]
                while waiting and not removal.precedes(waiting[0]):
                    waiting.popleft()
                is_back = waiting and waiting[0].at_ms - removal.at_ms <= RETURN_MS
                back = waiting.popleft() if is_back else None
                visit = Visit(removal, None) if back is None else _visit(removal, back)
                visits[identity(removal.member)].append(visit)
        return visits

    @cached_property
    def replacements(self) -> dict[str, list[Replacement]]:
        """Instance id → the replacements of the member that has it, in order."""
        found: dict[str, list[Replacement]] = defaultdict(list)
        changes = [generation.changes.replaced for generation in self.history.generations]
        while_stable = [generation.replaced_while_stable for generation in self.history.generations]
        for replacement in chain(*changes, *while_stable, self.history.pending_changes.replaced):
            found[replacement.member.group_instance_id or ""].append(replacement)
        for replacements in found.values():
            replacements.sort(key=lambda replacement: replacement.seq)
        return found

    @cached_property
    def most_at_once(self) -> dict[Identity, int]:
        """Identity → how many members had it in one generation: clients on one host often share a client id.

        One that was silent before the generation was over, and was removed for that later, may be the same client.
        """
        most: dict[Identity, int] = defaultdict(int)
        silent_ms = {
            removal.member.member_id: min(removal.stopped_ms, removal.gone_ms)
            for generation in self.history.generations
            for removal in generation.changes.removed
            if removal.cause is Cause.SESSION_EXPIRED
        }
        for generation in self.history.generations:
            ended_ms = generation.ended_ms or generation.started_ms or 0
            count = Counter(
                identity(part.member)
                for member_id, part in generation.members.items()
                if silent_ms.get(member_id, ended_ms + 1) > ended_ms
            )
            for names, number in count.items():
                most[names] = max(most[names], number)
        return most


def _visit(removal: Removal, back: Joining) -> Visit:
    own_ids = back.member.member_id, back.rejected_as
    return Visit(removal, back.at_ms, back.member.member_id, removal.member.member_id in own_ids)


def densest(items: Iterable[T], window_ms: int, time_of: Callable[[T], int]) -> list[T]:
    """The longest run of items, in order of time, that lies within a window."""
    best: list[T] = []
    run: deque[T] = deque()
    for item in items:
        run.append(item)
        while time_of(item) - time_of(run[0]) > window_ms:
            run.popleft()
        if len(run) > len(best):
            best = list(run)
    return best
