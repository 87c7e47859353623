"""Lines of clients → statements: the messages of each library.

Sources: `AbstractCoordinator.java`, `ConsumerCoordinator.java`, `AbstractHeartbeatRequestManager.java` and
`AbstractMembershipManager.java` of Kafka's Java client 2.4 to 4.3, `rdkafka_cgrp.c` of librdkafka 2, the coordinator of
kafka-python 2 and 3, `consumer_group.go` of franz-go 1.
"""

from typing import Final

from coordinator.observe.logs import client_statements as said
from coordinator.observe.logs.rules import Rule

_GENERATION: Final = "Generation{{generationId={generation_id}, memberId='{member_id}', protocol='{protocol:text}'}}"
_PAST_POLL: Final = "the time between subsequent calls to poll() was longer than the configured max.poll.interval.ms"

JAVA: Final = (
    Rule(f"Successfully joined group with generation {_GENERATION}", said.GenerationJoined),
    Rule("Successfully joined group with generation {generation_id}", said.GenerationJoined),  # before 2.5
    Rule(f"Successfully synced group in generation {_GENERATION}", said.GenerationSynced),
    Rule("Finished assignment for group at generation {generation_id}: {text}", said.AssignmentComputed),
    Rule("Request joining group due to: need to re-join with the given member-id: {member_id}", said.MemberIdReceived),
    Rule("Request joining group due to: {reason}", said.RejoinRequested),
    Rule("Member {member_id} sending LeaveGroup request to coordinator {rest} due to {reason}", said.Leaving),
    Rule("Member {member_id} sending LeaveGroup request to coordinator {rest})", said.Leaving),  # before 2.6
    Rule(f"consumer poll timeout has expired. This means {_PAST_POLL}{{rest}}", said.PollTimeoutExceeded),
    Rule(f"Consumer poll timeout has expired. This means {_PAST_POLL}{{rest}}", said.PollTimeoutExceeded),
    Rule(
        f"This member will leave the group because consumer poll timeout has expired. This means {_PAST_POLL}{{rest}}",
        said.PollTimeoutExceeded,
    ),
    Rule(
        "Time between subsequent calls to poll() was longer than the configured max.poll.interval.ms, exceeded"
        " approximately by {exceeded_ms} ms. Member {member_id} will rejoin the group now.",
        said.PollTimeoutExceeded,
        is_over=True,
    ),
    Rule(
        "Attempt to heartbeat with {rest} and group instance id {instance} failed due to {error}, resetting generation",
        said.HeartbeatFailed,
    ),
    Rule("Attempt to heartbeat failed since group is rebalancing", said.HeartbeatFailed, error="REBALANCE_IN_PROGRESS"),
    Rule(
        "Attempt to heartbeat failed since coordinator {rest} is either not started or not valid",
        said.HeartbeatFailed,
        error="NOT_COORDINATOR",
    ),
    Rule(
        "Attempt to heartbeat failed for since member id {member_id} is not valid.",
        said.HeartbeatFailed,
        error="UNKNOWN_MEMBER_ID",
    ),
    Rule("Received fatal exception: group.instance.id gets fenced", said.Fenced, error="FENCED_INSTANCE_ID"),
    *(
        Rule(
            f"JoinGroup failed: The group instance id {{instance}} has been fenced by {by}. Sent generation was"
            " {rest}",
            said.Fenced,
            error="FENCED_INSTANCE_ID",
        )
        for by in ("another instance", "the broker")
    ),
    Rule("JoinGroup failed due to fatal error: {error}", said.JoinFailed, is_fatal=True),
    Rule("JoinGroup failed: {error} Need to re-join the group. Sent generation was {rest}", said.JoinFailed),
    Rule("JoinGroup failed: {error} Marking coordinator unknown. Sent generation was {rest}", said.JoinFailed),
    Rule("SyncGroup failed: {error} Need to re-join the group. Sent generation was {rest}", said.JoinFailed),
    Rule("SyncGroup failed: {error}", said.JoinFailed),
    Rule("Group coordinator {rest} is unavailable or invalid due to cause: {error}.{more}", said.CoordinatorLost),
    *(
        Rule(f"{verb} previously assigned partitions {{text}}", said.PartitionsRevoked)
        for verb in ("Revoke", "Revoking")
    ),
    Rule("Lost previously assigned partitions {text}", said.PartitionsRevoked, is_lost=True),
    Rule("Adding newly assigned partitions: {text}", said.PartitionsAssigned),
    Rule("Adding newly assigned partitions {text}", said.PartitionsAssigned),
    # KIP-848
    Rule(
        "Member {member_id} with epoch {epoch} transitioned from {state_before:word} to {state:word}.",
        said.EpochReached,
    ),
    Rule("Member {member_id} with epoch {number} generated the heartbeat to leave the group.", said.Leaving),
    Rule(
        "Member {member_id} with epoch {number} generated the heartbeat to leave due to expired poll timer. {rest}",
        said.Leaving,
        reason="consumer poll timeout has expired.",
    ),
    Rule(
        "{api:word} failed for member {member_id} because epoch {number} is fenced.",
        said.Fenced,
        error="FENCED_MEMBER_EPOCH",
    ),
    Rule("{api:word} failed because member {member_id} is unknown.", said.HeartbeatFailed, error="UNKNOWN_MEMBER_ID"),
    Rule("{api:word} failed due to fenced instance id {instance}: {error}", said.Fenced),
    Rule("{api:word} failed for member {member_id} with state {state:word} due to {error}", said.HeartbeatFailed),
    Rule("{api:word} failed due to {error}", said.HeartbeatFailed),
)
"""After `[Consumer clientId=…, groupId=…] `."""

_G: Final = 'Group "{group_id}"'

LIBRDKAFKA: Final = (
    Rule(
        "Application maximum poll interval ({interval_ms}ms) exceeded by {exceeded_ms}ms{rest}",
        said.PollTimeoutExceeded,
    ),
    Rule(f'{_G}: updating member id "{{before}}" -> "{{member_id}}"', said.MemberIdReceived),
    Rule(
        "JoinGroup response: GenerationId {generation_id}, Protocol {protocol:word}, LeaderId {leader} (me), my"
        " MemberId"
        " {member_id}, member metadata count {number}: {rest}",
        said.GenerationJoined,
        is_leader=True,
    ),
    Rule(
        "JoinGroup response: GenerationId {generation_id}, Protocol {protocol:word}, LeaderId {leader}, my MemberId"
        " {member_id}, member metadata count {number}: {rest}",
        said.GenerationJoined,
        is_leader=False,
    ),
    Rule(f"{_G}: Rejoining group{{rest}}: {{reason}}", said.RejoinRequested),
    Rule(
        f"{_G} (re)joining in join-state {{state_before:word}} with {{number}} assigned partition(s): {{reason}}",
        said.RejoinRequested,
    ),
    Rule(f"{_G}: leave (in state {{state_before:word}})", said.Leaving),
    Rule("Member {member_id} is leaving group {group_id}, is static: {rest}", said.Leaving),
    Rule(
        f"{_G} heartbeat error response in state {{state_before:word}} (join-state {{join_state:word}}, {{number}}"
        " partition(s) assigned): {error}",
        said.HeartbeatFailed,
    ),
    Rule("Member {member_id} is fenced from group {group_id}", said.Fenced, error="FENCED_INSTANCE_ID"),
    Rule("ConsumerGroupHeartbeat failed due to: {error}: will rejoin the group", said.HeartbeatFailed),
    Rule("Fatal error: {error}", said.Fenced),
    Rule(f"{_G}: synchronization failed: {{error}}: rejoining", said.JoinFailed),
    Rule(f"{_G}: marking the coordinator ({{rest}}) dead: {{error}}", said.CoordinatorLost),
    Rule(f"{_G}: new assignment of {{text}} in join-state {{state_before:word}}", said.PartitionsAssigned),
    Rule(f"{_G}: revoking all {{text}}", said.PartitionsRevoked),
    Rule(f"{_G}: current assignment of {{text}} lost: {{rest}}", said.PartitionsRevoked, is_lost=True),
)
"""After `[thrd:main]: `."""

KAFKA_PYTHON: Final = (
    Rule("Received member id {member_id} for group {group_id}; will retry join-group", said.MemberIdReceived),
    Rule(
        "Successfully joined group {group_id} <Generation {generation_id} (member_id: {member_id}, protocol:"
        " {protocol:text})>",
        said.GenerationJoined,
    ),
    Rule("Successfully joined group {group_id} with generation {generation_id}", said.GenerationJoined),
    Rule("Group {group_id} is rebalancing; rejoining.", said.HeartbeatFailed, error="REBALANCE_IN_PROGRESS"),
    Rule(
        "Heartbeat failed for group {group_id} because it is rebalancing",
        said.HeartbeatFailed,
        error="REBALANCE_IN_PROGRESS",
    ),
    Rule("Heartbeat failed for group {group_id} due to fenced id error: {error}", said.Fenced),
    Rule(
        "Heartbeat thread caught fenced group_instance_id {group_instance_id} error",
        said.Fenced,
        error="FENCED_INSTANCE_ID",
    ),
    Rule(
        "Heartbeat failed for group {group_id}: generation id is not {rest}",
        said.HeartbeatFailed,
        error="ILLEGAL_GENERATION",
    ),
    Rule("Heartbeat: local member_id was not recognized;{rest}", said.HeartbeatFailed, error="UNKNOWN_MEMBER_ID"),
    Rule("Heartbeat failed for group {group_id}: {error}", said.HeartbeatFailed),
    Rule("Heartbeat failed: {error}", said.HeartbeatFailed),
    Rule("Heartbeat session expired, marking coordinator dead", said.CoordinatorLost, error="session expired"),
    Rule(f"Consumer poll timeout has expired. This means {_PAST_POLL}{{rest}}", said.PollTimeoutExceeded),
    Rule("Consumer poll timeout has expired. This means {rest}", said.PollTimeoutExceeded),
    Rule("Heartbeat poll expired, leaving group", said.PollTimeoutExceeded),
    Rule("Leaving consumer group {group_id} (member {member_id}).", said.Leaving),
    Rule("Leaving consumer group ({group_id}).", said.Leaving),
    Rule("Attempt to join group {group_id} failed due to fatal error: {error}", said.JoinFailed, is_fatal=True),
    Rule(
        "Attempt to join group {group_id} failed due to unknown member id",
        said.JoinFailed,
        error="UNKNOWN_MEMBER_ID",
    ),
    Rule("Attempt to join group {group_id} failed due to {error}", said.JoinFailed),
    Rule("SyncGroup for group {group_id} failed due to fenced id error: {error}", said.Fenced),
    Rule("SyncGroup for group {group_id} failed due to {error}", said.JoinFailed),
    Rule("Marking the coordinator dead (node {rest}) for group {group_id}: {error}.", said.CoordinatorLost),
    Rule("Revoking previously assigned partitions {text} for group {group_id} on close", said.PartitionsRevoked),
    Rule("Revoking previously assigned partitions {text} for group {group_id}", said.PartitionsRevoked),
    Rule("Group {group_id} lost membership; forcibly revoking {text}", said.PartitionsRevoked, is_lost=True),
    Rule("Setting newly assigned partitions {text} for group {group_id}", said.PartitionsAssigned),
)
"""After `kafka.coordinator…`."""

FRANZ_GO: Final = (
    Rule(
        "join returned MemberIDRequired, rejoining with response's MemberID; group: {group_id}, member_id: {member_id}",
        said.MemberIdReceived,
    ),
    Rule(
        "joined; group: {group_id}, member_id: {member_id}, instance_id: {instance}, generation: {generation_id},"
        " leader: {leads:word}",
        said.GenerationJoined,
        is_leader=False,
    ),
    Rule(
        "joined, balancing group; group: {group_id}, member_id: {member_id}, instance_id: {instance}, generation:"
        " {generation_id}, balance_protocol: {protocol:text}, leader: {leads:word}",
        said.GenerationJoined,
        is_leader=True,
    ),
    Rule("synced; group: {group_id}, assigned: {text}", said.GenerationSynced),
    Rule("heartbeat errored; group: {group_id}, err: {error}", said.HeartbeatFailed),
    Rule("forced rejoin quitting heartbeat loop; why: {reason}, is{rest}", said.RejoinRequested),
    Rule("leaving group; group: {group_id}, member_id: {member_id}, {rest}", said.Leaving),
    Rule("leaving group; group: {group_id}, member_id: {member_id}", said.Leaving),
    Rule("join and sync loop errored; group: {group_id}, err: {error}, {rest}", said.JoinFailed),
    Rule(
        "calling onRevoke at the end of a session; group: {group_id}, lost: {text}, stage: {number}",
        said.PartitionsRevoked,
    ),
    Rule("new group session begun; group: {group_id}, added: {text}, lost: {lost}", said.PartitionsAssigned),
)
"""After the level. The lines have no client id."""
