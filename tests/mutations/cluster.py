"""Mutants of nodes in front of a cluster: who may write and answer, takeovers, sentinels, and forwarded commits."""

from typing import Final

from tests.mutations.mutant import Mutant

LEASE_MUTANTS: Final = (
    Mutant(
        "the lease is not looked at before a request",
        "ForwardedRequests._serve",
        "self._before_request()",
        "pass",
    ),
    Mutant(
        "the lease is not looked at before batches leave",
        "ProducePipeline._flush",
        "self._before_sending()",
        "pass",
    ),
    Mutant(
        "the lease is not looked at before responses of brokers are handled",
        "BrokerConnection.data_received",
        "self._before_responses()",
        "pass",
    ),
    Mutant(
        "the lease is not looked at when timers are due",
        "ClusterNode._schedule",
        "scheduler.on_due(lambda key, now_ms: self.leads.check_lease())",
        "pass",
    ),
    Mutant(
        "the lease is not looked at when heartbeats are answered from memory",
        "LeaseTimer._start",
        "if not self._is_running and self._lease.is_held:",
        "if False:",
    ),
    Mutant(
        "the timer of the lease is not set again",
        "LeaseTimer.due",
        "self._start()",
        "pass",
    ),
    Mutant(
        "a lease is counted from the answer to a heartbeat",
        "NodesGroupMember._heartbeat",
        "self._renew(sent_ms, error)",
        "self._renew(self._now_ms(), error)",
    ),
    Mutant(
        "heartbeats in a rebalance renew the lease without an end",
        "NodesGroupMember._renew",
        "min(sent_ms, self._settled_ms + REBALANCE_MS - SESSION_MS)",
        "sent_ms",
    ),
    Mutant(
        "a node that takes a partition over does not look again whether it may",
        "ClusterStore._check_may_lead",
        "if not self._may_lead():",
        "if False:",
    ),
    Mutant(
        "a fenced node takes the partition over again at once",
        "PartitionLeads.fenced",
        "self._lose(partition)",
        "self._lose(partition)\nself._gain([partition])",
    ),
    Mutant(
        "a heartbeat that was sent before a fence confirms the partition",
        "PartitionLeads.confirmed",
        "if fenced_ms < sent_ms",
        "if True",
    ),
    Mutant(
        "a node that gave partitions up does not join again",
        "NodesGroupMember._join",
        "return self._leads.assigned(assignment)",
        "return self._leads.assigned(assignment) and False",
    ),
    Mutant(
        "a partition is assigned before its owner gave it up",
        "share_out",
        "if partition not in owners]",
        "if all(partition not in each for each in kept.values())]",
    ),
)

LOG_MUTANTS: Final = (
    Mutant(
        "a takeover writes no fence to the groups' log",
        "ClusterStore._fence_previous_leader",
        "yield from self._groups.begin(identity, fence_record(identity.producer_id, self._owner), at_ms)",
        "self._groups._writer = type(self._groups._writer)(identity)",
    ),
    Mutant(
        "a takeover writes no fence to the audit",
        "ClusterStore._fence_previous_leader",
        "yield from self._audit.begin(identity, self._audit_record(self._leadership(identity, at_ms)), at_ms)",
        "self._audit._writer = type(self._audit._writer)(identity)",
    ),
    Mutant(
        "batches have the epoch of the first takeover",
        "ClusterLog.use",
        "PartitionWriter(identity)",
        "PartitionWriter(ProducerIdentity(identity.producer_id, 0))",
    ),
    Mutant(
        "a load does not read up to the fence",
        "_Watched.log_end_offset",
        "self._log.log_end_offset",
        "max(self._log.log_end_offset - 3, 0)",
    ),
    Mutant(
        "producers of other ids are not fenced",
        "Notes.to_fence",
        "epoch < EPOCH_MAX",
        "epoch < 0",
    ),
    Mutant(
        "producers of other ids are fenced with their next epoch",
        "Notes.to_fence",
        "ProducerIdentity(producer_id, EPOCH_MAX)",
        "ProducerIdentity(producer_id, epoch + 1)",
    ),
    Mutant(
        "producers of other ids are not fenced in the audit",
        "ClusterStore._fence",
        "yield from self._audit.fence(identity, self._audit_record(self._leadership(self._identity, at_ms)), at_ms)",
        "pass",
    ),
    Mutant(
        "epochs are not renewed",
        "ClusterStore.renew_if_due",
        "self._now_ms() - self._renewed_ms < RENEWAL_MS",
        "True",
    ),
    Mutant(
        "the audit is written after the groups",
        "ClusterStore._append",
        """
        if projected:
            renewed, self._next_identity = self._next_identity, None
            if renewed is not None:
                self._audit.use(renewed)
            yield from self._audit.append(projected, at_ms, self._audit_compression)
        """,
        "for each in stored:\n"
        "    yield from self._groups.append(each.records, at_ms)\n"
        "stored = ()\n"
        "if projected:\n"
        "    renewed, self._next_identity = self._next_identity, None\n"
        "    if renewed is not None:\n"
        "        self._audit.use(renewed)\n"
        "    yield from self._audit.append(projected, at_ms, self._audit_compression)",
    ),
)

SENTINEL_MUTANTS: Final = (
    Mutant(
        "a join is answered before the sentinel is there",
        "JoiningHandlers._own",
        "yield from awaited(partial(self._ownership.own, group_id))",
        'Sentinel(group_id, "", 0, 0, 0)',
    ),
    Mutant(
        "commits name the generation of the member",
        "name_sentinel",
        "request.generation_id_or_member_epoch = sentinel.generation_id",
        "pass",
    ),
    Mutant(
        "a group is owned without its note",
        "GroupOwnership._opened",
        "elif self.is_owned(group_id):",
        "elif True:",
    ),
    Mutant(
        "a commit leaves as a sentinel that was replaced",
        "Forwarder._commit",
        "if self._sentinels.get(group_id) is not sentinel:",
        "if False:",
    ),
    Mutant(
        "a sentinel goes on after a commit without an answer",
        "Forwarder._commit",
        """
            self._sentinels.replace(sentinel)
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        """,
        "return ErrorCode.COORDINATOR_NOT_AVAILABLE",
    ),
    Mutant(
        "sentinels that could not join are not tried again",
        "GroupOwnership.loaded",
        "self._tasks.every(SENTINELS_CHECKED_SECONDS, open_missing, starts_now=True)",
        "self._tasks.start(open_missing())",
    ),
    Mutant(
        "a client of which nothing can be found out is denied",
        "RightsQuestions.find_out",
        "raise NoAnswer",
        "continue",
    ),
)

CONSUMER_GROUP_MUTANTS: Final = (
    Mutant(
        "a partition is served before the topics of its consumer groups are known",
        "GroupStateMachine.load",
        "if self._environment.look_up is not None:",
        "if False:",
    ),
    Mutant(
        "a heartbeat is decided by topics that are not known",
        "JoiningHandlers._prepare",
        "has_topics = yield from self._topics.know(needed)",
        "has_topics = True",
    ),
    Mutant(
        "a classic group is converted before the topics of its members are known",
        "GroupTopics.know",
        "has_topics &= yield from awaited(partial(self._topics.know, self._converted(needed)))",
        "pass",
    ),
    Mutant(
        "a heartbeat for a group of the cluster is decided by the core",
        "JoiningHandlers.consumer_heartbeat",
        "if not joins and not self._ownership.is_owned(group_id) and self._groups.shard_of(group_id).is_active:",
        "if False:",
    ),
    Mutant(
        "names that no topic has take the place of topics",
        "ClusterTopics._learn",
        "self._forget(next(iter(self._absent)))",
        "self._forget(next(iter({**self._known, **self._absent})))",
    ),
    Mutant(
        "heartbeats go on to be answered from memory when a topic is gone",
        "ClusterTopics._learn",
        "if was_answered:",
        "if False:",
    ),
    Mutant(
        "a regular expression finds topics that the client may not describe",
        "VisibleTopics.visible",
        "found += [name for name, permission in zip(portion, permissions, strict=True) if rights.get(permission)]",
        "found += portion",
    ),
    Mutant(
        "a new topic is not looked for by regular expressions",
        "TopicNames._learn",
        "self.topics_version += 1",
        "pass",
    ),
    Mutant(
        "configs of brokers count for a group that has none",
        "ClusterGroupSettings._times",
        "if config.config_source == ConfigSource.GROUP",
        "if True",
    ),
    Mutant(
        "a KIP-848 group in which the join of a sentinel fails is nobody's",
        "Sentinels._join",
        "result = ErrorCode.INCONSISTENT_GROUP_PROTOCOL",
        "pass",
    ),
    Mutant(
        "a member fetches offsets with any epoch",
        "ClusterGroupHandlers._asked_for_offsets",
        "if asked.member_id is not None or asked.member_epoch >= 0:",
        "if False:",
    ),
    Mutant(
        "a fence that is in the log already moves its end back",
        "ClusterLog._append",
        "self.log_end_offset = max(self.log_end_offset, base_offset + batch.record_count)",
        "self.log_end_offset = base_offset + batch.record_count",
    ),
)

RIGHTS_MUTANTS: Final = (
    Mutant(
        "only what is not known of a request is asked for",
        "RightsQuestions._unknown",
        "return [] if is_cached else needed",
        "return [each for each in needed if (question_of(*each[:2]), each[2]) not in cached]",
    ),
)

HELD_MUTANTS: Final = (
    Mutant(
        "members at the cluster are told at each check",
        "HeldGroups._report",
        "if self._reported.get(group_id) == reported:",
        "if False:",
    ),
    Mutant(
        "members at the cluster are told before the next node is left a note",
        "HeldGroups._report",
        "if noted is not None or (yield from self._leave_note(group_id, since)):",
        "self._ownership.leave_note(group_id, held_record(group_id, since), lambda problem: None)\nif True:",
    ),
    Mutant(
        "the next node does not tell that members at the cluster have left",
        "HeldGroups._found",
        "elif noted is None:",
        "elif group_id not in self._told:",
    ),
    Mutant(
        "the note goes with the event, which may not be stored yet",
        "HeldGroups._found",
        "self._reported[group_id] = None",
        "yield from self._leave_note(group_id, None)",
    ),
    Mutant(
        "a group is looked at again while its note is being stored",
        "HeldGroups._leave_note",
        "return problem is None",
        "return True",
    ),
    Mutant(
        "each check looks at the same groups",
        "HeldGroups.check",
        "first = bisect_right(groups, self._looked_at_last)",
        "first = 0",
    ),
    Mutant(
        "members at both places are not told",
        "HeldGroups._may_be_held",
        "return self._sentinels.get(group_id) is None",
        "return False",
    ),
    Mutant(
        "a node tells of members at the cluster after it has lost the partition",
        "HeldGroups._look",
        "and self._coordinator.shard_of(group_id).is_active",
        "",
    ),
    Mutant(
        "a node that leads a partition again does not tell again of members at the cluster",
        "HeldGroups.loaded",
        "del self._reported[group_id]",
        "pass",
    ),
    Mutant(
        "a client that joins again at the cluster is told as another one",
        "_digest",
        "(member.client_id, member.client_host)",
        "(member.client_id, member.member_id)",
    ),
    Mutant(
        "members at the cluster are not looked for when a node is asked for the group",
        "GroupOwnership._is_held",
        "listener(group_id)",
        "pass",
    ),
)

MUTANTS: Final = (
    *LEASE_MUTANTS,
    *LOG_MUTANTS,
    *SENTINEL_MUTANTS,
    *CONSUMER_GROUP_MUTANTS,
    *RIGHTS_MUTANTS,
    *HELD_MUTANTS,
)
