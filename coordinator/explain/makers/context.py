"""What the claims about one generation are made from."""

from functools import cached_property
from typing import Final

from coordinator.audit.schema import MemberRef, RequestRejected, Trigger
from coordinator.core.causes import Cause
from coordinator.explain.changes import FoundTopics, Joining, Removal, Replacement, Resubscription
from coordinator.explain.generation import Generation, Outcome
from coordinator.explain.history import GroupHistory
from coordinator.explain.identities import identity

REPEATED_MS: Final = 60_000
"""Of requests that are rejected again and again not each is told."""
READ_AFTER_MS: Final = 1_000
"""What was sent while the coordinator stood still is read so soon after that."""
HEARTBEATS: Final = frozenset({"Heartbeat", "ConsumerGroupHeartbeat"})


class Context:
    """A generation, the stable one before it, and the history of both."""

    def __init__(self, history: GroupHistory, generation: Generation) -> None:
        self.history = history
        self.generation = generation
        self.previous = history.before(generation)

    @cached_property
    def _removals(self) -> dict[str, Removal]:
        return {removal.member.member_id: removal for removal in self.generation.changes.removed}

    @cached_property
    def _joins(self) -> dict[str, Joining]:
        return {joining.member.member_id: joining for joining in self.generation.changes.joined}

    @cached_property
    def _resubscriptions(self) -> dict[str, Resubscription]:
        return {
            resubscription.member.member_id: resubscription for resubscription in self.generation.changes.resubscribed
        }

    @cached_property
    def _replacements(self) -> dict[str, Replacement]:
        return {replacement.member.member_id: replacement for replacement in self.generation.changes.replaced}

    @cached_property
    def came_again(self) -> dict[str, RequestRejected]:
        """Member id → the first heartbeat of a removed member after its removal."""
        found: dict[str, RequestRejected] = {}
        for rejected in self.history.rejected:
            leaves = rejected.api == "ConsumerGroupHeartbeat" and (rejected.request_generation_id or 0) < 0
            if (
                rejected.error == "UNKNOWN_MEMBER_ID"
                and rejected.api in HEARTBEATS
                and not rejected.injected
                and not leaves
            ):
                found.setdefault(rejected.member.member_id, rejected)
        return found

    def again(self, removal: Removal) -> RequestRejected | None:
        """When the client of a removed member asked again under its old member id; None: it did not."""
        found = self.came_again.get(removal.member.member_id)
        if found is None or found.time_ms < removal.at_ms or removal.muted_ms:
            return None  # what was sent before the connection was muted is read after that, whoever lives
        if self._was_removed_again(removal, found.time_ms):
            return None
        is_at_once = found.time_ms - removal.at_ms <= READ_AFTER_MS
        if is_at_once and (removal.coordinator_paused_ms or removal.connection_closed_in_pause_ms):
            return None  # nor is what waited while the coordinator stood still
        return found

    def _was_removed_again(self, removal: Removal, by_ms: int) -> bool:
        """Whether a load took the removal back, and the member was removed later."""
        removals = (removed for generation in self.history.generations for removed in generation.changes.removed)
        later = (removed.member.member_id for removed in removals if removal.at_ms < removed.at_ms <= by_ms)
        return removal.member.member_id in later

    def rejected_in_silence(self, removal: Removal) -> RequestRejected | None:
        """A request under its member id that was rejected, and so renewed no session, before the member was removed."""
        since_ms = removal.last_heard_ms
        if since_ms is None:
            return None
        return self.rejected_since(removal, since_ms)

    def rejected_since(self, removal: Removal, since_ms: int) -> RequestRejected | None:
        """The last request under the id of a removed member that was rejected in this time before its removal.

        Of those that are rejected alike, again and again, the first and some others are told.
        """
        theirs = (
            rejected
            for rejected in reversed(self.history.rejected)
            if rejected.member.member_id == removal.member.member_id
        )
        return next(
            (their for their in theirs if since_ms <= their.time_ms <= removal.at_ms and not their.injected), None
        )

    def may_be_refused(self, removal: Removal) -> bool:
        """Whether a connection that is not known may have brought requests of a removed member, and they were refused.

        Its client was refused before it was removed, and has closed the connection by which it had joined, or that is
        not known.
        """
        if removal.connection_open:
            return False
        client = removal.member.client_id, removal.member.client_host
        return any(
            denial.time_ms <= removal.at_ms and (denial.client_id, denial.client_host) == client
            for denial in self.history.denials
        )

    def was_refused_to_join(self, removal: Removal) -> bool:
        """Whether its client asked to join again while it was waited for, and was refused."""
        since_ms = (removal.last_joined_ms or 0) - REPEATED_MS
        who = identity(removal.member), (removal.member.client_id, removal.member.client_host)
        return any(
            rejected.api == "JoinGroup"
            and since_ms <= rejected.time_ms <= removal.at_ms
            and identity(rejected.member) in who
            for rejected in self.history.rejected
        )

    def found_at(self, at_ms: int) -> FoundTopics | None:
        """Regular expressions that were looked up at the begin of this rebalance, or of one that it supersedes."""
        for generation in reversed(self.history.generations):
            if generation.first_seq > self.generation.first_seq:
                continue
            found = generation.changes.found
            if found is not None and found.at_ms == at_ms:
                return found
            if generation is not self.generation and generation.outcome is Outcome.STABLE:
                return None
        return None

    def removal_of(self, trigger: Trigger) -> Removal:
        found = None if trigger.member is None else self._removals.get(trigger.member.member_id)
        if found is None or found.cause is not trigger.cause:  # one of KIP-848 that comes again keeps its id
            found = self._earlier_removal(trigger) or found
        return found or Removal(trigger.member or MemberRef(""), trigger.cause, trigger.reason, trigger.at_ms)

    def _earlier_removal(self, trigger: Trigger) -> Removal | None:
        """Of a trigger that an earlier rebalance had, too, which did not become stable."""
        if trigger.member is None:
            return None
        for generation in reversed(self.history.generations):
            if generation.first_seq >= self.generation.first_seq:
                continue
            for removal in generation.changes.removed:
                if removal.member.member_id == trigger.member.member_id and removal.cause is trigger.cause:
                    return removal
            if generation.outcome is Outcome.STABLE:
                return None
        return None

    def resubscription_of(self, trigger: Trigger) -> Resubscription | None:
        return None if trigger.member is None else self._resubscriptions.get(trigger.member.member_id)

    def replacement_of(self, trigger: Trigger) -> Replacement | None:
        return None if trigger.member is None else self._replacements.get(trigger.member.member_id)

    def event_of(self, trigger: Trigger) -> int | None:
        """The event that a trigger is told of by; the first one of the rebalance if there is no other."""
        member_id = None if trigger.member is None else trigger.member.member_id
        found: Joining | Removal | Resubscription | Replacement | None = None
        if member_id is not None:
            if trigger.cause is Cause.NEW_MEMBER:
                found = self._joins.get(member_id)
            elif trigger.cause is Cause.METADATA_CHANGED:
                found = self._resubscriptions.get(member_id)
            elif trigger.cause is Cause.STATIC_REPLACED:
                found = self._replacements.get(member_id)
            else:
                found = self._removals.get(member_id)
        return self.generation.first_seq if found is None or found.seq is None else found.seq
