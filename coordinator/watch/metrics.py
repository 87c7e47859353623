"""What a scrape tells of a watcher, and of the groups that it polls."""

from collections.abc import Iterator, Sequence
from typing import Final

from coordinator.metrics.declarations import single_groups as d
from coordinator.metrics.group_series import group_label
from coordinator.metrics.histogram import Samples
from coordinator.metrics.lag_series import GroupLagValues, PartitionLagValues, lag_samples
from coordinator.metrics.metric import Metric
from coordinator.metrics.top_groups import Candidate, TopGroups
from coordinator.watch import declared_metrics as own
from coordinator.watch.polls import GroupNow, PolledNow
from coordinator.watch.positions import now_ms
from coordinator.watch.session import Session

NEVER: Final = PolledNow()


def samples(session: Session, top: TopGroups, partitions_max: int) -> Iterator[tuple[Metric, Samples]]:
    """Read in another thread than that of the watcher: each is one number, which may be a moment old.

    `top` chooses the groups that have series of their own, those with the most lag first; all of them together have no
    more than `partitions_max` series of partitions.
    """
    counted, watcher = session.counted, session.watcher
    polled = NEVER if session.polls is None else session.polls.now
    for metric, value in (
        (own.RECORDS, counted.records),
        (own.COMMITS, counted.commits),
        (own.LINES, counted.lines),
        (own.EVENTS, counted.events),
        (own.GROUPS, 0 if watcher is None else counted.groups),
        (own.HELD, 0 if watcher is None else counted.held),
        (own.FORCED, counted.forced),
        (own.READ_AGE_SECONDS, _seconds_since(counted.read_ms)),
        (own.POLL_REQUESTS, polled.requests),
        (own.POLL_SECONDS, polled.took_seconds),
        (own.POLL_AGE_SECONDS, _seconds_since(polled.at_ms)),
        (own.POLL_LEFT_OUT, polled.left_out),
    ):
        yield metric, [((), value)]
    yield from polled_samples(polled, top, partitions_max)


def _seconds_since(at_ms: int) -> float:
    return (now_ms() - at_ms) / 1_000 if at_ms else 0


def polled_samples(polled: PolledNow, top: TopGroups, partitions_max: int) -> Iterator[tuple[Metric, Samples]]:
    """The series of single groups, with the names that those of a coordinator have."""
    candidates = (Candidate(group.lag or 0, group.members or 0, group.group_id) for group in polled.groups.values())
    chosen = [polled.groups[group_id] for group_id in top.choose(set(polled.groups), candidates, polled.at_ms)]
    labels = {group.group_id: group_label(group.group_id) for group in chosen}
    yield d.GROUP_STATE, [((labels[group.group_id], group.state), 1) for group in chosen]
    yield d.GROUP_GENERATION, [((labels[group.group_id],), group.epoch) for group in chosen if group.epoch is not None]
    yield d.GROUP_MEMBERS, [((labels[group.group_id],), group.members) for group in chosen if group.members is not None]
    yield d.GROUP_LAG, [((labels[group.group_id],), group.lag) for group in chosen if group.lag is not None]
    yield from lag_samples(_lags(chosen, labels, partitions_max))


def _lags(chosen: Sequence[GroupNow], labels: dict[str, str], partitions_max: int) -> list[GroupLagValues]:
    """Of a group all partitions or none: those with the fewest come first."""
    found, left = [], partitions_max
    for group_now in sorted(chosen, key=lambda group: len(group.partitions or ())):
        left -= len(group_now.partitions or ())
        if left < 0:
            break
        lag_values = [PartitionLagValues(*at, None) for at in group_now.partitions or ()]
        found.append(GroupLagValues(labels[group_now.group_id], lag_values))
    return sorted(found)
