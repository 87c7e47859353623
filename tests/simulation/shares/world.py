"""A node on a virtual clock, and the members of a share group, who fetch, acknowledge, and go away."""

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.headers import decode_response_header, encode_request, encode_response
from _wire.messages import initialize_share_group_state, read_share_group_state, read_share_group_state_summary
from _wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from _wire.messages.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from _wire.messages.share_fetch import AcknowledgementBatch as FetchedBatch
from _wire.messages.share_fetch import FetchPartition, FetchTopic, ShareFetchRequest, ShareFetchResponse
from _wire.records import batch_headers, build_batch, parse_batch
from coordinator.broker.share.steady_requests import SteadyShares
from coordinator.core.client_connection import ClientConnection
from tests.simulation.calls import LOST, Ask, Call
from tests.simulation.history import ClientSetup, Setup
from tests.simulation.server import SimulatedServer
from tests.simulation.shares.delivered import Delivered
from tests.simulation.twins import ShardTwins
from tests.simulation.world_server import WorldServer, config_of
from tests.wire_client import produce_request

GROUP: Final = "queue"
TOPIC: Final = "jobs"
PARTITIONS: Final = 2
GROUP_RESOURCE: Final = 32
SETTINGS: Final = {
    "share.coordinator.state.topic.num.partitions": "2",
    "share.coordinator.snapshot.update.records.per.snapshot": "3",
}
PATIENCE_MS: Final = 120_000
LENGTH_BYTES: Final = 4


class ShareServer(WorldServer):
    """With the topic of the share group."""

    def __init__(self, setup: Setup) -> None:
        seen: Counter[str] = Counter()
        self.twins = [ShardTwins(partition, seen, lambda: self.wall.step_ms) for partition in range(setup.partitions)]
        self.setup = setup
        self._observe_commit = lambda *_: lambda response: None
        self._observe_marker = lambda *_: lambda response: None
        SimulatedServer.__init__(
            self,
            config_of(setup, SETTINGS),
            partitions=setup.partitions,
            has_steady_commits=setup.has_steady_commits,
            steps_per_slice=10,
        )
        self.steady_shares = 0
        """Requests that needed no handler."""

    def _create_topics(self) -> None:
        super()._create_topics()
        self.node.storage.topics.create(TOPIC, PARTITIONS, 1, {}, self.now_ms)


class ShareCall(Call):
    """A request on a connection that goes on."""

    def __init__(
        self, server: ShareServer, ask: Ask, name: str, connection: ClientConnection, on_error: Callable[[Any], None]
    ) -> None:
        self.client_connection = connection  # type: ignore[assignment]
        self.answered_ms = 0
        super().__init__(server, ask, name, on_error)

    def _run(self) -> None:
        """As a connection does it, by whose frames steady requests are found."""
        server = self._server
        assert isinstance(server, ShareServer)
        shares = server.sessions.shares
        if server.has_steady_commits and isinstance(shares, SteadyShares):
            frame = encode_request(1, self.context.client_id, self.ask.message, self.ask.version)[LENGTH_BYTES:]
            steady = shares.read(frame, self, server.now_ms)
            if steady is not None:
                server.steady_shares += 1
                if steady.answer is not None:
                    self.send_frame(steady.answer)
                return
        super()._run()

    def send_frame(self, frame: bytes) -> None:
        """Get the answer to a steady request."""
        message = self.context.route.api.response
        _, start = decode_response_header(frame, self.ask.message.API_KEY, self.ask.version, LENGTH_BYTES)
        response = message.decode(frame, self.ask.version, start)
        assert encode_response(1, response, self.ask.version) == frame, "it is not what an encoder writes"
        self.send_response(response)

    def send_response(self, response: Any) -> None:
        self.answered_ms = self._server.now_ms
        super().send_response(response)


class Member:
    """A member: its connection, its share session, and the request that it waits for."""

    def __init__(self, name: str, version: int) -> None:
        self.name = name
        self.version = version
        """Of ShareFetch and ShareAcknowledge."""
        self.connection = ClientConnection()
        self.epoch = 0
        self.call: ShareCall | None = None
        self.answered: Callable[[Any], None] | None = None


class ShareWorld:
    """Public methods are steps: of a member, with a value; none fails for want of something to do."""

    def __init__(self, setup: Setup, members: int, defects: list[BaseException]) -> None:
        self.setup = setup
        self.defects = defects
        self.seen: Counter[str] = Counter()
        self.server = ShareServer(setup)
        self.members = [Member(f"m{number}", 2 - number % 2) for number in range(members)]
        self.partitions = [Delivered() for _ in range(PARTITIONS)]
        self.producing: list[tuple[Call, int, list[bytes]]] = []
        self.values = 0
        self.answered_ms = 0
        """When the answer came that is being read."""
        self.answers: list[str] = []
        """All that members got, in the order in which they read it."""
        self.topic_id = self.server.node.storage.image.topic_id(TOPIC)
        self._configure()
        self._initialize()

    # ---- before the history

    def _configure(self) -> None:
        config = AlterableConfig(name="share.auto.offset.reset", config_operation=0, value="earliest")
        resource = AlterConfigsResource(resource_type=GROUP_RESOURCE, resource_name=GROUP, configs=[config])
        (told,) = self.ask(IncrementalAlterConfigsRequest(resources=[resource]), 1).responses
        assert told.error_code == 0, told

    def _initialize(self) -> None:
        module = initialize_share_group_state
        states = [module.StatePartition(partition=each, state_epoch=1, start_offset=-1) for each in range(PARTITIONS)]
        topics = [module.StateTopic(topic_id=self.topic_id, partitions=states)]
        (told,) = self.ask(module.InitializeShareGroupStateRequest(group_id=GROUP, topics=topics), 0).results
        assert {each.error_code for each in told.partitions} == {0}, told

    def ask(self, message: Any, version: int) -> Any:
        """The response, however long it takes."""
        call = Call(self.server, Ask(message, version), "admin", lambda error: None)
        self.server.end_iteration()
        waited_ms = 0
        while call.response is None and waited_ms < PATIENCE_MS:
            self.server.advance(100)
            waited_ms += 100
        assert call.response is not None, f"{message} is not answered"
        return call.response

    # ---- producers

    def produce(self, member: Member, value: int) -> None:
        """Some records, in one batch."""
        partition, values = value % PARTITIONS, []
        for _ in range(1 + value // PARTITIONS % 6):
            self.values += 1
            values.append(b"%d" % self.values)
        data = build_batch([(None, each, ()) for each in values], timestamp_ms=self.server.wall_ms)
        ask = Ask(produce_request(TOPIC, data, partition=partition), 9)
        self.producing.append((Call(self.server, ask, "producer", lambda error: None), partition, values))
        self.server.turn()

    def hear_producers(self) -> None:
        left = []
        for call, partition, values in self.producing:
            if call.response is None:
                left.append((call, partition, values))
            elif call.response is not LOST:
                told = call.response.responses[0].partition_responses[0]
                if told.error_code == ErrorCode.NONE:
                    self.partitions[partition].produced(told.base_offset, values)
                    self.seen["produced"] += len(values)
        self.producing = left

    # ---- members

    def fetch(self, member: Member, value: int) -> None:
        """Open a session with all partitions, or go on with it; perhaps acknowledge what the member holds of one."""
        if self._is_busy(member):
            return
        partition, kind = value // 24 % PARTITIONS, (1, 1, 2, 3)[value // 48 % 4]
        held = self.partitions[partition].held_by(member.name) if member.epoch and value // 192 % 2 else []
        topics = []
        if member.epoch == 0:
            topics = [
                _fetched_topic(self.topic_id, [FetchPartition(partition_index=each) for each in range(PARTITIONS)])
            ]
        elif held:
            batches = batches_of(FetchedBatch, held, kind, value // 384)
            named = FetchPartition(partition_index=partition, acknowledgement_batches=batches)
            topics = [_fetched_topic(self.topic_id, [named])]
        request = ShareFetchRequest(
            group_id=GROUP,
            member_id=member.name,
            share_session_epoch=member.epoch,
            max_wait_ms=(0, 500, 5_000)[value % 3],
            min_bytes=1,
            max_bytes=1 << 20,
            max_records=(1, 2, 5, 500)[value // 3 % 4],
            batch_size=500,
            share_acquire_mode=value // 12 % 2 if member.version > 1 else 0,
            topics=topics,
        )
        in_time = self.partitions[partition].acknowledging(held, kind, self.server.now_ms)
        self._send(member, request, lambda answer: self._fetched(member, answer, partition, in_time, kind))

    def _fetched(self, member: Member, answer: Any, partition: int, in_time: list[int], kind: int) -> None:
        self._count_up(member, answer)
        fetched = [data for topic in answer.responses for data in topic.partitions]
        if in_time:
            errors = [data.acknowledge_error_code for data in fetched if data.partition_index == partition]
            self._note(partition, in_time, kind, answer.error_code, errors)
        for data in fetched:
            values = _values(bytes(data.records or b""))
            for one in data.acquired_records:
                for offset in range(one.first_offset, one.last_offset + 1):
                    self.partitions[data.partition_index].delivered(
                        member.name, offset, values[offset], one.delivery_count, self.answered_ms
                    )
                    self.seen[f"delivery {one.delivery_count}"] += 1

    def acknowledge(self, member: Member, value: int) -> None:
        """A record, or all that the member holds of a partition; `value` says which, and what was done with it."""
        partition, kind = value % PARTITIONS, (1, 1, 2, 3)[value // PARTITIONS % 4]
        held = self.partitions[partition].held_by(member.name)
        if not held or not member.epoch:
            return
        position = value // 8
        offsets = held if position % 3 == 0 else [held[position % len(held)]]
        self._acknowledge(member, partition, offsets, kind, value // 24)

    def _acknowledge(self, member: Member, partition: int, offsets: list[int], kind: int, form: int = 0) -> None:
        batches = batches_of(AcknowledgementBatch, offsets, kind, form)
        topic = AcknowledgeTopic(
            topic_id=self.topic_id,
            partitions=[AcknowledgePartition(partition_index=partition, acknowledgement_batches=batches)],
        )
        request = ShareAcknowledgeRequest(
            group_id=GROUP, member_id=member.name, share_session_epoch=member.epoch, topics=[topic]
        )
        if self._is_busy(member):
            return
        in_time = self.partitions[partition].acknowledging(offsets, kind, self.server.now_ms)
        self._send(member, request, lambda answer: self._acknowledged(member, partition, in_time, kind, answer))

    def _acknowledged(self, member: Member, partition: int, offsets: list[int], kind: int, answer: Any) -> None:
        self._count_up(member, answer)
        errors = [data.error_code for topic in answer.responses for data in topic.partitions]
        self._note(partition, offsets, kind, answer.error_code, errors)

    def _note(self, partition: int, offsets: list[int], kind: int, error: int, errors: list[int]) -> None:
        if error == ErrorCode.NONE and errors == [ErrorCode.NONE]:
            self.partitions[partition].acknowledged(offsets, kind)
            self.seen[f"acknowledged {kind}"] += len(offsets)
        else:
            self.seen[f"not acknowledged {[ErrorCode(each).name for each in errors]}"] += len(offsets)

    def _count_up(self, member: Member, answer: Any) -> None:
        if answer.error_code in (ErrorCode.SHARE_SESSION_NOT_FOUND, ErrorCode.INVALID_SHARE_SESSION_EPOCH):
            member.epoch = 0
        elif answer.error_code == ErrorCode.NONE:
            member.epoch += 1

    def _is_busy(self, member: Member) -> bool:
        return member.call is not None and member.call.response is None

    def _send(self, member: Member, message: Any, answered: Callable[[Any], None]) -> None:
        if self._is_busy(member):
            return
        self.hear(member)
        member.answered = answered
        member.call = ShareCall(
            self.server, Ask(message, member.version), member.name, member.connection, lambda error: None
        )
        self.server.turn()

    def hear(self, member: Member) -> None:
        """Read the answer, if it has come."""
        if member.call is not None and member.call.response is not None:
            call, member.call = member.call, None
            if call.response is not LOST:
                assert member.answered is not None
                self.answered_ms = call.answered_ms
                self.answers.append(f"{member.name} {_without_times(call.response, member.version)}")
                member.answered(call.response)

    def disconnect(self, member: Member, value: int) -> None:
        """The connection breaks, perhaps before an answer is read."""
        if value % 2 == 0:
            self.hear(member)
        self._lose(member)
        self.server.turn()

    def _lose(self, member: Member) -> None:
        if member.call is not None:
            member.call.lose()
            member.call = None
        connection, member.connection, member.epoch = member.connection, ClientConnection(), 0
        for partition in self.partitions:
            partition.release_all(member.name)
        connection.close(self.server.now_ms)

    # ---- time and the server

    def wait(self, member: Member, value: int) -> None:
        self.server.advance(value)

    def die_writing(self, member: Member, value: int) -> None:
        """The process will die when so many bytes more are written."""
        self.server.disk.bytes_until_kill = value

    def fill_disk(self, member: Member, value: int) -> None:
        """So many bytes fit; 0: there is room again."""
        self.server.disk.bytes_left = value or None

    def kill(self, member: Member, value: int) -> None:
        """kill -9 and a new start."""
        self.start_again()

    def lose_power(self, member: Member, value: int) -> None:
        """What was not flushed is gone; only where each append is flushed before it counts."""
        if self.setup.is_durable:
            self.server.disk.lose_power(lambda size: size * (value % 3) // 2)
            self.start_again()

    def stop(self, member: Member, value: int) -> None:
        """A clean stop and a start that trusts the logs."""
        disk = self.server.disk
        if disk.bytes_left is None and disk.bytes_until_kill is None:
            self.server.stop()
            self.start_again(clean=True)

    def start_again(self, *, clean: bool = False) -> None:
        """All connections are gone; answers that had come are read before."""
        self.seen["start"] += 1
        self.hear_producers()
        for member in self.members:
            self.hear(member)
            member.call, member.connection, member.epoch = None, ClientConnection(), 0
            for partition in self.partitions:
                partition.release_all(member.name)
        self.producing = []
        self.server.disk.heal()
        for twins in self.server.twins:
            twins.power_was_lost = False
        self.server.start(clean=clean)

    # ---- what is stored

    def stored(self) -> list[Any]:
        """State epoch, start offset and batches of each partition."""
        module = read_share_group_state
        states = [module.StatePartition(partition=each, leader_epoch=-1) for each in range(PARTITIONS)]
        topics = [module.StateTopic(topic_id=self.topic_id, partitions=states)]
        (told,) = self.ask(module.ReadShareGroupStateRequest(group_id=GROUP, topics=topics), 0).results
        return [
            (
                each.partition,
                each.error_code,
                each.state_epoch,
                each.start_offset,
                [
                    (one.first_offset, one.last_offset, one.delivery_state, one.delivery_count)
                    for one in each.state_batches
                ],
            )
            for each in sorted(told.partitions, key=lambda one: one.partition)
        ]

    def done_until(self) -> list[int]:
        """Of each partition, where it starts and how many records beyond that are done, together."""
        module = read_share_group_state_summary
        states = [module.StatePartition(partition=each, leader_epoch=-1) for each in range(PARTITIONS)]
        topics = [module.StateTopic(topic_id=self.topic_id, partitions=states)]
        (told,) = self.ask(module.ReadShareGroupStateSummaryRequest(group_id=GROUP, topics=topics), 1).results
        ordered = sorted(told.partitions, key=lambda one: one.partition)
        return [max(each.start_offset, 0) + max(each.delivery_complete_count, 0) for each in ordered]

    def ends(self) -> list[int]:
        """The end of each partition."""
        partitions = self.server.node.storage.partitions
        return [partitions.get(TOPIC, number).high_watermark for number in range(PARTITIONS)]


def _without_times(response: Any, version: int) -> str:
    """What a client reads, with the values of records in place of their batches."""
    answer = type(response).decode(response.encode(version), version, 0)
    said = str(answer)
    for topic in answer.responses:
        for data in topic.partitions:
            if isinstance(answer, ShareFetchResponse):
                said = said.replace(f"records={data.records!r}", f"records={_values(bytes(data.records or b''))}")
    return said


def _fetched_topic(topic_id: bytes, partitions: list[FetchPartition]) -> FetchTopic:
    return FetchTopic(topic_id=topic_id, partitions=partitions)


def batches_of(make: Callable[..., Any], offsets: list[int], kind: int, form: int) -> list[Any]:
    """These offsets in batches: each by itself, or neighbours together, with one type or with one for each."""
    runs: list[list[int]] = []
    for offset in offsets:
        if form % 3 and runs and runs[-1][1] == offset - 1:
            runs[-1][1] = offset
        else:
            runs.append([offset, offset])
    return [
        make(
            first_offset=first, last_offset=last, acknowledge_types=[kind] * (last - first + 1 if form % 3 == 2 else 1)
        )
        for first, last in runs
    ]


def _values(data: bytes) -> dict[int, bytes]:
    """Offset → value."""
    found: dict[int, bytes] = {}
    for header in batch_headers(data):
        batch = data[header.position : header.position + header.size_in_bytes]
        found.update((record.offset, record.value or b"") for record in parse_batch(batch)[1])
    return found


def setup_of(*, is_durable: bool, turns: int, is_steady: bool) -> Setup:
    return Setup(
        (ClientSetup(GROUP),), is_durable=is_durable, turns=turns, roll_ms=60_000, has_steady_commits=is_steady
    )
