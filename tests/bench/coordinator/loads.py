"""The loads that ours and its peers are put under, what is read from each, and what it may come to at most."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from tests.bench.coordinator.servers import FLOOR, KAFKA, KFAKE

CPU_OF_OPERATION: Final = ("server_cpu_us_per_op",)
CPU_OF_MEMBER: Final = ("server_cpu_us_per_member",)
CPU_OF_CONNECTION: Final = ("server_cpu_us_per_conn",)

MIXED_TIMES_LONGER: Final = 6
"""So many times SECONDS: at a request per member each 2 s, a p99 needs a while."""


class Load(NamedTuple):
    """A run of groupload. Figures are in µs, of the server's CPU time unless the title says otherwise."""

    key: str
    title: str
    arguments: str
    figure: Sequence[str]
    """Where groupload's result has it."""
    at_most: Mapping[str, float]
    """Peer → the ratio to it that ours may have."""
    seconds: int = 0
    """How long, in SECONDS; 0 where the load is counted."""
    asks_floors: bool = False
    at_most_of: Mapping[str, float] = {}
    """Another load → the ratio to ours under it."""
    only_ours: bool = False
    """Kafka's own settings refuse it: the record of so large a group is over max.message.bytes."""
    is_secured: bool = False
    """Over SASL_SSL, with an authorizer, beside a Kafka that has both too."""

    def command(self, seconds: float) -> list[str]:
        words = self.arguments.split()
        return [*words, "--seconds", f"{seconds * self.seconds:g}"] if self.seconds else words

    def read(self, result: Mapping[str, Any]) -> float:
        found: Any = result
        for name in self.figure:
            found = found[name]
        return float(found)


HEARTBEATS: Final = "--groups 16 --members 4"
SHARE_RECORDS: Final = "--members 8 --warmup 50 --rounds 2000 --topic share-records"

LOADS: Final = (
    Load(
        "hb64",
        "Heartbeat, 64 connections, one outstanding",
        f"heartbeat --conns 64 --pipeline 1 {HEARTBEATS}",
        CPU_OF_OPERATION,
        {FLOOR: 1.4, KAFKA: 0.5},
        seconds=1,
        asks_floors=True,
    ),
    Load(
        "hb16",
        "Heartbeat, 16 connections, 16 outstanding",
        f"heartbeat --conns 16 --pipeline 16 {HEARTBEATS}",
        CPU_OF_OPERATION,
        {FLOOR: 1.8, KAFKA: 1 / 14},
        seconds=1,
        asks_floors=True,
    ),
    Load(
        "commit",
        "OffsetCommit of 10 partitions, one outstanding",
        f"commit --conns 16 --pipeline 1 {HEARTBEATS}",
        CPU_OF_OPERATION,
        {KAFKA: 0.5},
        seconds=1,
    ),
    Load(
        "fetch",
        "OffsetFetch of 10 partitions, one outstanding",
        f"fetchoffsets --conns 16 --pipeline 1 {HEARTBEATS}",
        CPU_OF_OPERATION,
        {KAFKA: 0.7},
        seconds=1,
    ),
    Load(
        "storm100",
        "storm: 100 members join at once, per member",
        "rebalance --storm --members 100 --conns 100 --rounds 100",
        CPU_OF_MEMBER,
        {KAFKA: 0.9},
    ),
    Load(
        "storm5000",
        "storm of 5,000 members, per member",
        "rebalance --storm --members 5000 --conns 5000 --parallel 64 --rounds 3",
        CPU_OF_MEMBER,
        {},
        at_most_of={"storm100": 1.3},
        only_ours=True,
    ),
    Load(
        "groups",
        "groups of one member made, per group",
        "groups --groups 5000 --parallel 64",
        CPU_OF_MEMBER,
        {KAFKA: 0.5},
    ),
    Load(
        "consumer-heartbeat",
        "ConsumerGroupHeartbeat without change, 64 connections, one outstanding",
        f"consumerheartbeat --conns 64 --pipeline 1 {HEARTBEATS} --partitions 16 --topic consumer-16",
        CPU_OF_OPERATION,
        {KAFKA: 0.5, KFAKE: 1.0},
        seconds=1,
    ),
    Load(
        "consumer-join",
        "1,000 members join a consumer group at once, per member",
        "consumerjoin --members 1000 --conns 100 --partitions 1000 --topic consumer-1000 --rounds 3 --interval 500ms",
        CPU_OF_MEMBER,
        {KAFKA: 0.5, KFAKE: 1.0},
    ),
    Load(
        "consumer-replace",
        "one member of 100 leaves a consumer group and another joins, per member",
        "consumerreplace --members 100 --conns 100 --partitions 1000 --topic consumer-1000 --interval 100ms",
        CPU_OF_MEMBER,
        {KAFKA: 0.5, KFAKE: 1.0},
    ),
    Load(
        "share-heartbeat",
        "ShareGroupHeartbeat without change, 64 connections, one outstanding",
        f"shareheartbeat --conns 64 --pipeline 1 {HEARTBEATS} --partitions 16 --topic share-16",
        CPU_OF_OPERATION,
        {KAFKA: 0.5, KFAKE: 1.0},
        seconds=1,
        at_most_of={"hb64": 1.3},
    ),
    Load(
        "share-fetch",
        "ShareFetch of 100 records that accepts the 100 before, 8 members",
        f"sharerecords {SHARE_RECORDS}",
        CPU_OF_OPERATION,
        {KAFKA: 0.5, KFAKE: 1.0},
    ),
    Load(
        "share-acknowledge",
        "ShareFetch and ShareAcknowledge of 100 records, 8 members",
        f"sharerecords --explicit {SHARE_RECORDS}",
        CPU_OF_OPERATION,
        {KAFKA: 0.5, KFAKE: 1.0},
    ),
    Load(
        "connects",
        "connects, with ApiVersions",
        "connect --conns 5000 --parallel 64 --hold 0",
        CPU_OF_CONNECTION,
        {KAFKA: 0.8},
    ),
    Load(
        "hb64-sasl-ssl",
        "SASL_SSL: Heartbeat, 64 connections, one outstanding",
        f"heartbeat --conns 64 --pipeline 1 {HEARTBEATS}",
        CPU_OF_OPERATION,
        {KAFKA: 0.5},
        seconds=1,
        is_secured=True,
    ),
    Load(
        "commit-sasl-ssl",
        "SASL_SSL: OffsetCommit of 10 partitions, one outstanding",
        f"commit --conns 16 --pipeline 1 {HEARTBEATS}",
        CPU_OF_OPERATION,
        {KAFKA: 0.5},
        seconds=1,
        is_secured=True,
    ),
    Load(
        "connects-sasl-ssl",
        "SASL_SSL: connects, with a login by PLAIN and ApiVersions",
        "connect --conns 1000 --parallel 16 --hold 0",
        CPU_OF_CONNECTION,
        {KAFKA: 1.0},
        is_secured=True,
    ),
    Load(
        "mixed",
        "mixed, 500 members: Heartbeat's p99 by the clock",
        "mixed --groups 100 --members 5 --parallel 16",
        ("heartbeat_us", "p99"),
        {KAFKA: 1.0},
        seconds=MIXED_TIMES_LONGER,
    ),
)
