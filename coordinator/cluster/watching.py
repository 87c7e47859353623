"""Watching groups that stay with the cluster: what this node sees pass, and the watcher that tells of it."""

from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any, Final

from coordinator.client.bootstrap import Bootstrap
from coordinator.cluster.brokers.errors import BrokerError
from coordinator.cluster.brokers.tasks import Tasks, completed
from coordinator.cluster.leads import PartitionLeads
from coordinator.cluster.log.notes import WatchRule
from coordinator.cluster.log.store import ClusterStore
from coordinator.cluster.log.topics import TopicError
from coordinator.cluster.ownership import GroupOwnership
from coordinator.cluster.relay.tap import Tap
from coordinator.cluster.watched_groups import WatchedGroups, merged
from coordinator.groups.audit_projection import AuditProjection
from coordinator.groups.coordinator import GroupCoordinator
from coordinator.logger import logger
from coordinator.runtime.slices import Steps
from coordinator.watch.handover import Handover
from coordinator.watch.node_watch import NodeWatch
from coordinator.watch.positions import now_ms

COLLECT_SECONDS: Final = 0.2
"""How often what was seen is taken to be sent."""
SILENCE_SECONDS: Final = 1
LOOKED_SECONDS: Final = 0.5
"""How often it is looked whether there is something to watch for the first time."""
ASKED_AGAIN_SECONDS: Final = 10
"""So long after a group was given back to the cluster it may pass unseen."""
TRANSACTIONAL_ID_PREFIX: Final = "__group_coordinator-watch-"
"""Of what the watcher appends. The rights of nodes on `__group_coordinator-*` hold for it, too."""


class Watching:
    """Begun when the node serves, ended when it stops. Nothing is watched as long as no rule says so."""

    def __init__(
        self,
        server: Bootstrap,
        node_id: int,
        watched: WatchedGroups,
        partition_count: int,
        leads: PartitionLeads,
        prepare_topics: Callable[[], Coroutine[Any, Any, None]],
        wall_ms: Callable[[], int],
    ) -> None:
        """`prepare_topics` makes what nodes tell each other by, if it is missing."""
        self.watched: Final = watched
        self.tap: Final = Tap(node_id, None, _log_failure())
        self._handover = Handover(f"node {node_id}", partition_count, wall_ms)
        self.watch: Final = NodeWatch(
            server, node_id, watched, self._handover, partition_count, TRANSACTIONAL_ID_PREFIX
        )
        self._leads = leads
        self._prepare_topics = prepare_topics
        self._tasks = Tasks()
        self._coordinator: GroupCoordinator | None = None
        self._rules: dict[str, WatchRule] = {}
        self._is_prepared = self._is_begun = False
        self._problem = ""
        self._collected_ms = now_ms()
        self.lost = 0
        """Facts for which there was no room, since the start."""
        leads.on_gained(self._gained)
        leads.on_lost(self._lost)
        self._use_rules()

    # ---- rules

    def follow(self, coordinator: GroupCoordinator, ownership: GroupOwnership) -> None:
        """Follow the rules in the partitions that are led here, and which groups become the nodes'."""
        self._coordinator = coordinator
        coordinator.on_loaded(lambda shard: self.follow_rules())
        ownership.on_moved(self._moved)

    def follow_rules(self) -> None:
        """Watch by the rules that there are by now. One that a partition of another node has is in these, too."""
        coordinator = self._coordinator
        stores = () if coordinator is None else [shard.store for shard in coordinator.shards if shard.is_active]
        found = [store.notes.watched for store in stores if isinstance(store, ClusterStore)]
        self._rules = merged([self._rules, *found])
        self._use_rules()

    def _use_rules(self) -> None:
        is_changed = self.watched.use(self._rules)
        watches = self.watched.watches
        if is_changed or watches != bool(self.tap.apis):
            self.tap.watch(self.watched.__contains__ if watches else None)
            self.watch.rules_changed()

    def prepare(self) -> Steps[None]:
        """See that the topics are there. Raises TopicError, BrokerError."""
        if not self._is_prepared:
            yield from self._tasks.steps(self._prepare_topics)
            self._is_prepared = True

    def _moved(self, group_id: str, is_owned: bool) -> None:
        """The audit of the nodes and that of the watcher number the events of a group one after the other."""
        assert self._coordinator is not None
        projection = self._coordinator.shard_of(group_id).projection
        assert isinstance(projection, AuditProjection)
        if is_owned:
            projection.begin_above(self._handover.adopted(group_id))
        else:
            self._handover.released(group_id, projection.seq_max)

    # ---- life

    def start(self) -> None:
        """Begin as soon as there is something to watch."""
        self._tasks.every(LOOKED_SECONDS, lambda: completed(self._begin_if_due()), starts_now=True)

    def _begin_if_due(self) -> Steps[None]:
        """Where rules came with a partition, nobody waits for the topics: it is tried until they can be used."""
        if self._is_begun or not self.watched.watches:
            return
        try:
            yield from self.prepare()
        except (BrokerError, TopicError) as problem:
            if str(problem) != self._problem:
                self._problem = str(problem)
                logger.warning("cannot watch; it is tried again", thread="topics", problem=self._problem)
            return
        self._is_begun = True
        self.watch.start()
        self._tasks.every(COLLECT_SECONDS, lambda: completed(self._collect()))
        self._tasks.every(SILENCE_SECONDS, lambda: completed(self._find_silent()))
        self._tasks.every(ASKED_AGAIN_SECONDS, lambda: completed(self._ask_again()))

    def stop(self) -> None:
        self._tasks.cancel()
        self.watch.see(self.tap.drain()[0])
        self.watch.stop()

    def join(self) -> None:
        """Wait until what was seen is sent, some seconds at most."""
        self.watch.join()

    def samples(self) -> Iterator[tuple[Any, Any]]:
        """What a scrape tells: numbers that other threads count, which may be a moment old."""
        from coordinator.cluster import declared_metrics as own

        for metric, value in (
            (own.WATCHED_GROUPS, self.watch.counted.groups),
            (own.WATCHED_REQUESTS, self.tap.requests),
            (own.WATCHED_UNREADABLE, self.tap.unread),
            (own.FACTS_SENT, self.watch.sent),
            (own.FACTS_DROPPED, self.lost + self.tap.lost),
            (own.FACTS_WAITING, self.watch.waiting),
        ):
            yield metric, [((), value)]

    def _collect(self) -> Steps[None]:
        sightings, lost = self.tap.drain()
        lost += self.watch.see(sightings)
        before_ms, self._collected_ms = self._collected_ms, now_ms()
        if lost:
            self.lost += lost
            self.watch.dropped(before_ms)
            logger.warning("what passed of watched groups could not be kept", lost=lost)
        yield from ()

    def _find_silent(self) -> Steps[None]:
        self.tap.find_silent()
        yield from ()

    def _ask_again(self) -> Steps[None]:
        self.tap.ask_again()
        yield from ()

    def _gained(self, partitions: Iterable[int]) -> None:
        self.watch.lead(self._leads.partitions | set(partitions))

    def _lost(self, partition: int) -> None:
        self.watch.lead(self._leads.partitions - {partition})


def _log_failure() -> Callable[[Exception], None]:
    """Log what went wrong when something was read, the first time: it may come with each request."""
    logged: set[str] = set()

    def failed(problem: Exception) -> None:
        text = repr(problem)
        if text not in logged and len(logged) < 10:
            logged.add(text)
            try:
                raise problem
            except Exception:
                logger.exception("what passes of a watched group cannot be read")

    return failed
