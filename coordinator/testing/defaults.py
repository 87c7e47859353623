"""The settings of a coordinator in a test, where they differ from Kafka's defaults, and those that a test gives."""

from collections.abc import Mapping
from typing import Any, Final

from coordinator.config.listener_keys import LISTENERS
from coordinator.config.metrics_keys import ADMIN_LISTENER
from coordinator.config.server_keys import LOG_DIRS
from coordinator.config.settings import Config
from coordinator.testing.errors import TestingError

QUICK: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1",
    "offsets.topic.num.partitions": "4",
    "connections.max.idle.ms": "-1",
    "log.cleaner.backoff.ms": "300000",
    "group.audit.linger.ms": "0",
    "group.consumer.assignment.interval.ms": "0",
    "group.consumer.heartbeat.interval.ms": "100",
    "group.consumer.min.heartbeat.interval.ms": "1",
    "group.consumer.min.session.timeout.ms": "1",
    "group.share.assignment.interval.ms": "0",
    "group.share.heartbeat.interval.ms": "100",
    "group.share.min.heartbeat.interval.ms": "1",
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.min.session.timeout.ms": "1",
    "share.coordinator.state.topic.num.partitions": "4",
}
"""Groups form at once, sessions may be short, a start makes few logs, a jump of the clock closes no connection, and on
its way it does not look for logs to compact every 15 s. An event can be read before its request is answered."""

LOOPBACK: Final = "127.0.0.1"
MEMORY: Final = "memory"
"""The folder of the logs, which are in memory."""
OWN: Final = (LISTENERS.name, LOG_DIRS.name, ADMIN_LISTENER.name)


def config_of(settings: Mapping[str, Any] | None, port: int, admin_port: int | None) -> Config:
    """The settings of a node that listens on `port`; 0 is a free one, and `admin_port` None is none.

    Raises:
        ConfigError: a setting is unknown, or its value is not allowed.
        TestingError: a setting is the test kit's own.
    """
    given = {name: text_of(value) for name, value in (settings or {}).items()}
    own_setting = next((name for name in OWN if name in given), None)
    if own_setting is not None:
        raise TestingError(
            f"{own_setting} cannot be set: a coordinator in a test has a free port and its logs in memory"
        )
    own = {LISTENERS.name: f"PLAINTEXT://{LOOPBACK}:{port}", LOG_DIRS.name: MEMORY}
    if admin_port is not None:
        own[ADMIN_LISTENER.name] = f"{LOOPBACK}:{admin_port}"
    return Config(QUICK | given | own)


def text_of(value: Any) -> str:
    """A value of a setting as Kafka writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
