"""Lines about groups of KIP-848 and about share and streams groups → statements.

Source: `GroupMetadataManager.java` of Kafka 3.9 and 4.x.
"""

from typing import Final

from coordinator.observe.logs import statements as said
from coordinator.observe.logs.rules import Rule

G: Final = "[GroupId {group_id}] "
STREAMS: Final = "[GroupId {group_id}][MemberId {member_id}] "
FENCED: Final = f"{G}Member {{member_id}} fenced from the group because"
LEAVE_GROUP: Final = "has left group through explicit `LeaveGroup` request; client reason: {client_reason}"

JOINS: Final = (
    Rule(
        f"{G}Member {{member_id}} joins the consumer group using the {{protocol}} protocol.",
        said.ConsumerJoined,
    ),
    Rule(
        f"{G}Member {{member_id}} joins the share group using the share protocol.",
        said.ConsumerJoined,
        protocol="share",
    ),
    Rule(f"{STREAMS}Member joins the streams group.", said.ConsumerJoined, protocol="streams"),
    Rule(
        f"{G}Member {{member_id}} joins the streams group using the streams protocol.",
        said.ConsumerJoined,
        protocol="streams",
    ),
    # Before 3.8
    Rule(f"{G}Member {{member_id}} joins the consumer group.", said.ConsumerJoined, protocol="consumer"),
    Rule(
        f"{G}Static member {{member_id}} with instance id {{group_instance_id}} joins the consumer group.",
        said.ConsumerJoined,
        protocol="consumer",
    ),
    *(
        Rule(
            f"{G}Static {member} {{member_id}} with instance id {{group_instance_id}} joins the consumer group using"
            " the {protocol} protocol.",
            said.ConsumerJoined,
        )
        for member in ("member", "Member")
    ),
    Rule(
        f"{G}Static member with instance id {{group_instance_id}} re-joins the consumer group using the {{word}}"
        " protocol. Created a new member {member_id} to replace the existing member {old_member_id}.",
        said.ConsumerReplaced,
    ),
    Rule(
        f"{G}Dynamic member with unknown member id joins the consumer group. Created a new member id {{member_id}} and"
        " requesting the member to rejoin with this id.",
        said.MemberIdHandedOut,
        state="",
    ),
    *(
        Rule(
            f"{G}Static member {{member_id}} with instance id {{group_instance_id}} cannot join the group because the"
            f" instance id is {is_owned} by member {{holder}}.",
            said.JoinRefused,
        )
        for is_owned in ("owned", "is owned")
    ),
    Rule(
        f"{G}Static member {{member_id}} with instance id {{group_instance_id}} is fenced by existing member"
        " {holder}.",
        said.JoinRefused,
        is_fenced=True,
    ),
    Rule(f"{G}Member {{member_id}} updated its subscribed topics to: {{text}}.", said.SubscriptionUpdated),
    Rule(
        f"{G}Member {{member_id}} updated its subscribed regex to: {{text}}.", said.SubscriptionUpdated, is_regex=True
    ),
)

GONE: Final = (
    Rule(f"{G}Member {{member_id}} left the consumer group.", said.MemberLeft, is_explicit=False),
    Rule(f"{G}Member {{member_id}} left the share group.", said.MemberLeft, is_explicit=False),
    Rule(f"{STREAMS}Member {{again}} left the streams group.", said.MemberLeft, is_explicit=False),
    *(
        Rule(
            f"{G}Static {member} {{member_id}} with instance id {{group_instance_id}} left the consumer group.",
            said.MemberLeft,
            is_explicit=False,
        )
        for member in ("member", "Member")
    ),
    *(
        Rule(
            f"{G}Static {member} {{member_id}} with instance id {{group_instance_id}} temporarily left the consumer"
            " group.",
            said.LeftForAMoment,
        )
        for member in ("member", "Member")
    ),
    *(
        Rule(f"{start} {{member_id}} {LEAVE_GROUP}", said.MemberLeft)
        for start in (
            f"{G}Dynamic member",
            f"{G}Dynamic Member",
            "[Group {group_id}] Dynamic member",
            "[Group {group_id}] Dynamic Member",
        )
    ),
    *(
        Rule(f"{start} {{member_id}} with instance id {{group_instance_id}} {LEAVE_GROUP}", said.MemberLeft)
        for start in (
            f"{G}Static member",
            f"{G}Static Member",
            "[Group {group_id}] Static member",
            "[Group {group_id}] Static Member",
        )
    ),
    Rule(f"{FENCED} the member session expired.", said.SessionExpired),
    Rule(f"{FENCED} the member session expired..", said.SessionExpired),
    Rule(
        f"{G}Streams member {{member_id}} fenced from the group because the member session expired..",
        said.SessionExpired,
    ),
    Rule(
        f"{G}Streams member {{member_id}} fenced from the group because the member session expired.",
        said.SessionExpired,
    ),
    Rule(
        f"{FENCED} it failed to transition from epoch {{epoch}} within {{timeout_ms}}ms.",
        said.ConsumerLate,
        missing="give_up",
    ),
    Rule(
        f"{FENCED} the classic member failed to join within the rebalance timeout.",
        said.ConsumerLate,
        missing="rejoin",
    ),
    Rule(f"{FENCED} the member failed to sync within timeout.", said.ConsumerLate, missing="sync"),
)

EPOCHS: Final = (
    Rule(f"{G}Bumped group epoch to {{epoch}} with metadata hash {{metadata_hash}}.", said.EpochBumped),
    Rule(f"{G}Bumped group epoch to {{epoch}}.", said.EpochBumped),
    Rule(
        f"{STREAMS}Bumped streams group epoch to {{epoch}} with metadata hash {{metadata_hash}} and validated topic"
        " epoch {number}.",
        said.EpochBumped,
    ),
    Rule(
        f"{G}Computed a new target assignment for epoch {{epoch}} with '{{assignor}}' assignor in {{took_ms}}ms.",
        said.TargetComputed,
    ),
    Rule(
        f"{G}Computed a new target assignment for epoch {{epoch}} with '{{assignor}}' assignor in {{took_ms}}ms:"
        " {rest}.",
        said.TargetComputed,
    ),
    Rule(f"{G}Computed a new target assignment for epoch {{epoch}}: {{rest}}.", said.TargetComputed),  # before 3.8
    Rule(
        f"{G}Scanned {{topics}} topics to refresh regular expressions [{{text}}] in {{took_ms}}ms.",
        said.PatternsScanned,
    ),
    Rule(
        f"{STREAMS}Assignment configurations changed to {{text}}. Triggering rebalance.", said.AssignmentConfigsChanged
    ),
)

CONVERSIONS: Final = tuple(
    Rule(f"{G}Converted the {before} group to a {after} group.", said.GroupConverted, group_type=after)
    for before, after in (
        ("classic", "consumer"),
        ("empty classic", "consumer"),
        ("consumer", "classic"),
        ("empty consumer", "classic"),
        ("empty classic", "streams"),
        ("empty streams", "classic"),
    )
)

STATES: Final = (
    Rule(
        f"{G}Member {{member_id}} new assignment state: epoch={{epoch}}, previousEpoch={{number}},"
        " state={assignment_state:word}, assignedPartitions={assigned}.",
        said.MemberReconciled,
    ),
)

CONSUMER_RULES: Final = (*JOINS, *GONE, *EPOCHS, *CONVERSIONS, *STATES)
