"""The series of single groups."""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Final

import msgspec

from coordinator.audit.world import group_lag
from coordinator.groups.audit_schedule import audit_of
from coordinator.groups.coordinator import GroupCoordinator
from coordinator.metrics.census import NO_RECORD, Pause
from coordinator.metrics.declarations import single_groups as d
from coordinator.metrics.group_meter import GroupRecord
from coordinator.metrics.histogram import Samples
from coordinator.metrics.metric import Metric
from coordinator.printable import printable

LABEL_CHARACTERS_MAX: Final = 200
DIGEST_CHARACTERS: Final = 12


def group_label(group_id: str) -> str:
    """The group id; one that is too long or not printable is written otherwise, with a digest that tells it apart."""
    label = printable(group_id)
    if label == group_id and len(label) <= LABEL_CHARACTERS_MAX:
        return label
    digest = sha256(group_id.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_CHARACTERS]
    return f"{label[:LABEL_CHARACTERS_MAX]}~{digest}"


class GroupValues(msgspec.Struct, frozen=True):
    """What the series of one group say. `rebalances` is by cause, `last_rebalance_ms` None before the first one."""

    label: str
    state: str
    generation_id: int
    members: int
    lag: int | None
    rebalances: dict[str, int]
    last_rebalance_ms: int | None


async def read_groups(
    group_ids: Sequence[str], coordinator: GroupCoordinator, records: Mapping[str, GroupRecord], pause: Pause
) -> list[GroupValues]:
    """The values of these groups as far as they exist. `pause` is awaited after each: a lag may take 50 µs."""
    values = []
    for group_id in group_ids:
        shard = coordinator.shard_of(group_id)
        group = shard.machine.groups.get(group_id)
        if group is None:
            continue
        membership, record = group.membership, records.get(group_id, NO_RECORD)
        values.append(
            GroupValues(
                group_label(group_id),
                membership.state.value,
                membership.generation_id,
                len(membership.members),
                group_lag(group.offsets.by_topic, audit_of(shard).world.cluster),
                {cause.value: count for cause, count in record.rebalances.items()},
                record.last_rebalance_ms,
            )
        )
        await pause()
    return values


def group_samples(groups: Sequence[GroupValues]) -> Iterator[tuple[Metric, Samples]]:
    """The samples of each metric of single groups."""
    yield d.GROUP_STATE, [((group.label, group.state), 1) for group in groups]
    yield d.GROUP_GENERATION, [((group.label,), group.generation_id) for group in groups]
    yield d.GROUP_MEMBERS, [((group.label,), group.members) for group in groups]
    yield (
        d.GROUP_REBALANCES,
        [((group.label, cause), count) for group in groups for cause, count in group.rebalances.items()],
    )
    yield (
        d.GROUP_LAST_REBALANCE,
        [((group.label,), group.last_rebalance_ms / 1000) for group in groups if group.last_rebalance_ms is not None],
    )
    yield d.GROUP_LAG, [((group.label,), group.lag) for group in groups if group.lag is not None]
