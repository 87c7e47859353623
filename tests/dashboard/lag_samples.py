"""Samples of lag as the dashboard takes them."""

from coordinator.client.group_description import DescribedGroup, PartitionLag
from coordinator.client.group_members import DescribedMember
from coordinator.dashboard.lags import Sample, SampledGroup

MEMBER = DescribedMember("m-1", "app", "/127.0.0.1", None, {"t": [0, 1]})


def described(group_id: str, *lags: int | None, oldest_ms: int | None = None) -> DescribedGroup:
    """A group whose partitions of `t` have these lags, the first two owned by `MEMBER`; the committed offset is 10."""
    partitions = [
        PartitionLag(
            "t",
            index,
            None if lag is None else 10,
            None if lag is None else 10 + lag,
            "m-1" if index < 2 else None,
            oldest_ms,
        )
        for index, lag in enumerate(lags)
    ]
    return DescribedGroup(group_id, "Stable", "consumer", "range", [MEMBER], partitions)


def sample(time_ms: int, *groups: DescribedGroup, left_out: int = 0) -> Sample:
    sampled = {group.group_id: SampledGroup(group, group.lag, group.lag_ms(time_ms)) for group in groups}
    return Sample(time_ms, sampled, left_out)
