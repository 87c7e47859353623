"""Lines about the life of groups and about coordinators of partitions of `__consumer_offsets` → statements.

Sources: as `classic_rules.py`; `CoordinatorRuntime.java`, `GroupCoordinatorShard.java`, `OffsetMetadataManager.java`.
"""

from typing import Final

from coordinator.observe.logs import statements as said
from coordinator.observe.logs.classic_rules import METADATA
from coordinator.observe.logs.rules import Rule
from coordinator.observe.logs.templates import Template

TOPIC: Final = "__consumer_offsets-{offsets_partition}"

LIVES: Final = (
    *(
        Rule(
            f"The following groups were deleted: {{text}}. A total of {{offsets}} offsets were removed{stop}",
            said.GroupsDeleted,
        )
        for stop in (".", "")
    ),
    Rule("Group {group_id} transitioned to Dead in generation {generation_id}", said.GroupDied),
    Rule(
        "The following offsets of the group {group_id} were deleted: {text}. A total of {number} offsets were removed.",
        said.OffsetsDeleted,
    ),
    Rule("[GroupId {group_id}] Creating a simple consumer group via manual offset commit.", said.SimpleGroupCreated),
    Rule(
        "Loading group metadata for {group_id} with generation {generation_id}", said.GroupLoaded, group_type="classic"
    ),
    *(
        Rule(f"Loaded {kind} group {{group_id}} with {{members}} members.", said.GroupLoaded, group_type=kind)
        for kind in ("classic", "consumer", "share", "streams")
    ),
    *(
        Rule(
            f"Loaded member {METADATA} in group {{group_id}} with generation {{generation_id}}{stop}", said.LoadedMember
        )
        for stop in (".", "")
    ),
    Rule("Unloading group metadata for {group_id} with generation {generation_id}", said.GroupUnloaded),
    Rule("[GroupId={group_id}] Unloading group metadata for generation {generation_id}.", said.GroupUnloaded),
    Rule("[GroupId={group_id}] Unloaded group metadata for group epoch {generation_id}.", said.GroupUnloaded),
)

PARTITIONS: Final = (
    Rule(
        "Elected as the group coordinator for partition {offsets_partition} in epoch {leader_epoch}",
        said.PartitionTakenOver,
    ),
    Rule(f"Scheduling loading of metadata from {TOPIC} with epoch {{leader_epoch}}", said.PartitionTakenOver),
    Rule("Elected as the group coordinator for partition {offsets_partition}", said.PartitionTakenOver),  # before 2.8
    *(
        Rule(
            f"Finished loading offsets and group metadata from {TOPIC} in {{took_ms}} milliseconds{rest}",
            said.PartitionLoaded,
        )
        for rest in (
            " for epoch {leader_epoch}, of which {number} milliseconds was spent in the scheduler.",
            ", of which {number} milliseconds was spent in the scheduler.",
            ".",
        )
    ),
    Rule(
        f"Finished loading of metadata from {TOPIC} with epoch {{leader_epoch}} in {{took_ms}}ms where {{number}}ms was"
        " spent in the scheduler. Loaded {records:integer} records which total to {bytes:integer} bytes.",
        said.PartitionLoaded,
    ),
    *(
        Rule(
            f"Resigned as the group coordinator for partition {{offsets_partition}} in epoch {epoch}",
            said.PartitionGivenUp,
        )
        for epoch in ("OptionalInt[{leader_epoch}]", "OptionalInt.empty", "Some({leader_epoch})", "None")
    ),
    Rule("Resigned as the group coordinator for partition {offsets_partition}", said.PartitionGivenUp),
    *(
        Rule(f"Started unloading metadata for {TOPIC} with epoch {epoch}.", said.PartitionGivenUp)
        for epoch in ("OptionalInt[{leader_epoch}]", "OptionalInt.empty")
    ),
)

UNINTERESTING: Final = tuple(
    map(
        Template,
        (
            "Generated {number} tombstone records while cleaning up group metadata in {took_ms} milliseconds.",
            "Generated {number} tombstone records in {took_ms} milliseconds while deleting offsets for topics {text}.",
            "Generated {number} records in {took_ms} milliseconds while cleaning share group state for topics {text}.",
            "Removed {number} expired offsets in {took_ms} milliseconds.",
            "Removed {number} offsets associated with deleted partitions: {text}.",
            f"Scheduling loading of offsets and group metadata from {TOPIC} for epoch {{leader_epoch}}",
            f"Scheduling loading of offsets and group metadata from {TOPIC}",
            f"Scheduling unloading of offsets and group metadata from {TOPIC}",
            f"Scheduling unloading of metadata for {TOPIC} with epoch {{text}}",
            f"Finished unloading {TOPIC} for coordinator epoch {{text}}. Removed {{number}} cached offsets and"
            " {members} cached groups.",
            f"Finished unloading metadata for {TOPIC} with epoch {{text}}.",
            f"Ignored unloading metadata for {TOPIC} in epoch {{text}} since metadata was never loaded.",
            "Starting up.",
            "Startup complete.",
            "Shutting down.",
            "Shutdown complete.",
            "Closing coordinator runtime.",
            "Coordinator runtime closed.",
            "Shutting down event processor.",
            "Event processor closed.",
            "[GroupId {group_id}] Computed new subscription metadata: {text}.",
            "[GroupId {group_id}] Computed new metadata hash: {number}.",
            "group: {group_id} with leader: {leader} has received offset commits from consumers as well as"
            " transactional producers. Mixing both types of offset commits will generally result in surprises and"
            " should be avoided.",
            "Received notification of heartbeat expiration for member {member_id} after group {group_id} had already"
            " been unloaded or deleted.",
            "Failed to write empty metadata for group {group_id}: {text}",
            "The write event {text} failed due to {rest}",
            "Group {group_id} removed members who haven't sent their sync requests: {text}",
        ),
    )
)
"""What coordinators also write at INFO, and what says nothing about a rebalance that another line does not say."""

COORDINATOR_RULES: Final = (*LIVES, *PARTITIONS)
