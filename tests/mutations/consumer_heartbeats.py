"""Mutants of ConsumerGroupHeartbeats that sessions answer, and of what is found for groups beside the requests."""

from typing import Final

from tests.mutations.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "a change of a consumer group leaves the heartbeats of its members to the sessions",
        "DecidedGroups.apply",
        "if not (decision.no_step_follows or decision.keeps_heartbeats):",
        "if False:",
    ),
    Mutant(
        "a commit closes the heartbeats of a consumer group",
        "DecidedGroups.apply",
        "if not (decision.no_step_follows or decision.keeps_heartbeats):",
        "if not decision.keeps_heartbeats:",
    ),
    Mutant(
        "the step of one member closes the heartbeats of all",
        "DecidedGroups.apply",
        "if not (decision.no_step_follows or decision.keeps_heartbeats):",
        "if not decision.no_step_follows:",
    ),
    Mutant(
        "a member that joins leaves those that have a target to the sessions",
        "MemberUpdate.keeps_heartbeats",
        "is_waiting = self._group.epoch > self._group.target_epoch",
        "is_waiting = True",
    ),
    Mutant(
        "sessions answer members that wait for the assignment interval when it is over",
        "SessionTable.consumer_heartbeat",
        "or session.steady_until_ms <= now_ms",
        "",
    ),
    Mutant(
        "a step of a member leaves its own heartbeats open",
        "SessionTable.renew",
        "session.steady_epoch = -1",
        "pass",
    ),
    Mutant(
        "the wall clock is set, and sessions go on to answer members that wait",
        "make_groups",
        "loop.wall.add_step_listener(lambda step_ms: close_heartbeats())",
        "",
    ),
    Mutant(
        "topics change, and sessions go on to answer consumers",
        "SessionTable.close_all_heartbeats",
        "self.changes += 1",
        "pass",
    ),
    Mutant(
        "a change of the metadata is not told to the sessions",
        "MetadataStore._apply",
        "listener()",
        "pass",
    ),
    Mutant(
        "heartbeats of members that wait are answered by sessions",
        "MemberUpdate.steady_until_ms",
        "if current.state is not MEMBER_STABLE or current.epoch",
        "if current.epoch",
    ),
    Mutant(
        "heartbeats of members with a regular expression are answered by sessions",
        "MemberUpdate.steady_until_ms",
        "or self._has_patterns:",
        ":",
    ),
    Mutant(
        "heartbeats of the other protocol with the same epoch are answered by sessions",
        "SessionTable.has_steady_epoch",
        "and session.steady_api == api_key",
        "",
    ),
    Mutant(
        "sessions answer members of share groups whose partitions are being initialized",
        "ShareMemberUpdate.is_steady",
        "and not self._has_missing",
        "",
    ),
    Mutant(
        "sessions answer members of share groups that wait for a target",
        "ShareMemberUpdate.is_steady",
        "and self.had.epoch == group.target_epoch == group.epoch",
        "",
    ),
    Mutant(
        "sessions answer members of streams groups that have just got something else",
        "streams.heartbeat._decide",
        "if not step.events and not response.status:",
        "if not response.status:",
    ),
    Mutant(
        "sessions answer members of streams groups that are told a status",
        "streams.heartbeat._decide",
        "if not step.events and not response.status:",
        "if not step.events:",
    ),
    Mutant(
        "sessions answer members of streams groups that know other endpoints",
        "SessionTable.consumer_heartbeat",
        "session.steady_endpoint_epoch != fields.endpoint_epoch",
        "False",
    ),
    Mutant(
        "heartbeats of share and streams groups are always authorized anew",
        "ON_HEARTBEAT",
        ', "ShareGroupHeartbeat", "StreamsGroupHeartbeat"',
        "",
    ),
    Mutant(
        "heartbeats of another client are answered by sessions",
        "SessionTable.consumer_heartbeat",
        "or not same_bytes(session.client_id, fields.client_id.data, fields.client_id.size)",
        "",
    ),
    Mutant(
        "the heartbeats of an ended session are answered",
        "SessionTable.has_steady_epoch",
        "and session.deadline_ms > now_ms",
        "",
    ),
    Mutant(
        "heartbeats of consumers renew no session",
        "SessionTable.consumer_heartbeat",
        "session.deadline_ms = now_ms + session.timeout_ms",
        "pass",
    ),
    Mutant(
        "a session that begins anew keeps its place among those that end in the same millisecond",
        "SessionTable.start",
        "if session.timer != 0:",
        "if False:",
    ),
    Mutant(
        "heartbeats of consumers are never measured",
        "SessionTable.consumer_heartbeat",
        "if self.leaves_heartbeats:",
        "if False:",
    ),
    Mutant(
        "a pattern goes on to be resolved for a group that is gone",
        "StartedWork.steps",
        "while self.is_needed:",
        "while True:",
    ),
    Mutant(
        "the result of work gets to another group of the name",
        "GroupWork.bring_back",
        "if started.is_needed:",
        "if True:",
    ),
    Mutant(
        "work is begun again after each batch",
        "GroupWork.start_all",
        "started, self.started = self.started, []",
        "started = self.started",
    ),
    Mutant(
        "work goes on for a group that was rebuilt",
        "StartedWork.is_needed",
        "return group is not None and group.membership is self.membership",
        "return group is not None",
    ),
    Mutant(
        "the topics of a regular expression are asked for, and not found",
        "MemberUpdate._start",
        "self._work = (*self._work, StartWork(work, started, self._context.client_host))",
        "pass",
    ),
    Mutant(
        "who takes the place of a static member keeps its own",
        "replacing",
        "Displaces(holder, displaced)",
        "Replaces(holder)",
    ),
    Mutant(
        "a due timer goes to all handlers",
        "gets_keys",
        "owned is None or key_type in owned",
        "True",
    ),
    Mutant(
        "a resolution that failed is never told to its group",
        "GroupWork.start.failed",
        "self.bring_back(started, worker.failed(request, problem))",
        "pass",
    ),
)
