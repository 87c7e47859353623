"""Mutants of the events and of the group that they change."""

from typing import Final

from tests.mutations.mutant import Mutant

EVENT_MUTANTS: Final = (
    Mutant(
        "the removal of a pending member does not end the wait for it",
        "PendingMemberRemoved.apply",
        "classic.allow_join_completion()",
        "pass",
    ),
    Mutant(
        "the rejection of a pending member ends the join phase",
        "PendingMemberRemoved.apply",
        "classic.defer_join_completion()",
        "classic.allow_join_completion()",
    ),
    Mutant(
        "the removal of a rejected member ends the join phase",
        "MemberRemoved.apply",
        "classic.defer_join_completion()",
        "classic.allow_join_completion()",
    ),
    Mutant(
        "a pending member that leaves starts no rebalance",
        "PendingMemberRemoved.apply",
        "if self.cause is Cause.MEMBER_LEFT and classic.state in (STABLE, COMPLETING_REBALANCE):",
        "if self.cause is Cause.MEMBER_LEFT and classic.state in ():",
    ),
    Mutant(
        "a pending member that expires starts a rebalance",
        "PendingMemberRemoved.apply",
        "if self.cause is Cause.MEMBER_LEFT and classic.state in (STABLE, COMPLETING_REBALANCE):",
        "if self.cause is not Cause.GROUP_MAX_SIZE_REACHED and classic.state in (STABLE, COMPLETING_REBALANCE):",
    ),
    Mutant(
        "a member that joins stays pending",
        "MemberJoined.apply",
        "classic.pending_members.pop(self.member_id, None)",
        "classic.pending_members.get(self.member_id, None)",
    ),
    Mutant(
        "a new member does not extend the initial delay",
        "MemberJoined.apply",
        "classic.rebalance.new_member_came = True",
        "classic.rebalance.new_member_came = False",
    ),
    Mutant(
        "the initial delay is extended though no member came",
        "JoinPhaseExtended.apply",
        "rebalance.remaining_delay_ms, rebalance.new_member_came = self.remaining_delay_ms, False",
        "rebalance.remaining_delay_ms, rebalance.new_member_came = self.remaining_delay_ms, True",
    ),
    Mutant(
        "a static member that came back has no assignment",
        "StaticMemberReplaced.replacement",
        "assignment=old.assignment,",
        'assignment=b"",',
    ),
    Mutant(
        "the leader is lost when a static leader comes back",
        "StaticMemberReplaced.apply",
        "if led:",
        "if led and self.request_id is None:",
    ),
    Mutant(
        "a static member that came back is not expected to sync",
        "StaticMemberReplaced.apply",
        "owed_sync = self.old_member_id in classic.pending_sync",
        "owed_sync = False",
    ),
    Mutant(
        "assignments are kept when a rebalance interrupts CompletingRebalance",
        "RebalanceStarted.apply",
        'member.assignment, member.awaiting_sync = b"", None',
        "member.awaiting_sync = None",
    ),
    Mutant(
        "the reason of a rebalance is kept after it started",
        "RebalanceStarted.apply",
        "classic.rebalance_reason = None",
        "",
    ),
    Mutant(
        "a member is new for ever",
        "GenerationStarted.apply",
        "member.is_new, member.answered_ms = False, self.at_ms",
        "member.answered_ms = self.at_ms",
    ),
    Mutant(
        "a member that synced is still expected to sync",
        "MemberSynced.apply",
        "classic.pending_sync.discard(self.member_id)",
        "classic.pending_sync.copy()",
    ),
    Mutant(
        "members whose assignment was rejected still wait for it",
        "AssignmentRejected.apply",
        "awaiting_sync, member.answered_ms = None, self.at_ms",
        "is_new, member.answered_ms = False, self.at_ms",
    ),
    Mutant(
        "the answer to a JoinGroup that waited is a sign of life",
        "GenerationStarted.apply",
        "member.is_new, member.answered_ms = False, self.at_ms",
        "member.is_new = False",
    ),
    Mutant(
        "the answer to a SyncGroup that waited is a sign of life",
        "GenerationStable.apply",
        "member.awaiting_sync, member.answered_ms = None, self.at_ms",
        "member.awaiting_sync = None",
    ),
    Mutant(
        "a member that joins over another connection is told by its first one",
        "MemberRejoined.apply",
        "member.client_connection = self.client_connection\nif",
        "if",
    ),
    Mutant(
        "a connection that closed before the member was last heard is told of",
        "_open_or_closed",
        "if renewed_ms > connection.closed_ms or has_committed:\n    return UNKNOWN",
        "",
    ),
    Mutant(
        "a rejected assignment starts no rebalance",
        "AssignmentRejected.apply",
        'classic.request_rebalance(Cause.ASSIGNMENT_TOO_LARGE, classic.members[self.member_id], "")',
        "",
    ),
)

GROUP_MUTANTS: Final = (
    Mutant(
        "pending members are not waited for",
        "ClassicGroup.all_have_joined",
        "return self.awaiting_join_count == len(self.members) and not self.pending_members",
        "return self.awaiting_join_count == len(self.members)",
    ),
    Mutant(
        "a protocol that one other member offers is enough",
        "ClassicGroup.accepts_protocols",
        "and len(self.members) in offered_by",
        "and any(offered_by)",
    ),
    Mutant(
        "the protocols of a removed member still count",
        "ClassicGroup.remove_member",
        "self._count_protocols(member.protocols, -1)\nif member.awaiting_join is not None:",
        "if member.awaiting_join is not None:",
    ),
    Mutant(
        "the former protocols of a member still count",
        "ClassicGroup.update_protocols",
        "self._count_protocols(before, -1)\n",
        "",
    ),
    Mutant(
        "a removed member still counts as waiting",
        "ClassicGroup.remove_member",
        "self.awaiting_join_count -= 1",
        "self.awaiting_join_count -= 0",
    ),
    Mutant(
        "a removed member is still expected to sync",
        "ClassicGroup.remove_member",
        "self.pending_sync.discard(member_id)",
        "self.pending_sync.copy()",
    ),
    Mutant(
        "no member follows a leader that is removed",
        "ClassicGroup.remove_member",
        "self.leader = next(iter(self.members), None)",
        "self.leader = None",
    ),
    Mutant(
        "the metadata of another protocol type count as subscriptions",
        "ClassicGroup.keep_subscriptions",
        "tuple(metadata) if self.protocol_type == CONSUMER_PROTOCOL_TYPE else None",
        "tuple(metadata)",
    ),
    Mutant(
        "the last reason of a rebalance counts instead of the first",
        "ClassicGroup.request_rebalance",
        "if self.rebalance_reason is None and self.state is not PREPARING_REBALANCE:",
        "if self.state is not PREPARING_REBALANCE:",
    ),
    Mutant(
        "a pending member may send heartbeats",
        "SessionStarted.apply",
        "self.may_heartbeat,",
        "True,",
    ),
    Mutant(
        "nobody is woken when members are late to sync",
        "next_deadline_ms",
        "return group.sync_deadline_ms",
        "return None",
    ),
)

MUTANTS: Final = (*EVENT_MUTANTS, *GROUP_MUTANTS)
