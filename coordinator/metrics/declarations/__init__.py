"""The metrics of every node, declared once, by what they are about."""

from typing import Final

from coordinator.metrics.declarations import groups, node, requests, share, single_groups
from coordinator.metrics.metric import Metric

METRICS: Final[tuple[Metric, ...]] = (
    *groups.METRICS,
    *share.METRICS,
    *requests.METRICS,
    *node.METRICS,
    *single_groups.METRICS,
)
