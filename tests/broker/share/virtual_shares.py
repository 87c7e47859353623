"""Share partitions of a virtual broker, and members that fetch of them and acknowledge."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.share_acknowledge import AcknowledgementBatch
from _wire.messages.share_fetch import PartitionData
from coordinator.broker.share.acknowledging import Acknowledgements, acknowledge_partitions
from coordinator.broker.share.fetch_service import ShareFetchService, ShareFetchTerms
from coordinator.broker.share.settings import ShareRecordSettings
from coordinator.broker.share.share_partition import SharePartition
from coordinator.broker.share.share_partition_parts import LockTimeoutKey, ShareKey, SharePartitionParts
from coordinator.broker.share.share_partitions import SharePartitions
from coordinator.broker.share.waiting import ShareFetchTimeoutKey, WaitingFetches
from coordinator.metadata.records import GroupConfigsRecord
from tests.broker.share.memory_states import MemoryStates
from tests.broker.virtual_broker import VirtualBroker

GROUP: Final = "g"
MAX_BYTES: Final = 50 << 20


class VirtualShares(VirtualBroker):
    """A broker with the share partitions of one group."""

    def __init__(self, settings: Mapping[str, str] | None = None, configs: Mapping[str, str] | None = None) -> None:
        super().__init__(settings)
        self.configure({"share.auto.offset.reset": "earliest"} | dict(configs or {}))
        self.topic_ids: dict[str, bytes] = {}
        self.use_states(MemoryStates())

    def use_states(self, states: MemoryStates) -> None:
        """Begin anew with these states, with nothing in memory."""
        image = self.metadata_store.image
        self.states = states
        self.waiting = WaitingFetches(self.partitions, self.notifier, self.wheel, self.slices)
        parts = SharePartitionParts(
            partitions=self.partitions,
            states=self.states,
            settings=ShareRecordSettings(self.broker_config, image),
            timers=self.wheel,
            slices=self.slices,
            now_ms=self.clock.now_ms,
            wall_ms=self.wall_ms,
        )
        self.share_partitions = SharePartitions(parts, self.waiting)
        self.share_fetches = ShareFetchService(
            image, self.share_partitions, self.waiting, self.fetch_service, max_bytes=MAX_BYTES
        )

    def configure(self, configs: Mapping[str, str]) -> None:
        """Set the configs of the group."""
        self.metadata_store.image.apply(GroupConfigsRecord(GROUP, dict(configs)))

    def create_topic(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> bytes:
        self.topic_ids[name] = super().create_topic(name, partitions, configs)
        return self.topic_ids[name]

    def share_partition(self, topic: str, partition: int = 0) -> SharePartition:
        found = self.share_partitions.get(ShareKey(GROUP, self.topic_ids[topic], partition))
        assert found is not None, "nobody has fetched it"
        return found

    def share_fetch(self, topic: str, *partitions: int, **terms: Any) -> "ShareFetched":
        return ShareFetched(self, [(self.topic_ids[topic], partition) for partition in partitions or (0,)], terms)

    def acknowledge(
        self,
        topic: str,
        *batches: tuple[int, int, list[int]],
        partition: int = 0,
        member: str = "a",
        may_renew: bool = True,
    ) -> list[ErrorCode]:
        """The error of the partition when it is stored; empty as long as it is not."""
        made = [
            AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=types)
            for first, last, types in batches
        ]
        key = self.topic_ids[topic], partition
        errors: list[ErrorCode] = []
        self._acknowledge({key: made}, member, may_renew, lambda result: errors.append(result.errors[key]))
        return errors

    def acknowledge_partitions(
        self, batches: Mapping[tuple[bytes, int], list[AcknowledgementBatch]], member: str = "a"
    ) -> dict[tuple[bytes, int], ErrorCode]:
        """The error of each partition that is mentioned, when all is stored."""
        errors: dict[tuple[bytes, int], ErrorCode] = {}
        self._acknowledge(batches, member, True, lambda result: errors.update(result.errors))
        return errors

    def _acknowledge(
        self,
        batches: Mapping[tuple[bytes, int], list[AcknowledgementBatch]],
        member: str,
        may_renew: bool,
        done: Callable[[Acknowledgements], None],
    ) -> None:
        steps = acknowledge_partitions(
            self.share_partitions,
            GROUP,
            member,
            batches.items(),
            lambda _: ErrorCode.NONE,
            type_max=4,
            may_renew=may_renew,
        )
        self.slices.start(steps, lambda result: result.when_done(lambda _: done(result)), _fail)
        self._next_iterations()

    def leave(self, topic: str, member: str) -> None:
        """Release what a member holds."""
        found = self.share_partitions.get(ShareKey(GROUP, self.topic_ids[topic], 0))
        if found is not None:
            found.release(member, lambda _: None)
            self.run()

    def advance(self, ms: int) -> None:
        self.clock.advance(ms)
        for key in self.wheel.advance(self.clock.now_ms()):
            if isinstance(key, LockTimeoutKey):
                key.share_partition.due(self.clock.now_ms())
            elif isinstance(key, ShareFetchTimeoutKey):
                self.waiting.expire(key.fetch)
        self._next_iterations()

    def run(self) -> None:
        """Let everything happen that does not wait for time or an append."""
        self._next_iterations()


def _fail(problem: Exception) -> None:
    raise problem


class ShareFetched:
    """A share fetch: what it has acquired, once it is answered."""

    def __init__(self, shares: VirtualShares, partitions: Sequence[tuple[bytes, int]], terms: dict[str, Any]) -> None:
        given: dict[str, Any] = {
            "member_id": "a",
            "max_wait_ms": 0,
            "min_bytes": 1,
            "max_bytes": MAX_BYTES,
            "max_records": 500,
            "batch_size": 500,
            "is_record_limit": False,
        } | terms
        self.found: dict[tuple[bytes, int], PartitionData] | None = None
        steps = shares.share_fetches.fetch(ShareFetchTerms(group_id=GROUP, **given), partitions, shares.clock.now_ms())
        self.work = shares.slices.start(steps, self._answered, _fail, "/client")
        shares.run()

    def _answered(self, found: dict[tuple[bytes, int], PartitionData]) -> None:
        assert self.found is None, "answered twice"
        self.found = found

    @property
    def is_waiting(self) -> bool:
        return self.found is None

    def cancel(self) -> None:
        assert self.work is not None
        self.work.cancel()

    @property
    def partitions(self) -> list[int]:
        """Those that the answer mentions."""
        assert self.found is not None
        return sorted(partition for _, partition in self.found)

    @property
    def acquired(self) -> list[tuple[int, int, int, int]]:
        """Partition, first offset, last offset and delivery count."""
        assert self.found is not None
        return [
            (partition, each.first_offset, each.last_offset, each.delivery_count)
            for (_, partition), data in self.found.items()
            for each in data.acquired_records
        ]

    @property
    def error(self) -> ErrorCode:
        assert self.found is not None
        (data,) = self.found.values()
        return ErrorCode(data.error_code)
