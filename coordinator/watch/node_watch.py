"""The watcher inside a node: two threads, which nothing that clients ask waits for.

One sends what this node saw to the topic that all nodes have for it. The other tells of the groups whose partitions the
node leads: it reads their records and what all nodes saw, and appends events to the audit.
"""

import threading
from collections import deque
from collections.abc import Callable, Container, Iterable
from contextlib import closing
from time import monotonic
from typing import Final, Protocol

from coordinator.audit.schema import Record
from coordinator.audit.schema.sighted import AnySighting, Watches, encode_sighting
from coordinator.client.audit_topic import AuditTopic
from coordinator.client.bootstrap import Bootstrap
from coordinator.client.wire import ClientError
from coordinator.core.partitioning import partition_for
from coordinator.internal_topics import AUDIT_TOPIC, SIGHTINGS_TOPIC
from coordinator.logger import logger
from coordinator.observe.places import Place, Source
from coordinator.observe.records.following import OffsetsFollower
from coordinator.observe.records.other_kinds import record_of_any_kind
from coordinator.observe.topic_ids import TopicIds
from coordinator.watch.giving_way import GivesWay
from coordinator.watch.handover import Handover
from coordinator.watch.positions import PositionError, now_ms
from coordinator.watch.session import FollowedRecords
from coordinator.watch.shared_sink import PlainSink, SharedSink, sighting_record
from coordinator.watch.sighting_logs import SightingLog, SightingTopic, log_name
from coordinator.watch.sink import Fenced, Sink, SinkError, restored
from coordinator.watch.watcher import Counted, Watcher

PAUSE_SECONDS: Final = 2.0
PRESENT_SECONDS: Final = 2.0
"""How often a node says that it is there. Who reads it takes one for away after `presence.LATE_MS`."""
STOP_SECONDS: Final = 5.0
QUEUED_MAX: Final = 50_000
"""Facts that wait to be sent. New ones beyond that are dropped, counted and logged, and missing in the audit."""
SENT_AT_ONCE: Final = 1_000
FAILURES: Final = (ClientError, SinkError, Fenced, PositionError, OSError)


class Watched(Container[str], Protocol):
    """The groups that are watched."""

    @property
    def fingerprint(self) -> list[tuple[str, bool]]:
        """By which rules; another one if a group may be watched that was not."""

    def matches(self, group_id: str) -> bool:
        """Whether a rule watches it, also while nodes coordinate it."""


class NodeWatch:
    """Made by the node, and told what it sees and leads, from the thread of its loop."""

    def __init__(
        self,
        server: Bootstrap,
        node_id: int,
        watched: Watched,
        handover: Handover,
        partition_count: int,
        id_prefix: str,
    ) -> None:
        """`handover` has the groups that the node adopts and gives back.

        `id_prefix` is that of the transactional ids by which one watcher of a partition fences the one before."""
        self._server, self._node_id = server, node_id
        self._watched = watched
        self._handover = handover
        self._partition_count = partition_count
        self._id_prefix = id_prefix
        self._queue: deque[AnySighting] = deque()
        self._stopped = threading.Event()
        self._has_facts = threading.Event()
        self._changed = threading.Event()
        self._leads: frozenset[int] = frozenset()
        self._threads: list[threading.Thread] = []
        self._already_logged: dict[str, str] = {}
        self._run_ms = self._since_ms = self._seen_to_ms = 0
        self._dropped: tuple[int, int] | None = None
        """From when to when more was seen than could be kept, as far as it is not sent."""
        self.counted = Counted()
        self.lost = 0
        """Facts for which the queue had no room, since the start."""
        self.sent = 0
        """Facts that were appended, since the start."""

    @property
    def waiting(self) -> int:
        """Facts that are not sent yet."""
        return len(self._queue)

    # ---- from the thread of the node

    def start(self) -> None:
        self._run_ms = self._since_ms = self._seen_to_ms = now_ms()
        for name, run in (("sightings", self._send), ("watcher", self._watch)):
            thread = threading.Thread(target=self._run, args=(name, run), name=f"watch-{name}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """End the threads; what was seen and not sent is sent before, if that is possible at once."""
        self._stopped.set()
        self._changed.set()
        self._has_facts.set()

    def join(self) -> None:
        for thread in self._threads:
            thread.join(STOP_SECONDS)

    def see(self, sightings: Iterable[AnySighting]) -> int:
        """Take what the tap saw; return how much of it there is no room for."""
        lost = 0
        for sighting in sightings:
            if len(self._queue) >= QUEUED_MAX:
                lost += 1
            else:
                self._queue.append(sighting)
        self.lost += lost
        self._seen_to_ms = now_ms()
        if self._queue:
            self._has_facts.set()
        return lost

    def dropped(self, from_ms: int) -> None:
        """Since `from_ms` more was seen than could be kept."""
        first = from_ms if self._dropped is None else min(self._dropped[0], from_ms)
        self._dropped = first, now_ms()

    def lead(self, partitions: Iterable[int]) -> None:
        """Tell of the groups of these partitions from now on."""
        leads = frozenset(partitions)
        if leads != self._leads:
            self._leads = leads
            self._changed.set()

    def rules_changed(self) -> None:
        """Other groups are watched from now on."""
        self._since_ms = now_ms()
        self._changed.set()

    # ---- threads

    def _run(self, name: str, run: Callable[[], None]) -> None:
        while not self._stopped.is_set():
            try:
                run()
            except FAILURES as problem:
                self._log(name, str(problem))
                self._stopped.wait(PAUSE_SECONDS)
            except Exception:
                logger.exception("unhandled exception in the watcher of the node; it begins again", thread=name)
                self._stopped.wait(PAUSE_SECONDS)

    def _log(self, name: str, problem: str) -> None:
        """Once until it is another one."""
        if self._already_logged.get(name) != problem:
            self._already_logged[name] = problem
            logger.warning("cannot watch; it is tried again", thread=name, problem=problem)

    def _send(self) -> None:
        partitions = range(self._partition_count)
        with closing(PlainSink(self._server, SIGHTINGS_TOPIC, self._stopped, partitions)) as sink:
            said_at, give_way = float("-inf"), GivesWay()
            while not self._stopped.is_set() or self._queue:
                self._has_facts.wait(PRESENT_SECONDS)
                self._has_facts.clear()
                seen_to_ms = self._seen_to_ms
                self._send_waiting(sink, give_way)
                if monotonic() - said_at >= PRESENT_SECONDS or self._stopped.is_set():
                    self._say_present(sink, seen_to_ms)
                    said_at = monotonic()
                self._already_logged.pop("sightings", None)

    def _send_waiting(self, sink: Sink, give_way: Callable[[], object]) -> None:
        """What is not known to be appended stays, and is sent again."""
        while self._queue:
            batches: dict[int, list[Record]] = {}
            sent = [self._queue[index] for index in range(min(SENT_AT_ONCE, len(self._queue)))]
            for sighting in sent:
                give_way()
                partition = partition_for(sighting.group_id, self._partition_count)
                batches.setdefault(partition, []).append(sighting_record(encode_sighting(sighting)))
            sink.append(batches)
            for _ in sent:
                self._queue.popleft()
            self.sent += len(sent)

    def _say_present(self, sink: Sink, seen_to_ms: int) -> None:
        """Tell each partition that all that was seen until then is sent, so that who is not heard was silent."""
        dropped = self._dropped
        from_ms, until_ms = (None, 0) if dropped is None else dropped
        watches = Watches("", seen_to_ms, self._node_id, self._run_ms, self._since_ms, from_ms, until_ms)
        record = sighting_record(encode_sighting(watches))
        sink.append({partition: [record] for partition in range(self._partition_count)})
        if self._dropped == dropped:
            self._dropped = None

    def _watch(self) -> None:
        self._changed.clear()
        self.counted.groups = 0  # those of partitions that it led before are another node's
        leads, rules = sorted(self._leads), self._watched.fingerprint
        if not leads:
            self._changed.wait()
            return
        with closing(SharedSink(self._server, AUDIT_TOPIC, self._changed, leads, self._id_prefix)) as sink:
            with AuditTopic(self._server, name=AUDIT_TOPIC) as topic:
                found = restored(topic, leads, is_shared=True)
            positions = {partition: kept.position for partition, (kept, _, _) in found.items()}
            logs_from = {
                partition: None
                if position is None or log_name(partition) not in position.logs
                else position.logs[log_name(partition)].offset
                for partition, position in positions.items()
            }
            with (
                closing(SightingTopic(self._server, logs_from)) as seen,
                OffsetsFollower(self._server, groups=self._watched, decode=record_of_any_kind) as follower,
                TopicIds(self._server) as names,
            ):
                earliest = follower.starts()
                if len(earliest) != self._partition_count:
                    raise PositionError(
                        f"the audit has {self._partition_count} partitions and the records have {len(earliest)}: groups"
                        " are watched where they are as many"
                    )
                # What a group is that was not watched before is in records that were passed over.
                starts = {
                    partition: earliest[partition]
                    if position is None or position.records < 0 or position.rules != rules
                    else position.records
                    for partition, position in positions.items()
                }
                records = FollowedRecords(follower, starts, self._changed)
                logs = [SightingLog(seen, partition, self._watched) for partition in leads]
                watcher = Watcher(
                    sink,
                    records,
                    logs,
                    names,
                    self._partition_count,
                    starts,
                    written=leads,
                    handover=self._handover,
                    give_way=GivesWay(),
                )
                watcher.counted = self.counted
                watcher.restore(found)
                place = Place(Source.NODE, self._handover.node, now_ms())
                for partition in watcher.partitions:
                    partition.use_rules(rules, self._watched.matches, place)
                self._handover.numbers = watcher
                logger.info("watches groups of the cluster", partitions=len(leads))
                self._already_logged.pop("watcher", None)
                watcher.run(self._changed)
