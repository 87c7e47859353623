"""What a metric is: name, type, labels and meaning. docs/metrics.md and `/metrics` are made from the declarations.

Names are those that the Prometheus JMX exporter gives Kafka's MBeans with its usual rules. A counter has Kafka's name
with `_total`. What Kafka does not have begins with `coordinator_`, and its times are in seconds.
"""

from collections.abc import Mapping
from enum import StrEnum

import msgspec


class Kind(StrEnum):
    """A type of Prometheus."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Metric(msgspec.Struct, frozen=True):
    """One metric. `jmx` is Kafka's MBean and attribute, empty for a metric that Kafka does not have."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    jmx: str = ""


def declared(names: Mapping[str, object]) -> tuple[Metric, ...]:
    """The metrics among the names of a module, in the order of their declaration."""
    found: list[object] = []
    for value in names.values():
        found += value.values() if isinstance(value, dict) else [value]
    return tuple(metric for metric in found if isinstance(metric, Metric))
