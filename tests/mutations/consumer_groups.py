"""Mutants of consumer groups: each breaks one rule of KIP-848."""

from typing import Final

from tests.mutations.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "null owned partitions confirm a revocation",
        "Reconciliation.still_owns",
        "(self.owned is None or has_any(self.owned, partitions))",
        "(self.owned is not None and has_any(self.owned, partitions))",
    ),
    Mutant(
        "a partition is assigned while another member has it",
        "owners.gain",
        "owner_of is not None and index in owner_of and (own_pending is None or index not in own_pending)",
        "False",
    ),
    Mutant(
        "a member that has to revoke gets the new epoch at once",
        "_next",
        "CurrentAssignment(current.epoch, current.epoch, UNREVOKED_PARTITIONS, kept, revoked)",
        "CurrentAssignment(asked.target_epoch, current.epoch, UNREVOKED_PARTITIONS, kept, revoked)",
    ),
    Mutant(
        "a topic that is no longer subscribed to stays assigned",
        "_unsubscribed",
        "if len(kept) == len(current.assigned):",
        "if True:",
    ),
    Mutant(
        "the previous epoch is taken whatever the member owns",
        "_check_epoch",
        "owned is not None and is_subset(owned, current.assigned)",
        "True",
    ),
    Mutant(
        "an instance id in use is taken over",
        "_identify_static",
        "if holder.current.epoch != LEAVE_STATIC_EPOCH and not holder.is_classic:",
        "if False:",
    ),
    Mutant(
        "who joins as others do counts with what was kept of a regular expression",
        "MemberUpdate._joins_as_others",
        "and group.kept_homogeneity is None",
        "",
    ),
    Mutant(
        "a member that says nothing new hears of no topic that has grown",
        "MemberUpdate._says_nothing_new",
        "and group.checked_version == self._topics.topics_version",
        "",
    ),
    Mutant(
        "a change of the configs of a group is not noticed",
        "CurrentGroupSettings.of",
        "if kept is None or kept[0] is not configs:",
        "if kept is None:",
    ),
    Mutant(
        "what the group found of a subscription is taken for that of another",
        "MemberUpdate._subscribed_ids",
        "if found is None or found.topics_version != version or found.names != names:",
        "if found is None or found.topics_version != version:",
    ),
    Mutant(
        "what the group found of a subscription is taken for that of other topics",
        "MemberUpdate._subscribed_ids",
        "if found is None or found.topics_version != version or found.names != names:",
        "if found is None or found.names != names:",
    ),
    Mutant(
        "a full group says that a member is unknown",
        "heartbeat.decide",
        "if request.member_id not in group.members and is_full(group, context):",
        "if request.member_epoch == NO_EPOCH and request.member_id not in group.members and is_full(group, context):",
    ),
    Mutant(
        "a clock that was set back delays targets",
        "is_due",
        "not 0 <= wall_ms - computed_ms < interval_ms",
        "wall_ms - computed_ms >= interval_ms",
    ),
    Mutant(
        "the assignment interval is not kept",
        "is_due",
        "computed_ms == NEVER or interval_ms == 0 or not 0 <= wall_ms - computed_ms < interval_ms",
        "True",
    ),
    Mutant(
        "one stale partition does not fail the commit",
        "consumer.offsets._has_had",
        "if since is None or epoch < since:",
        "if since is None:",
    ),
    Mutant(
        "a fetch takes any epoch of a member",
        "consumer.offsets.validate_fetch",
        "NONE if epoch == member.current.epoch else _stale(member)",
        "NONE",
    ),
    Mutant(
        "a static member that left for a moment may commit nothing afterwards",
        "_with_epoch_0",
        "dict.fromkeys(partitions, 0)",
        "dict(partitions)",
    ),
    Mutant(
        "members do not get new time to revoke after a load",
        "consumer.loaded.effects_of_loaded",
        "any(_has_to_revoke(group, member_id) for member_id in group.members)",
        "False",
    ),
    Mutant(
        "a regular expression of nobody is kept",
        "leaving.remove",
        "metadata.pattern not in after.by_pattern",
        "False",
    ),
    Mutant(
        "topics that are deleted or grow are not noticed",
        "MemberUpdate._update_epoch",
        "if not bump and group.checked_version == version and self.metadata.pattern == self._before.pattern:",
        "if not bump:",
    ),
    Mutant(
        "a topic that nobody subscribes to raises the epoch while a regular expression waits for its topics",
        "MemberUpdate._have_topics_changed",
        "group.subscribed_hash",
        "group.metadata_hash",
    ),
    Mutant(
        "the subscriptions of the request count as a change of topics",
        "MemberUpdate._have_topics_changed",
        "return group.checked_version == UNCHECKED",
        "return True",
    ),
    Mutant(
        "who leaves takes the hash of the last epoch along",
        "leaving.remove",
        "group.subscribed_hash if is_checked else after.hash_of_topics(context.topics)",
        "group.metadata_hash if is_checked else after.hash_of_topics(context.topics)",
    ),
    Mutant(
        "whether all subscribe to the same is not kept when a regular expression is forgotten",
        "ConsumerGroup.set_pattern",
        "if self.kept_homogeneity is None:",
        "if False:",
    ),
    Mutant(
        "members keep topics in the order in which they got them",
        "target_steps",
        "target_in_order(asked.targets.get(member_id, NO_TARGET))",
        "asked.targets.get(member_id, NO_TARGET)",
    ),
    Mutant(
        "a downgrade counts the epoch that its request raised",
        "_join_and_downgrade",
        "downgraded(group.group_id, group.epoch, members, reason, context)",
        "downgraded(group.group_id, step.group_epoch, members, reason, context)",
    ),
    Mutant(
        "a rejected join names the member",
        "classic_join.join",
        "identified, NO_MEMBER_ID, context",
        "identified, request.member_id, context",
    ),
    Mutant(
        "two targets of a group are computed at a time",
        "MemberUpdate._update_target",
        "group.target_epoch >= self.group_epoch or group.computing is not None",
        "group.target_epoch >= self.group_epoch",
    ),
    Mutant(
        "a target of another group of that name is installed",
        "consumer.large_targets.install",
        "group is None or group.membership.computing is not started",
        "group is None",
    ),
    Mutant(
        "who took the place of a static member meanwhile has no target",
        "_of_present",
        "if holder_id is not None and holder_id not in asked.members:",
        "if False:",
    ),
    Mutant(
        "a classic member has no time to sync",
        "ClassicMemberSynced.apply",
        "group.membership.deadlines.remove(self.member_id, Deadline.SYNC)",
        "return",
    ),
    Mutant(
        "the policy of migration does not matter for a downgrade",
        "is_to_downgrade",
        "context.config[GROUP_CONSUMER_MIGRATION_POLICY] in DOWNGRADE_POLICIES",
        "True",
    ),
    Mutant(
        "a description of a large group takes the time of a small one",
        "Descriptions.describe",
        "weight=len(described.members) // MEMBERS_PER_OPERATION",
        "weight=0",
    ),
    Mutant(
        "a committed offset far below the log has a lag that no int64 holds",
        "lag_of",
        "max(committed_offset, 0)",
        "committed_offset",
    ),
    Mutant(
        "the audit takes a group that became a classic one for lost after a kill",
        "_stored_events",
        "if event not in of_kind and all(projection.event_class is not schema.GroupConverted for projection"
        " in projections)",
        "if event not in of_kind",
    ),
    Mutant(
        "user data of an assignor are lost in an upgrade",
        "classic_protocol.read_assignment",
        "if decoded.user_data:",
        "if False:",
    ),
)
