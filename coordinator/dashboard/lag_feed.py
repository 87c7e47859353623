"""Samples the lag of all groups of a server by Kafka's own APIs, in a thread."""

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from coordinator.client.bootstrap import Server
from coordinator.client.cluster import Cluster, FirstRecord, Partition
from coordinator.client.group_description import (
    ANSWER_SECONDS,
    DescribedGroup,
    PartitionLag,
    find_first_records,
    find_log_starts,
    find_transactions,
    group_lags,
)
from coordinator.client.wire import ClientError
from coordinator.dashboard.board import Board
from coordinator.dashboard.lags import Sample, SampledGroup
from coordinator.logger import logger

CLIENT_ID: Final = "coordinator-dashboard"
SAMPLE_SECONDS: Final = 5.0
"""The pause between two samples."""
GROUPS_MAX: Final = 10_000
PARTITIONS_MAX: Final = 50_000
"""Groups, and partitions of groups, of one sample."""
FETCHED_MAX: Final = 100
"""Records that are fetched for one sample: one batch each."""

SAMPLES_BEFORE_RETRY: Final = 12
"""A timestamp that was not found is sought again after so many samples, a minute."""

OffsetOfPartition = tuple[str, int, int]
"""Topic, partition and offset."""


class LagSampler:
    """Takes samples over one set of connections. Remembers the timestamps of records that it has fetched."""

    def __init__(self, bootstrap: Server) -> None:
        self._bootstrap = bootstrap
        self._cluster: Cluster | None = None
        self._first: dict[OffsetOfPartition, FirstRecord] = {}
        self._samples = 0

    def sample(self) -> Sample:
        """All groups now.

        Raises:
            ClientError: a broker cannot be reached or does not answer. The next call connects again.
        """
        try:
            if self._cluster is None:
                self._cluster = Cluster(self._bootstrap, CLIENT_ID, ANSWER_SECONDS)
            return self._sample(self._cluster)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None

    def _sample(self, cluster: Cluster) -> Sample:
        read = _read(cluster)
        lagging = [partition for group in read.groups for partition in group.partitions if (partition.lag or 0) > 0]
        self._find_first_records(cluster, lagging, read.leaders)
        find_log_starts(cluster, read.groups, read.leaders)
        find_transactions(cluster, read.groups, read.leaders)
        now_ms = time.time_ns() // 1_000_000
        groups = {group.group_id: SampledGroup(group, group.lag, group.lag_ms(now_ms)) for group in read.groups}
        return Sample(now_ms, groups, read.groups_left_out)

    def _find_first_records(self, cluster: Cluster, lagging: list[PartitionLag], leaders: dict[Partition, int]) -> None:
        """Fetch those that are not known yet, of the partitions with the most lag and the least first.

        Where only markers of transactions followed, a record may have come since.
        """
        self._samples += 1
        is_retried = self._samples % SAMPLES_BEFORE_RETRY == 0
        unchanged = {
            place: first
            for partition in lagging
            if (first := self._first.get(place := _place(partition))) is not None
            and (first.is_record or first.offset == partition.log_end_offset)
            and not (is_retried and first.timestamp_ms is None)
        }
        new = {place: partition for partition in lagging if (place := _place(partition)) not in unchanged}
        by_lag = sorted(new.values(), key=lambda partition: partition.lag or 0, reverse=True)
        sought = by_lag[: FETCHED_MAX // 2] + by_lag[FETCHED_MAX // 2 :][-FETCHED_MAX // 2 :]
        find_first_records(cluster, sought, leaders)
        self._first = unchanged | {
            _place(partition): partition.first for partition in sought if partition.first is not None
        }
        for partition in lagging:
            if (first := self._first.get(_place(partition))) is not None:
                partition.first, partition.oldest_ms = first, first.timestamp_ms


@dataclass(frozen=True, slots=True)
class _Read:
    groups: list[DescribedGroup]
    leaders: dict[Partition, int]
    groups_left_out: int


def _read(cluster: Cluster) -> _Read:
    groups: list[DescribedGroup] = []
    leaders: dict[Partition, int] = {}
    partitions = left_out = 0
    for part in group_lags(cluster, GROUPS_MAX):
        if partitions > PARTITIONS_MAX or len(groups) >= GROUPS_MAX:
            left_out += len(part.groups)
            break
        groups.extend(part.groups)
        leaders.update(part.leaders)
        partitions += sum(len(group.partitions) for group in part.groups)
        left_out += part.groups_left_out
    return _Read(groups, leaders, left_out)


def _place(partition: PartitionLag) -> OffsetOfPartition:
    return partition.topic, partition.partition, partition.committed_offset or 0


class LagFeed:
    """Brings samples to the board, one every `SAMPLE_SECONDS`, until it is stopped."""

    def __init__(self, board: Board, loop: asyncio.AbstractEventLoop, bootstrap: Server) -> None:
        self._board = board
        self._loop = loop
        self._sampler = LagSampler(bootstrap)
        self._is_stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lag", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Take no more samples. The thread ends with the present one."""
        self._is_stopped.set()

    def _run(self) -> None:
        while not self._is_stopped.is_set():
            self._call(self._next())
            self._is_stopped.wait(SAMPLE_SECONDS)
        self._sampler.close()

    def _next(self) -> Callable[[], None]:
        try:
            sample = self._sampler.sample()
        except ClientError as problem:
            words = str(problem)
        except Exception:
            logger.exception("unhandled exception while reading the lag")
            words = "the lag cannot be read because of an internal error; see the log"
        else:
            return lambda: self._board.apply_lags(sample)
        return lambda: self._board.note_lag_problem(words)

    def _call(self, function: Callable[[], None]) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function)
