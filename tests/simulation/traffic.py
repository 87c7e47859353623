"""The requests and responses between the clients and the server, and what the clients learn from them."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

from _wire.errors import ErrorCode
from coordinator.core.groups.group import Group
from coordinator.core.kinds.operations import OPERATIONS
from coordinator.core.kinds.table import new_group
from coordinator.core.stored import Producer
from coordinator.core.topic_partition import TopicPartition
from tests.simulation import invariants
from tests.simulation.acknowledged import Acknowledged
from tests.simulation.client_view import Generation, Ledger
from tests.simulation.clients import Client, Request
from tests.simulation.consumers import PARTITIONS
from tests.simulation.history import Setup
from tests.simulation.world_server import WorldServer

REFUSALS: Final = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.UNKNOWN_SERVER_ERROR,
)
"""What a server may say without looking at the request; after the last one its log says why."""

ACCEPTED: Final = frozenset({ErrorCode.NONE, ErrorCode.OFFSET_METADATA_TOO_LARGE})
"""What a commit comes to for a partition when the member that sent it may commit."""


class Traffic:
    """An instrumented server, its clients, and the traffic between them."""

    def __init__(self, setup: Setup, defects: list[BaseException]) -> None:
        """`defects` are those that the product has caught and logged."""
        self.setup = setup
        self.seen: Counter[str] = Counter()
        self.defects = defects
        self.ledger = Ledger()
        self.newest: dict[tuple[str, str, str], Request] = {}
        """Group, API and member id → the request that replaced all earlier ones."""
        self.closed: set[int] = set()
        self.answers: list[tuple[int, Any]] = []
        self.commits = 0
        self.batch_left = 0
        self.clients = [Client(number, client, self._read_topic) for number, client in enumerate(setup.clients)]
        self.group_ids = sorted({client.group_id for client in setup.clients})
        self.acknowledged = Acknowledged()
        self._observed: list[Request] = []
        self.server = WorldServer(setup, self.seen, self.observe_commit, self.observe_marker)
        for twins in self.server.twins:
            twins.on_offsets_deleted = self.acknowledged.began_again

    def end_batch(self) -> None:
        """Handle the requests of the batch in one loop iteration."""
        if self.server.is_batching:
            self.server.is_batching, self.batch_left = False, 0
            self.server.end_iteration()

    # ---- requests

    def send_beside(self, client: Client, api: str, message: Any, version: int) -> None:
        """On a second connection, if one is in use."""
        client.read_answers()
        self.send(client, api, message, version)

    def send(self, client: Client | None, api: str, message: Any, version: int, *, group_id: str | None = None) -> None:
        """`group_id` where the message does not say it."""
        if group_id is None:
            group_id = message.group_id
        incarnation = self.server.twins_of(group_id).incarnation[group_id]
        request = Request(api, group_id, incarnation, message, version, self._answered)
        if client is not None:
            client.under_way.append(request)
            client.last = request
            request.connection = client.connection
        if api in ("JoinGroup", "SyncGroup") and message.member_id:
            self.newest[message.group_id, api, message.member_id] = request
            self._came(request, message.member_id)
        if api == "SyncGroup":
            self._note_plan(request)
        self._submit(request, client.name if client is not None else "admin")
        if client is not None and api == "JoinGroup":
            client.last_join = request.number

    def _submit(self, request: Request, name: str) -> None:
        server, message = self.server, request.message
        if request.api == "Heartbeat":
            request.number = server.submit_heartbeat(message, request, name)
        elif request.api == "ConsumerGroupHeartbeat":
            request.number = server.submit_consumer_heartbeat(message, request, name, request.version)
        else:
            request.number = server.submit(
                OPERATIONS[request.api], request.group_id, message, request, name, request.version, request.connection
            )

    def _read_topic(self, topic_id: bytes) -> str | None:
        """The name of a topic that groups commit offsets of; it is never deleted."""
        name = self.server.environment.topics.topic_name(topic_id)
        return name if name in PARTITIONS else None

    def _came(self, request: Request, member_id: str) -> None:
        """The member may be known to be at the other end of the request's connection."""
        if request.connection is not None:
            self.server.twins_of(request.group_id).came_by[request.group_id, member_id].append(request.connection)

    def group(self, group_id: str) -> Group:
        """An empty one where there is none."""
        return self.server.coordinator.shard_of(group_id).machine.groups.get(group_id) or new_group(group_id)

    def _note_plan(self, request: Request) -> None:
        message = request.message
        plan = {assignment.member_id: assignment.assignment for assignment in message.assignments}
        generation = self._generation(message.group_id, message.generation_id, request.incarnation)
        generation.plans.append((self.server.twins_of(message.group_id).identity(message.member_id), plan))

    def _generation(self, group_id: str, generation_id: int, incarnation: int | None = None) -> Generation:
        return self.server.twins_of(group_id).generation(group_id, generation_id, incarnation)

    def close(self, client: Client) -> None:
        if any(request.api == "OffsetCommit" and request.response is None for request in client.under_way):
            self.end_batch()  # otherwise it is unknown whether the commit is stored
        for request in client.lose_connections(self.server.now_ms):
            if request.response is None:
                self.server.pending.forget(request.number)
                self.closed.add(request.number)

    # ---- answers

    def _answered(self, request: Request) -> None:
        error = request.error
        self.seen[f"answer {request.api} {error.name}"] += 1
        self.answers.append((request.number, request.response))
        if error in REFUSALS:
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
            self._came(request, response.member_id)
            if self._was_consumer_group(request):
                assert response.leader or not response.members, "members without a leader"
                self._lives(message.group_id, response.member_id)
            else:
                self._generation(message.group_id, response.generation_id).apply_join(response)

    def _synced(self, request: Request, error: ErrorCode) -> None:
        message = request.message
        if error is ErrorCode.NONE and not self._was_consumer_group(request):
            generation = self._generation(message.group_id, message.generation_id, request.incarnation)
            generation.apply_assignment(message.member_id, request.response.assignment)

    def _was_consumer_group(self, request: Request) -> bool:
        """Whether the group was a consumer group at some time between the request and its answer, or may have been."""
        return self.server.twins_of(request.group_id).was_consumer_group(request.group_id, request.incarnation)

    def _beat_as_consumer(self, request: Request, error: ErrorCode) -> None:
        message = request.message
        if error is ErrorCode.NONE and message.member_epoch >= 0:
            self._lives(message.group_id, request.response.member_id)

    def _beat(self, request: Request, error: ErrorCode) -> None:
        message = request.message
        if error in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS):
            group = self.server.twins_of(message.group_id).replayed.get(message.group_id)
            assert group is None or message.member_id not in pending_members(group.membership), (
                "a reserved member id is no member"
            )
            self._lives(message.group_id, message.member_id)

    def _committed(self, request: Request, error: ErrorCode) -> None:
        self.ledger.committed(request, self.server.wall.at(self.server.now_ms))
        codes = {ErrorCode(partition.error_code) for topic in request.response.topics for partition in topic.partitions}
        self.seen.update(f"answer OffsetCommit partition {code.name}" for code in codes)
        message = request.message
        if codes & ACCEPTED and message.generation_id_or_member_epoch >= 0 and not self._was_consumer_group(request):
            self._lives(message.group_id, message.member_id)

    def _fetched(self, request: Request, error: ErrorCode) -> None:
        (group,) = request.response.groups
        found = {
            TopicPartition(topic.name, partition.partition_index): (partition.committed_offset, partition.metadata)
            for topic in group.topics
            for partition in topic.partitions
            if partition.error_code == ErrorCode.NONE
        }
        unstable = {
            TopicPartition(topic.name, partition.partition_index)
            for topic in group.topics
            for partition in topic.partitions
            if partition.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT
        }
        self.seen["answer OffsetFetch with unstable offsets"] += bool(unstable)
        invariants.check_fetched(self, request, found, unstable)

    def _deleted(self, request: Request, error: ErrorCode) -> None:
        if request.response.results[0].error_code == ErrorCode.NONE:
            self.ledger.forget(request.group_id)

    def _deleted_offsets(self, request: Request, error: ErrorCode) -> None:
        for topic in request.response.topics:
            gone = (
                partition.partition_index for partition in topic.partitions if partition.error_code == ErrorCode.NONE
            )
            self.ledger.forget(request.group_id, [TopicPartition(topic.name, index) for index in gone])

    def observe_commit(self, group_id: str, message: Any, version: int) -> Callable[[Any], None]:
        """A transaction commits offsets of a group; returns who gets the response."""
        incarnation = self.server.twins_of(group_id).incarnation[group_id]
        return self._observe(Request("TxnOffsetCommit", group_id, incarnation, message, version, self._answered))

    def observe_marker(self, partition: int, marker: Any) -> Callable[[Any], None]:
        """A transaction ends in the groups of a partition; returns who gets the result."""
        request = Request("complete transaction", "", 0, marker, 0, self._answered)
        request.partition = partition
        return self._observe(request)

    def _observe(self, request: Request) -> Callable[[Any], None]:
        self._observed = [each for each in self._observed if each.response is None]
        self._observed.append(request)
        return request.send_response

    def unobserved(self) -> list[Request]:
        """Requests of transactions to groups that were never answered; from now on they will not be."""
        unanswered = [each for each in self._observed if each.response is None]
        self._observed = []
        return unanswered

    def _committed_in_transaction(self, request: Request, error: ErrorCode) -> None:
        self.ledger.committed_in_transaction(request)
        codes = {ErrorCode(partition.error_code) for topic in request.response.topics for partition in topic.partitions}
        self.seen.update(f"answer TxnOffsetCommit partition {code.name}" for code in codes)
        if codes & ACCEPTED and request.message.generation_id >= 0 and not self._was_consumer_group(request):
            self._lives(request.group_id, request.message.member_id)

    def _transaction_ended(self, request: Request, error: ErrorCode) -> None:
        """For all groups of the partition."""
        marker = request.message
        assert not marker.committed or self.may_commit(marker.producer), "a marker of a commit that nobody asked for"
        for group_id in self.group_ids:
            if self.server.coordinator.shard_of(group_id).partition == request.partition:
                self.ledger.transaction_ended(group_id, marker.producer.producer_id, marker.committed)

    def may_commit(self, producer: Producer) -> bool:
        """Whether a producer asked to commit the transaction that a marker of this epoch ends."""
        epochs = producer.producer_epoch, producer.producer_epoch - 1
        return any(
            transaction.asked and transaction.producer_id == producer.producer_id and transaction.epoch in epochs
            for transaction in self.acknowledged.transactions
        )

    def _lives(self, group_id: str, member_id: str) -> None:
        self.server.twins_of(group_id).lives(group_id, member_id, self.server.now_ms)

    _AFTER: Final = {
        "JoinGroup": _joined,
        "SyncGroup": _synced,
        "Heartbeat": _beat,
        "ConsumerGroupHeartbeat": _beat_as_consumer,
        "OffsetCommit": _committed,
        "OffsetFetch": _fetched,
        "DeleteGroups": _deleted,
        "OffsetDelete": _deleted_offsets,
        "TxnOffsetCommit": _committed_in_transaction,
        "complete transaction": _transaction_ended,
    }


def pending_members(group: Any) -> Mapping[str, int]:
    """The member ids that were handed out and are not used yet; only a classic group has some."""
    found: Mapping[str, int] = getattr(group, "pending_members", {})
    return found
