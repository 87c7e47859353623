"""The text of `/metrics`, in the text format 0.0.4 of Prometheus."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from prometheus_client import ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.core import Metric as Family
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector

from coordinator.metrics.census import Pause
from coordinator.metrics.histogram import Samples
from coordinator.metrics.metric import Kind, Metric
from coordinator.metrics.node_metrics import NodeMetrics

CONTENT_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4

FAMILIES: Final[dict[Kind, Any]] = {
    Kind.COUNTER: CounterMetricFamily,
    Kind.GAUGE: GaugeMetricFamily,
    Kind.HISTOGRAM: HistogramMetricFamily,
}


SAMPLES_AT_ONCE: Final = 200
"""Samples of a metric that are rendered before others have their turn: some two milliseconds."""
HEAD_LINES: Final = 2
"""# HELP and # TYPE, which a metric has once."""


class _Ready(Collector):
    """Families that were collected already."""

    def __init__(self, families: Iterable[Family]) -> None:
        self._families = families

    def collect(self) -> Iterable[Family]:
        return self._families


async def exposition(metrics: NodeMetrics, pause: Pause) -> bytes:
    """The page. It is rendered in parts, with a pause after each: a loop that serves clients is not held up."""
    pages = []
    for part in _parts(await metrics.samples(pause)):
        pages.append(part)
        await pause()
    return b"".join(pages)


def _parts(values: Iterable[tuple[Metric, Samples]]) -> Iterator[bytes]:
    for metric, samples in values:
        yield _text(_family(metric, samples[:SAMPLES_AT_ONCE]))
        for start in range(SAMPLES_AT_ONCE, len(samples), SAMPLES_AT_ONCE):
            text = _text(_family(metric, samples[start : start + SAMPLES_AT_ONCE]))
            yield text.split(b"\n", HEAD_LINES)[HEAD_LINES]
    for family in ProcessCollector(registry=None).collect():
        yield _text(family)


def _family(metric: Metric, samples: Samples) -> Family:
    family = FAMILIES[metric.kind](metric.name, metric.help, labels=metric.labels)
    for labels, value in samples:
        if metric.kind is Kind.HISTOGRAM:
            family.add_metric(labels, *value)  # type: ignore[misc]
        else:
            family.add_metric(labels, value)
    return family  # type: ignore[no-any-return]


def _text(family: Family) -> bytes:
    return generate_latest(_Ready([family]))
