"""What a scrape tells of a watcher."""

from collections.abc import Iterator

from coordinator.metrics import declarations as d
from coordinator.metrics.declarations import Metric
from coordinator.metrics.histogram import Samples
from coordinator.watch.positions import now_ms
from coordinator.watch.session import Session


def samples(session: Session) -> Iterator[tuple[Metric, Samples]]:
    """Read in another thread than that of the watcher: each is one number, which may be a moment old."""
    counted, watcher = session.counted, session.watcher
    for metric, value in (
        (d.WATCH_RECORDS, counted.records),
        (d.WATCH_COMMITS, counted.commits),
        (d.WATCH_LINES, counted.lines),
        (d.WATCH_EVENTS, counted.events),
        (d.WATCH_GROUPS, 0 if watcher is None else counted.groups),
        (d.WATCH_HELD, 0 if watcher is None else counted.held),
        (d.WATCH_FORCED, counted.forced),
        (d.WATCH_READ_AGE_SECONDS, (now_ms() - counted.read_ms) / 1_000 if counted.read_ms else 0),
    ):
        yield metric, [((), value)]
