"""Mutants of the events and of the group that they change."""

from typing import Final

from tests.mutations.mutant import Mutant

EVENTS: Final = "coordinator/core/classic/events.py"
CLASSIC_GROUP: Final = "coordinator/core/classic/group.py"
REBALANCE: Final = "coordinator/core/classic/rebalance.py"
SESSIONS: Final = "coordinator/core/sessions.py"

EVENT_MUTANTS: Final = (
    Mutant(
        "the removal of a pending member does not end the wait for it",
        EVENTS,
        "            classic.allow_join_completion()\n",
        "            pass\n",
    ),
    Mutant(
        "the rejection of a pending member ends the join phase",
        EVENTS,
        "            classic.defer_join_completion()\n        else:\n",
        "            classic.allow_join_completion()\n        else:\n",
    ),
    Mutant(
        "the removal of a rejected member ends the join phase",
        EVENTS,
        "            classic.defer_join_completion()\n\n",
        "            classic.allow_join_completion()\n\n",
    ),
    Mutant(
        "a pending member that leaves starts no rebalance",
        EVENTS,
        "if self.cause is Cause.MEMBER_LEFT and classic.state in (STABLE, COMPLETING_REBALANCE):",
        "if self.cause is Cause.MEMBER_LEFT and classic.state in ():",
    ),
    Mutant(
        "a pending member that expires starts a rebalance",
        EVENTS,
        "if self.cause is Cause.MEMBER_LEFT and classic.state in (STABLE, COMPLETING_REBALANCE):",
        "if self.cause is not Cause.GROUP_MAX_SIZE_REACHED and classic.state in (STABLE, COMPLETING_REBALANCE):",
    ),
    Mutant(
        "a member that joins stays pending",
        EVENTS,
        "classic.pending_members.pop(self.member_id, None)",
        "classic.pending_members.get(self.member_id, None)",
    ),
    Mutant(
        "a new member does not extend the initial delay",
        EVENTS,
        "classic.rebalance.new_member_came = True",
        "classic.rebalance.new_member_came = False",
    ),
    Mutant(
        "the initial delay is extended though no member came",
        EVENTS,
        "rebalance.remaining_delay_ms, rebalance.new_member_came = self.remaining_delay_ms, False",
        "rebalance.remaining_delay_ms, rebalance.new_member_came = self.remaining_delay_ms, True",
    ),
    Mutant(
        "a static member that came back has no assignment",
        EVENTS,
        "assignment=old.assignment,",
        'assignment=b"",',
    ),
    Mutant(
        "the leader is lost when a static leader comes back",
        EVENTS,
        "        if led:\n",
        "        if led and self.request_id is None:\n",
    ),
    Mutant(
        "a static member that came back is not expected to sync",
        EVENTS,
        "owed_sync = self.old_member_id in classic.pending_sync",
        "owed_sync = False",
    ),
    Mutant(
        "assignments are kept when a rebalance interrupts CompletingRebalance",
        EVENTS,
        'member.assignment, member.awaiting_sync = b"", None',
        "member.awaiting_sync = None",
    ),
    Mutant(
        "the reason of a rebalance is kept after it started",
        EVENTS,
        "        classic.rebalance_reason = None\n",
        "",
    ),
    Mutant(
        "a member is new for ever",
        EVENTS,
        "            member.is_new, member.answered_ms = False, self.at_ms\n",
        "            member.answered_ms = self.at_ms\n",
    ),
    Mutant(
        "a member that synced is still expected to sync",
        EVENTS,
        "classic.pending_sync.discard(self.member_id)",
        "classic.pending_sync.copy()",
    ),
    Mutant(
        "members whose assignment was rejected still wait for it",
        EVENTS,
        "awaiting_sync, member.answered_ms = None, self.at_ms\n        classic.request_rebalance(",
        "is_new, member.answered_ms = False, self.at_ms\n        classic.request_rebalance(",
    ),
    Mutant(
        "the answer to a JoinGroup that waited is a sign of life",
        EVENTS,
        "            member.is_new, member.answered_ms = False, self.at_ms\n",
        "            member.is_new = False\n",
    ),
    Mutant(
        "the answer to a SyncGroup that waited is a sign of life",
        EVENTS,
        "                member.awaiting_sync, member.answered_ms = None, self.at_ms\n\n\n",
        "                member.awaiting_sync = None\n\n\n",
    ),
    Mutant(
        "a member that joins over another connection is told by its first one",
        EVENTS,
        "        member.client_connection = self.client_connection\n        classic.update_protocols",
        "        classic.update_protocols",
    ),
    Mutant(
        "a connection that closed before the member was last heard is told of",
        "coordinator/core/classic/connection_at_removal.py",
        "    if renewed_ms > connection.closed_ms:\n        return UNKNOWN\n",
        "",
    ),
    Mutant(
        "a rejected assignment starts no rebalance",
        EVENTS,
        '        classic.request_rebalance(Cause.ASSIGNMENT_TOO_LARGE, classic.members[self.member_id], "")\n',
        "",
    ),
)

GROUP_MUTANTS: Final = (
    Mutant(
        "pending members are not waited for",
        CLASSIC_GROUP,
        "return self.awaiting_join_count == len(self.members) and not self.pending_members",
        "return self.awaiting_join_count == len(self.members)",
    ),
    Mutant(
        "a protocol that one other member offers is enough",
        CLASSIC_GROUP,
        "and len(self.members) in offered_by",
        "and any(offered_by)",
    ),
    Mutant(
        "the protocols of a removed member still count",
        CLASSIC_GROUP,
        "        self._count_protocols(member.protocols, -1)\n        if member.awaiting_join is not None:\n",
        "        if member.awaiting_join is not None:\n",
    ),
    Mutant(
        "the former protocols of a member still count",
        CLASSIC_GROUP,
        "        self._count_protocols(member.protocols, -1)\n        member.protocols = protocols\n",
        "        member.protocols = protocols\n",
    ),
    Mutant(
        "a removed member still counts as waiting",
        CLASSIC_GROUP,
        "self.awaiting_join_count -= 1",
        "self.awaiting_join_count -= 0",
    ),
    Mutant(
        "a removed member is still expected to sync",
        CLASSIC_GROUP,
        "self.pending_sync.discard(member_id)",
        "self.pending_sync.copy()",
    ),
    Mutant(
        "no member follows a leader that is removed",
        CLASSIC_GROUP,
        "self.leader = next(iter(self.members), None)",
        "self.leader = None",
    ),
    Mutant(
        "the metadata of another protocol type count as subscriptions",
        CLASSIC_GROUP,
        "tuple(metadata) if self.protocol_type == CONSUMER_PROTOCOL_TYPE else None",
        "tuple(metadata)",
    ),
    Mutant(
        "the last reason of a rebalance counts instead of the first",
        CLASSIC_GROUP,
        "if self.rebalance_reason is None and self.state is not PREPARING_REBALANCE:",
        "if self.state is not PREPARING_REBALANCE:",
    ),
    Mutant(
        "a pending member may send heartbeats",
        SESSIONS,
        "            self.may_heartbeat,\n",
        "            True,\n",
    ),
    Mutant(
        "nobody is woken when members are late to sync",
        REBALANCE,
        "        return group.sync_deadline_ms\n",
        "        return None\n",
    ),
)

MUTANTS: Final = (*EVENT_MUTANTS, *GROUP_MUTANTS)
