"""Lines about classic groups → statements.

Sources: `GroupCoordinator.scala`, `GroupMetadata.scala`, `GroupMetadataManager.scala` of Kafka 1.0 to 3.9 (its messages
end without a full stop), `GroupMetadataManager.java`, `ClassicGroup.java` of 3.9 and 4.x.
"""

from typing import Final

from coordinator.observe.logs import statements as said
from coordinator.observe.logs.rules import Rule
from coordinator.observe.logs.statements import Reason

METADATA: Final = (
    "MemberMetadata(memberId={member_id}, groupInstanceId={group_instance_id:scala-instance}, clientId={client_id},"
    " clientHost={client_host}, sessionTimeoutMs={session_timeout_ms}, rebalanceTimeoutMs={rebalance_timeout_ms},"
    " supportedProtocols={protocols})"
)
NEW_LEADER: Final = METADATA.replace("member_id", "new_leader").replace("group_instance_id", "new_instance_id")
OFFSETS: Final = "(__consumer_offsets-{offsets_partition})"
BY_LEAVE: Final = "has left group through explicit `LeaveGroup` request"

REBALANCES: Final = (
    Rule(
        "Preparing to rebalance group {group_id} in state {state} with old generation {generation_before}"
        f" {OFFSETS} (reason: {{reason}})",
        said.RebalancePrepared,
    ),
    Rule(
        "Preparing to rebalance group {group_id} in state {state} with old generation {generation_before}"
        " (reason: {reason}).",
        said.RebalancePrepared,
    ),
    # Before 2.1
    Rule(
        f"Preparing to rebalance group {{group_id}} with old generation {{generation_before}} {OFFSETS}",
        said.RebalancePrepared,
        reason=Reason.OTHER,
        text="",
    ),
)
"""What `reason` is: `reasons.py`."""

GENERATIONS: Final = (
    Rule(
        f"Stabilized group {{group_id}} generation {{generation_id}} {OFFSETS} with {{members}} members",
        said.GroupStabilized,
    ),
    Rule(f"Stabilized group {{group_id}} generation {{generation_id}} {OFFSETS}", said.GroupStabilized),  # before 2.4
    Rule("Stabilized group {group_id} generation {generation_id} with {members} members.", said.GroupStabilized),
    Rule(
        "Assignment received from leader for group {group_id} for generation {generation_id}. The group has {members}"
        " members, {static_members} of which are static.",
        said.AssignmentReceived,
    ),
    Rule(
        "Assignment received from leader {leader} for group {group_id} for generation {generation_id}. The group has"
        " {members} members, {static_members} of which are static.",
        said.AssignmentReceived,
    ),
    # Before 2.4
    Rule(
        "Assignment received from leader for group {group_id} for generation {generation_id}", said.AssignmentReceived
    ),
    Rule(f"Group {{group_id}} with generation {{generation_id}} is now empty {OFFSETS}", said.GroupEmptied),
    Rule("Group {group_id} with generation {generation_id} is now empty.", said.GroupEmptied),
)

JOINS: Final = (
    Rule(
        "Dynamic member with unknown member id joins group {group_id} in {state} state. Created a new member id"
        " {member_id} and request the member to rejoin with this id.",
        said.MemberIdHandedOut,
    ),
    Rule(
        "Dynamic member with unknown member id joins group {group_id} in {state} state. Created a new member id"
        " {member_id} and requesting the member to rejoin with this id.",
        said.MemberIdHandedOut,
    ),
    Rule(
        "Dynamic Member with unknown member id joins group {group_id} in {state} state. Created a new member id"
        " {member_id} and request the member to rejoin with this id.",
        said.MemberIdHandedOut,
    ),
    Rule(
        "Pending dynamic member with id {member_id} joins group {group_id} in {state} state. Adding to the group now.",
        said.MemberAdded,
    ),
    Rule(
        "Dynamic member with unknown member id joins group {group_id} in state {state}. Created a new member id"
        " {member_id} and added the member to the group.",
        said.MemberAdded,
        is_without_id=True,
    ),
    *(
        Rule(
            f"Dynamic {member} with unknown member id joins group {{group_id}} in {{state}} state. Created a new member"
            " id {member_id} for this member and add to the group.",
            said.MemberAdded,
            is_without_id=True,
        )
        for member in ("member", "Member")
    ),
    Rule(
        "Static Member with unknown member id joins group {group_id} in {state} state. Created a new member id"
        " {member_id} for this member and add to the group.",
        said.MemberAdded,
        is_static=True,
    ),
    Rule(
        "Adding new static member Some({group_instance_id}) to group {group_id} with member id {member_id}.",
        said.MemberAdded,
        is_static=True,
    ),
    *(
        Rule(
            "Static member with groupInstanceId={group_instance_id} and unknown member id joins group {group_id} in"
            f" {{state}} state. Created a new member id {{member_id}} for this member and {add} to the group.",
            said.MemberAdded,
            is_static=True,
        )
        for add in ("add", "added")
    ),
    Rule(
        "Static member Some({group_instance_id}) of group {group_id} with unknown member id rejoins, assigning new"
        " member id {member_id}, while old member id {old_member_id} will be removed.",
        said.StaticMemberReturned,
    ),
    Rule(
        "Static member with groupInstanceId={group_instance_id} and unknown member id joins group {group_id} in {state}"
        " state. Replacing previously mapped member {old_member_id} with this groupInstanceId.",
        said.StaticMemberReturned,
    ),
    Rule(
        "Static member which joins during Stable stage and doesn't affect selectProtocol will not trigger rebalance.",
        said.ReturnedWithoutRebalance,
    ),
    Rule(
        "Static member which joins during Stable stage and doesn't affect the selected protocol will not trigger a"
        " rebalance.",
        said.ReturnedWithoutRebalance,
    ),
)

GONE: Final = (
    Rule("Group {group_id} removed dynamic members who haven't joined: {member_ids:set}", said.MembersDropped),
    Rule(
        "Group leader [member.id: {member_id}, group.instance.id: {group_instance_id:scala-instance}] failed to join"
        f" before rebalance timeout, while new leader {NEW_LEADER} was elected.",
        said.LeaderDropped,
    ),
    Rule(
        "Group leader [member.id: {member_id}, group.instance.id: {group_instance_id:scala-instance}] failed to join"
        " before rebalance timeout, and the group couldn't proceed to next generationbecause no member joined.",
        said.LeaderDropped,
    ),
    Rule(
        "Group leader [memberId: {member_id}, groupInstanceId: {group_instance_id:instance}] failed to join before the"
        " rebalance timeout. Member ClassicGroupMember(memberId='{new_leader}', {rest}) was elected as the new leader.",
        said.LeaderDropped,
    ),
    Rule(
        "Group leader [memberId: {member_id}, groupInstanceId: {group_instance_id:instance}] failed to join before the"
        " rebalance timeout and the group couldn't proceed to the next generation because no member joined.",
        said.LeaderDropped,
    ),
    Rule("Member {member_id} in group {group_id} has failed, removing it from the group", said.SessionExpired),
    Rule("Member {member_id} in group {group_id} has failed, removing it from the group.", said.SessionExpired),
    Rule(
        "Pending member {member_id} in group {group_id} has been removed after session timeout expiration.",
        said.PendingExpired,
    ),
    Rule(
        "Member[group.instance.id {group_instance_id:scala-instance}, member.id {member_id}] in group {group_id} has"
        " left, removing it from the group",
        said.MemberLeft,
    ),
    Rule(
        f"Member {METADATA} has left group {{group_id}} through explicit `LeaveGroup`; client reason:"
        " {client_reason}",
        said.MemberLeft,
    ),
    Rule(f"Member {METADATA} has left group {{group_id}} through explicit `LeaveGroup` request", said.MemberLeft),
    Rule(f"[Group {{group_id}}] Member {{member_id}} {BY_LEAVE}; client reason: {{client_reason}}", said.MemberLeft),
    Rule(
        f"[Group {{group_id}}] Pending member {{member_id}} {BY_LEAVE}; client reason: {{client_reason}}",
        said.MemberLeft,
        is_pending=True,
    ),
    Rule("Pending member {member_id} is leaving group {group_id}.", said.MemberLeft, is_pending=True),
    Rule(
        "Pending member with memberId={member_id} has left group {group_id} through explicit `LeaveGroup` request",
        said.MemberLeft,
        is_pending=True,
    ),
    # Before 2.4
    Rule("Member {member_id} in group {group_id} has left, removing it from the group", said.MemberLeft),
)

FENCED: Final = (
    Rule(
        "given member.id {member_id} is identified as a known static member {group_instance_id}, but not matching the"
        " expected member.id {holder} during {operation}, will respond with instance fenced error",
        said.InstanceFenced,
    ),
    *(
        Rule(
            "Request memberId={member_id} for static member with groupInstanceId={group_instance_id} is fenced by"
            f" {existing} memberId={{holder}} during operation {{operation}}",
            said.InstanceFenced,
        )
        for existing in ("current", "existing")
    ),
    *(
        Rule(
            "Request memberId={member_id} for static member with groupInstanceId={group_instance_id} is fenced by"
            f" {existing}MemberId={{holder}} during operation {{operation}}",
            said.InstanceFenced,
        )
        for existing in ("current", "existing")
    ),
)

CLASSIC_RULES: Final = (*REBALANCES, *GENERATIONS, *JOINS, *GONE, *FENCED)
