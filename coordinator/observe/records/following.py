"""Follows `__consumer_offsets` as it grows: the records of groups, with the positions at which to go on later."""

from collections.abc import Callable, Container, Iterator, Mapping
from selectors import EVENT_READ, DefaultSelector
from time import monotonic
from typing import Final, Self

import msgspec

from _wire.batch_reader import Record
from _wire.errors import ErrorCode
from _wire.group_records import GroupRecordScan
from _wire.group_table import GroupTable
from _wire.messages.fetch import PartitionData
from coordinator.client.bootstrap import Server
from coordinator.client.cluster import EARLIEST, FETCH_VERSION_MAX, LATEST
from coordinator.client.groups import ErrorAnswer, raise_for_error
from coordinator.client.requests import Sent
from coordinator.client.wire import ClientError, WireConnection
from coordinator.internal_topics import OFFSETS_TOPIC
from coordinator.observe.errors import TRANSIENT, CannotObserve, OffsetsUnavailable
from coordinator.observe.places import Place, Source
from coordinator.observe.records.offsets_topic import ANSWER_SECONDS, ATTEMPTS_MAX, OffsetsTopic, fetch_request
from coordinator.observe.records.partition_scan import Notes, PartitionScan
from coordinator.observe.records.reader import Decode, decoded_record
from coordinator.observe.records.stored import GroupRecord, group_record

WAIT_MS: Final = 500
"""How long a broker waits for BYTES_MIN: so a record is told late by as much at most."""
BYTES_MIN: Final = 256 << 10
"""Commits come in small batches; an answer for each of them would cost more than they do."""
PARTITION_BYTES: Final = 4 << 20

Positions = Mapping[int, int]
"""Partition → the next offset."""


class Followed(msgspec.Struct):
    """What was read after the positions of the one before. `positions` are those of all partitions after it.

    `commits` is the number of committed offsets that were passed over. Without records it says that time goes on.
    """

    records: list[tuple[Place, GroupRecord]]
    positions: dict[int, int]
    commits: int
    notes: list[str]


class OffsetsFollower:
    """A connection to each leader. Close it by leaving its context."""

    def __init__(
        self,
        server: Server,
        *,
        groups: Container[str] | None = None,
        table: GroupTable | None = None,
        wait_ms: int = WAIT_MS,
        topic: OffsetsTopic | None = None,
        decode: Decode = group_record,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`groups` are those whose records are wanted, which may change; None: all. `table` gets the commits of all.
        `decode`: of which kinds of groups records are read.

        Raises:
            NoOffsetsTopic, MayNotReadOffsets, ClientError: as OffsetsTopic.
        """
        self._topic = OffsetsTopic(server) if topic is None else topic
        self._encoded_ids = None if groups is None else _Encoded(groups)
        self._table = table
        self._wait_ms = wait_ms
        self._decode = decode
        self._sent: dict[str, tuple[WireConnection, Sent]] = {}
        """Address of a leader → the Fetch that it has not answered."""
        self._out_of_range: list[int] = []
        self._scans: dict[int, PartitionScan] = {}
        self._notes = Notes()
        self._commits_reported = 0
        self._clock = clock
        self.undecoded: dict[int, int] = {}
        """Record type → records that no `GroupRecord` is made of."""
        self.current_at: dict[int, float] = {}
        """Partition → when, by the clock, all that it had had been read. One that is behind is not in it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def close(self) -> None:
        self._topic.close()

    def starts(self) -> dict[int, int]:
        """The first offset of each partition."""
        return self._topic.offsets(self._topic.partitions, EARLIEST)

    def ends(self) -> dict[int, int]:
        """The offset after the last of each partition."""
        return self._topic.offsets(self._topic.partitions, LATEST)

    def follow(self, positions: Positions) -> Iterator[Followed]:
        """What comes in these partitions from these offsets on; never ends. Something is told each WAIT_MS at least.

        Raises:
            OffsetsUnavailable: a leader has not answered for long; called again with the last positions, it goes on.
            MayNotReadOffsets: the right to read was taken away.
            ClientError: a server answers with another error.
        """
        self._scans = {
            partition: PartitionScan(
                partition, GroupRecordScan(group_ids=self._encoded_ids, table=self._table), self._notes, start
            )
            for partition, start in positions.items()
        }
        self._commits_reported = troubles = 0
        self.current_at = {}
        while True:
            answers, problem = self._answers()
            for partition, answer in answers:
                scan = self._scans[partition]
                for part in scan.parts(answer):
                    records = list(self._decoded(scan.name, part))
                    if records:
                        yield self._followed(records)
                if scan.position >= answer.high_watermark:
                    self.current_at[partition] = self._clock()
                else:
                    self.current_at.pop(partition, None)
            troubles = 0 if problem is None else troubles + 1
            if problem is not None:
                self._look_again(troubles, problem)
            yield self._followed([])

    def _followed(self, records: list[tuple[Place, GroupRecord]]) -> Followed:
        positions = {partition: scan.position for partition, scan in self._scans.items()}
        commits = sum(scan.found.committed for scan in self._scans.values())
        notes, self._notes[:] = list(self._notes), []
        found = Followed(records, positions, commits - self._commits_reported, notes)
        self._commits_reported = commits
        return found

    def _decoded(self, name: str, records: list[Record]) -> Iterator[tuple[Place, GroupRecord]]:
        for record in records:
            decoded = decoded_record(record, name, self._notes, self.undecoded, self._decode)
            if decoded is not None:
                yield Place(Source.RECORD, name, record.timestamp_ms, record.offset), decoded

    def _answers(self) -> tuple[list[tuple[int, PartitionData]], str | None]:
        """Partitions, and what their leaders have for them; and a problem, if there is one with any partition."""
        found: list[tuple[int, PartitionData]] = []
        problem = None
        try:
            if not self._send():
                problem = "some partitions have no leader"
            for connection, sent in self._ready():
                answer = connection.receive(sent)
                raise_for_error(answer.error_code, f"cannot fetch from {OFFSETS_TOPIC}")
                if not answer.responses:
                    self._topic.wait_for_quota(answer)
                for topic in answer.responses:
                    for partition in topic.partitions:
                        problem = self._add(partition, found) or problem
        except (CannotObserve, ErrorAnswer):
            raise
        except ClientError as lost:
            return found, str(lost)
        return found, problem

    def _add(self, answer: PartitionData, found: list[tuple[int, PartitionData]]) -> str | None:
        """Sort an answer out: into what was found, the position to go on at, or a problem."""
        partition, error = answer.partition_index, answer.error_code
        if error == ErrorCode.NONE:
            found.append((partition, answer))
        elif error == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._out_of_range.append(partition)
        elif error in TRANSIENT:
            return f"{OFFSETS_TOPIC}-{partition}: {ErrorCode(error).description}"
        else:
            self._topic.raise_for(error, f"cannot fetch from {OFFSETS_TOPIC}-{partition}")
        return None

    def _send(self) -> bool:
        """Ask each leader that has nothing to answer; false if a partition has no leader."""
        if self._out_of_range:
            self._hang_up()
            for partition in self._out_of_range:
                self._scans[partition].go_on_at(*self._topic.ends(partition))
            self._out_of_range = []
        leaders = self._topic.by_leader(self._scans)
        for address, own in leaders.items():
            if address not in self._sent:
                # What was read least comes first: an answer is filled in the order of the request.
                own.sort(key=lambda partition: self._scans[partition].found.records)
                positions = [(partition, self._scans[partition].position) for partition in own]
                request = fetch_request(positions, self._wait_ms, bytes_min=BYTES_MIN, partition_bytes=PARTITION_BYTES)
                connection = self._topic.connection(address)
                version = connection.latest_version(request.API_KEY, FETCH_VERSION_MAX)
                self._sent[address] = connection, connection.send(request, version)
        return sum(map(len, leaders.values())) == len(self._scans)

    def _ready(self) -> Iterator[tuple[WireConnection, Sent]]:
        """Those that answer by now, or else within the time that they may take."""
        with DefaultSelector() as selector:
            for address, (connection, _) in self._sent.items():
                selector.register(connection.socket, EVENT_READ, address)
            ready = [key.data for key, _ in selector.select(self._wait_ms / 1_000 + ANSWER_SECONDS)]
        if not ready and self._sent:
            raise ClientError(f"{', '.join(self._sent)} did not answer")
        for address in ready:
            yield self._sent.pop(address)

    def _look_again(self, troubles: int, problem: str) -> None:
        """Look up the leaders after a pause. Raises OffsetsUnavailable after ATTEMPTS_MAX of them in a row."""
        if troubles >= ATTEMPTS_MAX:
            raise OffsetsUnavailable(None, problem)
        self._hang_up()
        self._topic.wait_before(troubles - 1)
        try:
            self._topic.find_leaders()
        except (CannotObserve, ErrorAnswer):
            raise
        except ClientError:
            self._topic.forget_all()

    def _hang_up(self) -> None:
        """Nobody is to answer any more, so that other requests can be made."""
        self.current_at = {}
        self._topic.forget_all()
        self._sent = {}


class _Encoded(Container[bytes]):
    """Group ids, as they are in keys."""

    def __init__(self, groups: Container[str]) -> None:
        self._groups = groups

    def __contains__(self, group_id: object) -> bool:
        return isinstance(group_id, bytes) and group_id.decode(errors="replace") in self._groups
