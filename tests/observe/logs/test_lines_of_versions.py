"""Lines that no recording has: of other versions, and of what is rare."""

from typing import Any, Final

import pytest

from coordinator.observe.logs import statements as said
from coordinator.observe.logs.choosing import SeenIds, choose
from coordinator.observe.logs.messages import message_of, readings
from coordinator.observe.logs.rules import Rule
from coordinator.observe.logs.statements import Reason

M: Final = "web-1-17653e31-fcf2-4a8a-bf7f-3a1c2d1d7b9f"
M2: Final = "web-2-27653e31-fcf2-4a8a-bf7f-3a1c2d1d7b9f"
S: Final = "inst-1-17653e31-fcf2-4a8a-bf7f-3a1c2d1d7b9f"
METADATA: Final = (
    f"MemberMetadata(memberId={M2}, groupInstanceId=None, clientId=web-2, clientHost=/10.0.0.1, sessionTimeoutMs=45000,"
    " rebalanceTimeoutMs=300000, supportedProtocols=List(range))"
)
SCALA: Final = "[GroupCoordinator 3]: "
JAVA: Final = "[GroupCoordinator id=3 topic=__consumer_offsets partition=7] "
PREPARING: Final = "Preparing to rebalance group orders in state PreparingRebalance with old generation 4"


def old(reason: str) -> str:
    return f"{SCALA}{PREPARING} (__consumer_offsets-7) (reason: {reason})"


def new(reason: str) -> str:
    return f"{JAVA}{PREPARING} (reason: {reason})."


def prepared(reason: Reason, **fields: Any) -> tuple[type[said.Statement], dict[str, Any]]:
    return said.RebalancePrepared, {"group_id": "orders", "generation_before": 4, "reason": reason, **fields}


CHANGED: Final = "joined with change of protocol"
CHANGE: Final = f"Group's selectedProtocol will change because static member {S} with instance id inst-1 {CHANGED}"
FULL: Final = "Rebalancing in order to give a chance for consumers to commit offsets"
LINES: Final[list[tuple[str, tuple[type[said.Statement], dict[str, Any]]]]] = [
    (old(f"Adding new member {M} with group instanceid None"), prepared(Reason.NEW_MEMBER, member_ids=(M,))),
    (old(f"Adding new member {M}"), prepared(Reason.NEW_MEMBER, member_ids=(M,))),
    (
        old(f"Adding new member {S} with group instance id Some(inst-1)"),
        prepared(Reason.NEW_MEMBER, group_instance_id="inst-1"),
    ),
    (
        old(f"Member {M} joining group during PreparingRebalance; client reason: x"),
        prepared(Reason.JOINED_DURING, client_reason="x", state_during="PreparingRebalance"),
    ),
    (
        new(f"Member {M} is joining group during PreparingRebalance; client reason: x"),
        prepared(Reason.JOINED_DURING, member_ids=(M,)),
    ),
    (
        old(f"Updating metadata for static member {S} with instance id inst-1; client reason: x"),
        prepared(Reason.STATIC_UPDATED, group_instance_id="inst-1"),
    ),
    (
        new(f"{CHANGE}; client reason: x"),
        prepared(Reason.STATIC_UPDATED, member_ids=(S,), group_instance_id="inst-1", client_reason="x"),
    ),
    (old(f"Freshly-loaded group is over capacity (4). {FULL}"), prepared(Reason.OVER_CAPACITY)),
    (
        old(f"Freshly-loaded group is over capacity (GroupConfig(6,7,4,3).groupMaxSize). {FULL}"),
        prepared(Reason.OVER_CAPACITY),
    ),
    (new(f"Freshly-loaded group orders (size 9) is over capacity 4. {FULL}"), prepared(Reason.OVER_CAPACITY)),
    (
        old(f"Error COORDINATOR_NOT_AVAILABLE when storing group assignment during SyncGroup (member: {M})"),
        prepared(Reason.STORE_FAILED, member_ids=(M,)),
    ),
    (
        old(f"error when storing group assignment during SyncGroup (member: {M})"),
        prepared(Reason.STORE_FAILED, member_ids=(M,)),
    ),
    (
        new(f"Error NOT_COORDINATOR when storing group assignmentduring SyncGroup (member: {M})."),
        prepared(Reason.STORE_FAILED, member_ids=(M,)),
    ),
    (old("something new"), prepared(Reason.OTHER, text="something new")),
    (
        f"{SCALA}Preparing to rebalance group orders with old generation 4 (__consumer_offsets-7)",
        prepared(Reason.OTHER),
    ),
    (
        f"{SCALA}Stabilized group orders generation 5 (__consumer_offsets-7)",
        (said.GroupStabilized, {"generation_id": 5, "members": None}),
    ),
    (
        f"{SCALA}Assignment received from leader for group orders for generation 5",
        (said.AssignmentReceived, {"generation_id": 5, "leader": None}),
    ),
    (f"{SCALA}Member {M} in group orders has left, removing it from the group", (said.MemberLeft, {"member_id": M})),
    (
        f"{SCALA}Member {METADATA} has left group orders through explicit `LeaveGroup` request",
        (
            said.MemberLeft,
            {"member_id": M2, "client_id": "web-2", "client_host": "/10.0.0.1", "session_timeout_ms": 45000},
        ),
    ),
    (
        f"{SCALA}Dynamic Member with unknown member id joins group orders in Empty state. Created a new member id {M}"
        f" for this member and add to the group.",
        (said.MemberAdded, {"member_id": M, "is_without_id": True}),
    ),
    (
        f"{JAVA}Dynamic member with unknown member id joins group orders in state Empty. Created a new member id {M}"
        f" and added the member to the group.",
        (said.MemberAdded, {"member_id": M, "is_without_id": True}),
    ),
    (
        f"Group leader [member.id: {M}, group.instance.id: None] failed to join before rebalance timeout, while new"
        f" leader {METADATA} was elected.",
        (said.LeaderDropped, {"member_id": M, "new_leader": M2}),
    ),
    (
        f"{JAVA}Group leader [memberId: {M}, groupInstanceId: None] failed to join before the rebalance timeout."
        f" Member ClassicGroupMember(memberId='{M2}', groupInstanceId='', clientId='web-2') was elected as the new"
        f" leader.",
        (said.LeaderDropped, {"member_id": M, "new_leader": M2}),
    ),
    (
        f"{SCALA}given member.id {S} is identified as a known static member inst-1, but not matching the expected"
        f" member.id {M} during heartbeat, will respond with instance fenced error",
        (said.InstanceFenced, {"member_id": S, "holder": M, "operation": "heartbeat", "group_instance_id": "inst-1"}),
    ),
    (
        f"{SCALA}Request memberId={S} for static member with groupInstanceId=inst-1 is fenced by current memberId={M}"
        f" during operation offset-commit",
        (said.InstanceFenced, {"holder": M, "operation": "offset-commit"}),
    ),
    (
        f"{JAVA}Request memberId={S} for static member with groupInstanceId=inst-1 is fenced by existing memberId={M}"
        f" during operation leave-group",
        (said.InstanceFenced, {"holder": M, "operation": "leave-group"}),
    ),
    (
        f"{SCALA}The following offsets of the group orders were deleted: a-0,b-1. A total of 2 offsets were removed.",
        (said.OffsetsDeleted, {"group_id": "orders", "text": "a-0,b-1"}),
    ),
    (
        "[GroupMetadataManager brokerId=3] Finished loading offsets and group metadata from __consumer_offsets-9 in 12"
        " milliseconds, of which 3 milliseconds was spent in the scheduler.",
        (said.PartitionLoaded, {"offsets_partition": 9, "took_ms": 12}),
    ),
    (f"{SCALA}Elected as the group coordinator for partition 9", (said.PartitionTakenOver, {"offsets_partition": 9})),
    (
        f"{JAVA}[GroupId orders] Member {M} joins the consumer group.",
        (said.ConsumerJoined, {"member_id": M, "protocol": "consumer"}),
    ),
    (
        f"{JAVA}[GroupId orders] Computed a new target assignment for epoch 4: {{a=b}}.",
        (said.TargetComputed, {"epoch": 4, "assignor": None}),
    ),
    (
        f"{JAVA}[GroupId orders] Member {M} fenced from the group because the classic member failed to join within the"
        f" rebalance timeout.",
        (said.ConsumerLate, {"missing": "rejoin"}),
    ),
    (
        f"{JAVA}[GroupId orders] Member {M} fenced from the group because the member failed to sync within timeout.",
        (said.ConsumerLate, {"missing": "sync"}),
    ),
    (
        f"{JAVA}[GroupId orders] Static member {M} with instance id inst-1 is fenced by existing member {M2}.",
        (said.JoinRefused, {"is_fenced": True, "holder": M2}),
    ),
    (
        f"{JAVA}[GroupId orders] Static member {M} with instance id inst-1 left the consumer group.",
        (said.MemberLeft, {"group_instance_id": "inst-1", "is_explicit": False}),
    ),
    (
        f"{JAVA}[GroupId orders][MemberId {M}] Member joins the streams group.",
        (said.ConsumerJoined, {"member_id": M, "protocol": "streams"}),
    ),
    (f"{JAVA}[GroupId orders][MemberId {M}] Member {M} left the streams group.", (said.MemberLeft, {"member_id": M})),
    (
        f"{JAVA}[GroupId orders][MemberId {M}] Bumped streams group epoch to 3 with metadata hash -5 and validated"
        f" topic epoch 1.",
        (said.EpochBumped, {"epoch": 3, "metadata_hash": -5}),
    ),
    (
        f"{JAVA}[GroupId orders] Streams member {M} fenced from the group because the member session expired..",
        (said.SessionExpired, {"member_id": M}),
    ),
    (
        f"{JAVA}[GroupId orders][MemberId {M}] Assignment configurations changed to {{a=1}}. Triggering rebalance.",
        (said.AssignmentConfigsChanged, {"member_id": M, "text": "{a=1}"}),
    ),
    (
        f"{JAVA}[GroupId orders] Converted the empty streams group to a classic group.",
        (said.GroupConverted, {"group_type": "classic"}),
    ),
    (
        f"{JAVA}[GroupId orders] Dynamic member with unknown member id joins the consumer group. Created a new member"
        f" id {M} and requesting the member to rejoin with this id.",
        (said.MemberIdHandedOut, {"member_id": M}),
    ),
]


@pytest.mark.parametrize(("line", "right"), LINES, ids=[line[:90] for line, _ in LINES])
def test_a_line(line: str, right: tuple[type[said.Statement], dict[str, Any]]) -> None:
    kind, fields = right
    message = message_of(line)
    assert message is not None
    reading, _ = choose(readings(message.text), SeenIds({"orders"}))
    assert reading.rule.statement is kind
    defaults = {field: None for field in fields}
    assert {name: {**defaults, **reading.fields}[name] for name in fields} == fields
    assert message.broker_id == (None if line.startswith("Group leader") else 3)
    made = set(reading.fields) - set(kind.__struct_fields__)
    assert made == set()


def test_a_rule_has_the_fields_of_its_statement() -> None:
    rule = Rule("Member {member_id} of {group_id} says {word}", said.SessionExpired)
    assert rule.values({"member_id": "m", "group_id": "g", "word": "x"}) == {"member_id": "m", "group_id": "g"}
