"""Clients and the server that they talk to: requests go out, answers come, and what was told is remembered."""

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.delete_groups import DeletableGroupResult
from coordinator.core import admin, joining, members, offsets, transactional_offsets
from coordinator.core.decision import Decision, Reply
from coordinator.core.group import Group, TopicPartition
from tests.simulation import invariants
from tests.simulation.clients import Client, Request
from tests.simulation.consumers import PARTITIONS, identity
from tests.simulation.history import Setup
from tests.simulation.server import Deciding
from tests.simulation.told import Generation, Ledger
from tests.simulation.watched import WatchedServer

REFUSALS: Final = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.UNKNOWN_SERVER_ERROR,
)
"""What a server may say without looking at the request; after the last one its log says why."""

ACCEPTED: Final = frozenset({ErrorCode.NONE, ErrorCode.OFFSET_METADATA_TOO_LARGE})
"""What a commit comes to for a partition when the member that sent it may commit."""


class Talk:
    """A watched server, its clients, and what passed between them."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.seen: Counter[str] = Counter()
        self.defects: list[BaseException] = []
        self.ledger = Ledger()
        self.newest: dict[tuple[str, str, str], Request] = {}
        """Group, API and member id → the request that replaced all earlier ones."""
        self.closed: set[int] = set()
        self.answers: list[tuple[int, Any]] = []
        self.commits = 0
        self.gather_left = 0
        self.clients = [Client(number, each) for number, each in enumerate(setup.clients)]
        self.group_ids = sorted({each.group_id for each in setup.clients})
        self.server = WatchedServer(setup, self.seen)

    def end_gathering(self) -> None:
        """Handle what was gathered for one turn."""
        if self.server.gathering:
            self.server.gathering, self.gather_left = False, 0
            self.server.end_turn()

    # ---- requests

    def send_beside(self, client: Client, api: str, message: Any, version: int) -> None:
        """On a second connection, if one is in use."""
        client.read_answers()
        self.send(client, api, message, version)

    def send(self, client: Client | None, api: str, message: Any, version: int, *, group_id: str | None = None) -> None:
        """`group_id` where the message does not say it."""
        if group_id is None:
            group_id = message.group_id
        life = self.server.twins_of(group_id).life[group_id]
        request = Request(api, group_id, life, message, version, self._answered)
        if client is not None:
            client.under_way.append(request)
            client.last = request
        if api in ("JoinGroup", "SyncGroup") and message.member_id:
            self.newest[message.group_id, api, message.member_id] = request
        if api == "SyncGroup":
            self._note_plan(request)
        server, name = self.server, client.name if client is not None else "admin"
        if api == "Heartbeat":
            request.number = server.ask_heartbeat(message, request, name)
            return
        if api == "EndTransaction":
            partition = server.groups.shard_of(group_id).partition
            request.number = server.ask_end_of_transaction(partition, message, request)
            return
        request.number = server.ask(group_id, request, name, version, self._deciding(request))

    def _deciding(self, request: Request) -> Deciding:
        message, config = request.message, self.server.config
        match request.api:
            case "JoinGroup":
                return lambda c: lambda group, now: joining.join(group, message, c, now, config)
            case "SyncGroup":
                return lambda c: lambda group, now: members.sync(group, message, c, now)
            case "LeaveGroup":
                return lambda c: lambda group, now: members.leave(group, message, c, now)
            case "OffsetCommit":
                return lambda c: lambda group, now: offsets.commit(group, message, c, now, config)
            case "TxnOffsetCommit":
                return lambda c: lambda group, now: transactional_offsets.commit(group, message, c, now, config)
            case "OffsetDelete":
                return lambda c: lambda group, now: offsets.delete(group, message, c, now)
            case "OffsetFetch":
                return _reading(_positions_of)
            case "DescribeGroups":
                return _reading(lambda group, version: admin.describe(group, version, False))
        assert request.api == "DeleteGroups"
        return _deleting

    def _note_plan(self, request: Request) -> None:
        message = request.message
        plan = {each.member_id: each.assignment for each in message.assignments}
        generation = self._generation(message.group_id, message.generation_id, request.life)
        generation.plans.append((identity(message.member_id), plan))

    def _generation(self, group_id: str, generation_id: int, life: int | None = None) -> Generation:
        return self.server.twins_of(group_id).generation(group_id, generation_id, life)

    def close(self, client: Client) -> None:
        if any(request.api == "OffsetCommit" and request.response is None for request in client.under_way):
            self.end_gathering()  # else nobody could say whether it was taken
        for request in client.lose_connections():
            if request.response is None:
                self.server.pending.forget(request.number)
                self.closed.add(request.number)

    # ---- answers

    def _answered(self, request: Request) -> None:
        error = request.error
        self.seen[f"answer {request.api} {error.name}"] += 1
        self.answers.append((request.number, request.response))
        if isinstance(request.response, ErrorCode):
            assert error in REFUSALS or request.api == "EndTransaction", (request.api, error)
            if error is not ErrorCode.NONE:
                return
        handler = self._AFTER.get(request.api)
        if handler is not None:
            handler(self, request, error)

    def _joined(self, request: Request, error: ErrorCode) -> None:
        message, response = request.message, request.response
        if error is ErrorCode.MEMBER_ID_REQUIRED:
            self._lives(message.group_id, response.member_id)
        if error is ErrorCode.NONE:
            assert message.member_id in ("", response.member_id), "a member id was changed"
            self._generation(message.group_id, response.generation_id).told_join(response)

    def _synced(self, request: Request, error: ErrorCode) -> None:
        message = request.message
        if error is ErrorCode.NONE:
            generation = self._generation(message.group_id, message.generation_id, request.life)
            generation.told_assignment(message.member_id, request.response.assignment)

    def _beat(self, request: Request, error: ErrorCode) -> None:
        message = request.message
        if error in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS):
            group = self.server.twins_of(message.group_id).replayed.get(message.group_id)
            assert group is None or message.member_id not in group.pending_members, "a reserved member id is no member"
            self._lives(message.group_id, message.member_id)

    def _committed(self, request: Request, error: ErrorCode) -> None:
        self.ledger.committed(request, self.server.now_ms)
        codes = {ErrorCode(each.error_code) for topic in request.response.topics for each in topic.partitions}
        self.seen.update(f"answer OffsetCommit partition {code.name}" for code in codes)
        message = request.message
        if codes & ACCEPTED and message.generation_id_or_member_epoch >= 0:
            self._lives(message.group_id, message.member_id)

    def _fetched(self, request: Request, error: ErrorCode) -> None:
        found = {
            TopicPartition(topic, each.partition_index): (each.committed_offset, each.metadata)
            for topic, answers in request.response
            for each in answers
        }
        invariants.check_fetched(self, request.group_id, found)

    def _deleted(self, request: Request, error: ErrorCode) -> None:
        if error is ErrorCode.NONE:
            self.ledger.forget(request.group_id)

    def _deleted_offsets(self, request: Request, error: ErrorCode) -> None:
        for topic in request.response.topics:
            gone = (each.partition_index for each in topic.partitions if each.error_code == ErrorCode.NONE)
            self.ledger.forget(request.group_id, [TopicPartition(topic.name, index) for index in gone])

    def _committed_in_transaction(self, request: Request, error: ErrorCode) -> None:
        self.ledger.committed_in_transaction(request)
        codes = {ErrorCode(each.error_code) for topic in request.response.topics for each in topic.partitions}
        self.seen.update(f"answer TxnOffsetCommit partition {code.name}" for code in codes)
        if codes & ACCEPTED and request.message.generation_id >= 0:
            self._lives(request.group_id, request.message.member_id)

    def _transaction_ended(self, request: Request, error: ErrorCode) -> None:
        """For all groups of the partition."""
        partition = self.server.groups.shard_of(request.group_id).partition
        for group_id in self.group_ids:
            if self.server.groups.shard_of(group_id).partition == partition:
                marker = request.message
                self.ledger.transaction_ended(group_id, marker.producer.producer_id, marker.committed)

    def _lives(self, group_id: str, member_id: str) -> None:
        self.server.twins_of(group_id).lives(group_id, member_id, self.server.now_ms)

    _AFTER: Final = {
        "JoinGroup": _joined,
        "SyncGroup": _synced,
        "Heartbeat": _beat,
        "OffsetCommit": _committed,
        "OffsetFetch": _fetched,
        "DeleteGroups": _deleted,
        "OffsetDelete": _deleted_offsets,
        "TxnOffsetCommit": _committed_in_transaction,
        "EndTransaction": _transaction_ended,
    }


def _reading(read: Callable[[Any, int], Any]) -> Deciding:
    return lambda context: (
        lambda group, now_ms: Decision(replies=(Reply(context.request_id, read(group, context.api_version)),))
    )


def _positions_of(group: Group, version: int) -> list[tuple[str, Any]]:
    return [(topic, offsets.fetch(group, topic, None, False)) for topic in PARTITIONS]


def _deleting(context: Any) -> Any:
    def decide(group: Any, now_ms: int) -> Decision:
        error, events = admin.remove(group, now_ms)
        return Decision(events, (Reply(context.request_id, DeletableGroupResult(error_code=error)),))

    return decide
