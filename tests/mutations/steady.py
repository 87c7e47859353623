"""Mutants of the short way of commits and of OffsetFetch."""

from typing import Final

from tests.mutations.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "an answer is sent again after the metadata has changed",
        "RepeatedAnswers.find",
        "if self.version_now() != self.version:",
        "if False:",
    ),
    Mutant(
        "an answer is sent again at another listener",
        "RepeatedAnswers.find",
        "kept = <dict>self.by_endpoint.get(endpoint)",
        "kept = <dict>next(iter(self.by_endpoint.values()))",
    ),
    Mutant(
        "an answer is sent again past an authorizer",
        "RepeatedAnswers.has_steps",
        "return self.sessions.leaves_heartbeats or self.sessions.leaves_requests or self.sessions.asks_authorizer",
        "return self.sessions.leaves_heartbeats or self.sessions.leaves_requests",
    ),
    Mutant(
        "an answer is sent again with the correlation id of another",
        "RepeatedAnswer.to",
        "PyBytes_AS_STRING(answer) + LENGTH_BYTES,",
        "PyBytes_AS_STRING(answer) + LENGTH_BYTES + CORRELATION_ID_BYTES,",
    ),
    Mutant(
        "answers are kept without a bound",
        "RepeatedAnswers.keep",
        "if version != self.version or self.bytes_kept + size > KEPT_BYTES_MAX:",
        "if version != self.version:",
    ),
    Mutant(
        "a client whose question was asked before has no software",
        "SteadyConnection.try_repeated",
        "self.software = found.software",
        "pass",
    ),
    Mutant(
        "an answer with an error is sent again",
        "ClusterHandlers.metadata",
        "call.is_repeatable = _is_repeatable(topics)",
        "call.is_repeatable = True",
    ),
    Mutant(
        "a commit of another generation is steady",
        "SteadyCommits.session_of",
        "if self.sessions.is_live(<Session>found, &fields.instance_id, fields.generation_id, now_ms) or (",
        "if True or (",
    ),
    Mutant(
        "pending offsets of a transaction do not matter to a steady commit",
        "SteadyCommit.handle",
        "if offsets.pending is not None:",
        "if False:",
    ),
    Mutant(
        "a steady commit renews no session",
        "SteadyCommit.handle",
        "session.deadline_ms = now_ms + session.timeout_ms",
        "pass",
    ),
    Mutant(
        "a steady commit is not counted for the audit",
        "GroupStateMachine.committed",
        "self._observer.project_commit(group_id, member_id, offsets, at_ms)",
        "pass",
    ),
    Mutant(
        "an offset that goes back is committed without a word",
        "SteadyCommit.read_offsets",
        "if before is not None and partition.offset < (<CommittedOffset>before).offset:",
        "if False:",
    ),
    Mutant(
        "a partition that is named twice is stored twice",
        "SteadyCommit.read_offsets",
        "if len(of_topic) <= in_topic:",
        "if False:",
    ),
    Mutant(
        "a text that is too long is committed",
        "SteadyCommit.read_offsets",
        "if self.is_too_long(partition.metadata.size):",
        "if False:",
    ),
    Mutant(
        "topics are known for ever",
        "SteadyCommits.topic_of",
        "if self.topics_cached_at != self.sessions.changes:",
        "if False:",
    ),
    Mutant(
        "steady commits are answered before the log has them",
        "drain_steady",
        "if problem is not None:",
        "if False:",
    ),
    Mutant(
        "an OffsetFetch overtakes a commit",
        "ShardQueue.is_quiet",
        "and not self._queue",
        "",
    ),
    Mutant(
        "pending offsets of a transaction do not matter to an OffsetFetch",
        "SteadyFetches.group_of",
        "if group is None or group.offsets.pending is not None:",
        "if group is None:",
    ),
)
