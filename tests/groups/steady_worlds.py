"""Two servers with the same history: one of them decides every commit in the core."""

from collections.abc import Mapping
from typing import Any

from _wire.headers import encode_response
from _wire.messages.offset_commit import OffsetCommitRequest
from _wire.messages.offset_fetch import OffsetFetchRequest
from _wire.records import parse_records
from coordinator.core.client_connection import ClientConnection
from coordinator.core.kinds import operations
from coordinator.core.offsets import fetch as offset_fetch
from tests.simulation.server import AUDIT, OFFSETS
from tests.simulation.simulation import GROUP_ID, Simulation
from tests.simulation.steady import CommitInFrame

CORRELATION_ID = 1


class Answer:
    """Who waits for one response."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.encoded: bytes | None = None
        self.error: Any = None

    def send_response(self, response: Any) -> None:
        if isinstance(response, bytes):
            self.encoded = response
        else:
            self.encoded = encode_response(CORRELATION_ID, response, self.version)

    def send_error_response(self, error: Any) -> None:
        self.error = error


class RawCommit(CommitInFrame):
    """Hands the answer on as it is."""

    def send_frame(self, frame: bytes) -> None:
        self._reply(frame)


class SteadyWorld(Simulation):
    """A simulation whose answers to commits are compared byte for byte."""

    waiting_class = RawCommit

    def __init__(
        self, *, has_steady_commits: bool, drains_steady: bool = True, settings: Mapping[str, str] | None = None
    ) -> None:
        self.drains_steady = drains_steady
        self.last_answer = Answer(0)
        super().__init__(settings)
        self.has_steady_commits = has_steady_commits

    def send(self, request: OffsetCommitRequest, version: int, connection: ClientConnection | None = None) -> Answer:
        answer = Answer(version)
        self.submit(operations.OFFSET_COMMIT, request.group_id, request, answer, "client", version, connection)
        return answer

    def decided_fetch(self, request: OffsetFetchRequest, version: int) -> bytes | None:
        """The response that the core makes."""

        class Downgraded(Answer):
            def send_response(self, response: Any) -> None:
                offset_fetch.downgrade(response, self.version)
                super().send_response(response)

        answer = Downgraded(version)
        group_id = request.group_id or request.groups[0].group_id
        self.submit(operations.OFFSET_FETCH, group_id, request, answer, "client", version)
        return answer.encoded

    def state(self) -> tuple[object, ...]:
        """All that a commit may change, but what the process alone remembers of the commits that it counts."""
        logs = {topic: self.logs[topic, 0] for topic in (OFFSETS, AUDIT)}
        # Not their batches: steady commits of an iteration may have one of their own.
        stored = {
            topic: [
                (record.offset, record.key, record.value, record.timestamp_ms)
                for _, batch in log.batches(0)
                for record in parse_records(batch)
            ]
            for topic, log in logs.items()
        }
        audit = self.shard.projection
        assert audit is not None
        group = self.shard.machine.groups.get(GROUP_ID)
        counted = {
            group_id: (state.commits, state.committed_partitions)
            for group_id, state in audit.groups.items()  # type: ignore[attr-defined]
        }
        members = () if group is None else sorted(group.membership.members)
        sessions = {
            member_id: (
                self.sessions.deadline_ms(GROUP_ID, member_id),
                self.sessions.last_renewed_ms(GROUP_ID, member_id),
            )
            for member_id in members
        }
        committed = {
            member_id: getattr(each, "committed_ms", None)
            for member_id, each in ({} if group is None else group.membership.members).items()
        }
        order = [] if group is None else [(topic, list(each)) for topic, each in group.offsets.by_topic.items()]
        return stored, group, order, counted, sessions, committed, self.wheel.next_deadline_ms()
