"""Watching groups that stay with the cluster: what this node sees pass, and the watcher that tells of it."""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Any, Final

from coordinator.client.bootstrap import Bootstrap
from coordinator.cluster.brokers.tasks import Tasks, completed
from coordinator.cluster.leads import PartitionLeads
from coordinator.cluster.log.group_patterns import GroupPattern
from coordinator.cluster.relay.tap import Tap
from coordinator.logger import logger
from coordinator.runtime.slices import Steps
from coordinator.watch.node_watch import NodeWatch

TAKEN_SECONDS: Final = 0.2
"""How often what was seen is taken to be sent."""
SILENCE_SECONDS: Final = 1
ASKED_AGAIN_SECONDS: Final = 10
"""So long after a group was given back to the cluster it may pass unseen."""
TRANSACTIONAL_ID_PREFIX: Final = "__group_coordinator-watch-"
"""Of what the watcher appends. The rights of nodes on `__group_coordinator-*` hold for it, too."""


class WatchedGroups(Container[str]):
    """The groups that patterns name, but for those that the nodes coordinate themselves.

    Asked from several threads; a group that another node has adopted may be among them.
    """

    def __init__(self, patterns: Sequence[str], nodes_group_id: str, is_owned: Callable[[str], bool]) -> None:
        self._is_owned = is_owned
        self._patterns = [GroupPattern(pattern) for pattern in patterns]
        self._nodes_group_id = nodes_group_id

    def __contains__(self, group_id: object) -> bool:
        return (
            isinstance(group_id, str)
            and group_id != self._nodes_group_id
            and any(pattern.matches(group_id) for pattern in self._patterns)
            and not self._is_owned(group_id)
        )


class Watching:
    """Begun when the node serves, ended when it stops."""

    def __init__(
        self,
        server: Bootstrap,
        node_id: int,
        patterns: Sequence[str],
        nodes_group_id: str,
        partition_count: int,
        leads: PartitionLeads,
        is_owned: Callable[[str], bool],
    ) -> None:
        watched = WatchedGroups(patterns, nodes_group_id, is_owned)
        self.tap: Final = Tap(node_id, watched.__contains__, _log_failure())
        self.watch: Final = NodeWatch(server, watched, partition_count, TRANSACTIONAL_ID_PREFIX)
        self._leads = leads
        self._tasks = Tasks()
        self.lost = 0
        """Facts for which there was no room, since the start."""
        leads.on_gained(self._gained)
        leads.on_lost(self._lost)

    def start(self) -> None:
        self.watch.start()
        self._tasks.every(TAKEN_SECONDS, lambda: completed(self._take()))
        self._tasks.every(SILENCE_SECONDS, lambda: completed(self._find_silent()))
        self._tasks.every(ASKED_AGAIN_SECONDS, lambda: completed(self._ask_again()))

    def stop(self) -> None:
        self._tasks.cancel()
        self.watch.see(self.tap.take()[0])
        self.watch.stop()

    def join(self) -> None:
        """Wait until what was seen is sent, some seconds at most."""
        self.watch.join()

    def samples(self) -> Iterator[tuple[Any, Any]]:
        """What a scrape tells: numbers that other threads count, which may be a moment old."""
        from coordinator.metrics import declarations as d

        for metric, value in (
            (d.CLUSTER_WATCHED_GROUPS, self.watch.counted.groups),
            (d.CLUSTER_WATCHED_REQUESTS, self.tap.requests),
            (d.CLUSTER_WATCHED_UNREADABLE, self.tap.unread),
            (d.CLUSTER_FACTS_SENT, self.watch.sent),
            (d.CLUSTER_FACTS_DROPPED, self.lost + self.tap.lost),
            (d.CLUSTER_FACTS_WAITING, self.watch.waiting),
        ):
            yield metric, [((), value)]

    def _take(self) -> Steps[None]:
        sightings, lost = self.tap.take()
        lost += self.watch.see(sightings) if sightings else 0
        if lost:
            self.lost += lost
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
