"""Commits that are sent to the cluster: each once, and nothing as a sentinel of which one may be under way."""

import asyncio
from typing import Any

import pytest

from _wire.errors import ErrorCode
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from _wire.messages.offset_fetch import OffsetFetchRequest
from coordinator.cluster.brokers.errors import BrokerError, ResponseTooLarge
from coordinator.cluster.brokers.tasks import completed
from coordinator.cluster.sentinels.forwarding import ASKED, Forwarder
from coordinator.cluster.sentinels.membership import INSTANCE_ID, Sentinel

VERSION = 8
SENTINEL = Sentinel("g", "sentinel-1", 7, 0, 1_800_000)


class Cluster:
    """Sentinels, and the one connection to the coordinator of the group."""

    def __init__(self, *answers: ErrorCode | None) -> None:
        """None: the connection is lost before the answer."""
        self._answers = list(answers)
        self.sent: list[OffsetCommitRequest] = []
        self.present: Sentinel | None = SENTINEL
        self.has_moved = False

    async def connection_of(self, group_id: str, purpose: str = "") -> "Cluster":
        return self

    def serves(self, request: Any, version: int) -> bool:
        return version <= VERSION

    async def request_in(self, request: Any, version: int, **_: Any) -> OffsetCommitResponse:
        self.sent.append(request)
        error = self._answers.pop(0)
        if error is None:
            raise BrokerError("lost")
        partition = OffsetCommitResponsePartition(partition_index=0, error_code=error)
        return OffsetCommitResponse(topics=[OffsetCommitResponseTopic(name="t", partitions=[partition])])

    def get(self, group_id: str) -> Sentinel | None:
        return self.present

    def replace(self, sentinel: Sentinel) -> None:
        if self.present is sentinel:
            self.present = None

    def moved(self, group_id: str) -> None:
        self.has_moved = True


def commit(cluster: Cluster, version: int = VERSION) -> Any:
    """What a commit of a member in generation 3 is answered."""

    async def ask() -> Any:
        forwarder = Forwarder(cluster)  # type: ignore[arg-type]
        request = OffsetCommitRequest(group_id="g", generation_id_or_member_epoch=3, member_id="m")
        return await completed(forwarder.commit(SENTINEL, request, version))

    return asyncio.run(ask())


def test_a_commit_is_that_of_the_sentinel() -> None:
    cluster = Cluster(ErrorCode.NONE)
    assert commit(cluster).topics[0].partitions[0].error_code == ErrorCode.NONE
    (sent,) = cluster.sent
    assert (sent.generation_id_or_member_epoch, sent.member_id, sent.group_instance_id) == (
        SENTINEL.generation_id,
        SENTINEL.member_id,
        INSTANCE_ID,
    )


def test_after_a_commit_without_an_answer_its_sentinel_commits_nothing_more() -> None:
    cluster = Cluster(None, ErrorCode.NONE)
    assert commit(cluster) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert len(cluster.sent) == 1
    assert cluster.present is None


def test_a_commit_does_not_leave_as_a_sentinel_that_was_replaced_since_its_check() -> None:
    cluster = Cluster(ErrorCode.NONE)
    cluster.present = Sentinel("g", "sentinel-2", 7, 0, 1_800_000)
    assert commit(cluster) is ErrorCode.NOT_COORDINATOR
    assert cluster.sent == []


@pytest.mark.parametrize("error", [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS])
def test_a_commit_that_the_cluster_does_not_take_now_is_the_client_s_to_repeat(error: ErrorCode) -> None:
    cluster = Cluster(error, ErrorCode.NONE)
    assert commit(cluster) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert len(cluster.sent) == 1
    assert cluster.has_moved
    assert cluster.present is SENTINEL


def test_a_commit_of_a_fenced_sentinel_sends_the_client_to_another_node() -> None:
    cluster = Cluster(ErrorCode.FENCED_INSTANCE_ID)
    assert commit(cluster) is ErrorCode.NOT_COORDINATOR
    assert cluster.present is None


def test_a_version_that_the_cluster_does_not_have_is_not_sent_as_it_would_end_a_connection_of_many_groups() -> None:
    cluster = Cluster()
    assert commit(cluster, VERSION + 1) is ErrorCode.UNSUPPORTED_VERSION
    assert cluster.sent == []
    assert cluster.present is SENTINEL


def test_an_answer_that_is_too_large_is_not_asked_for_again() -> None:
    purposes: list[str] = []

    class Large(Cluster):
        async def connection_of(self, group_id: str, purpose: str = "") -> "Cluster":
            purposes.append(purpose)
            return self

        async def request_in(self, request: Any, version: int, **_: Any) -> OffsetCommitResponse:
            raise ResponseTooLarge("large")

    async def ask() -> Any:
        forwarder = Forwarder(cluster)  # type: ignore[arg-type]
        return await completed(forwarder.fetch_offsets("g", OffsetFetchRequest(), VERSION))

    cluster = Large()
    assert asyncio.run(ask()) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert purposes == [ASKED], "by no connection that commits and heartbeats of other groups take"
