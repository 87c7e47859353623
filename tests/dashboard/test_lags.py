import pytest

from coordinator.dashboard import lags as module
from coordinator.dashboard.lags import POINT_EVERY_MS, POINTS_KEPT, Lags
from tests.dashboard.lag_samples import described, sample

STEP = POINT_EVERY_MS


def test_a_point_has_the_lag_and_the_age_of_the_group_and_of_its_partitions():
    lags = Lags()
    lags.apply(sample(STEP, described("g", 3, 4, None, oldest_ms=STEP - 2_500)))
    lags.apply(sample(2 * STEP, described("g", 0, 5, None, oldest_ms=STEP)))
    assert lags.of_group("g") == [(STEP, 7, 2), (2 * STEP, 5, STEP // 1000)]
    first, second, third = lags.latest.groups["g"].group.partitions
    assert lags.of_partitions("g", [first, second]) == lags.of_group("g")
    assert lags.of_partitions("g", [first]) == [(STEP, 3, 2), (2 * STEP, 0, 0)]
    assert lags.of_partitions("g", [third]) == []


def test_samples_between_two_points_are_the_lag_of_now_alone():
    lags = Lags()
    for number in range(8):
        lags.apply(sample(STEP + number * STEP // 4, described("g", number)))
    assert [point[1] for point in lags.of_group("g")] == [0, 4]
    assert lags.latest.groups["g"].lag == 7


def test_an_hour_is_kept():
    lags = Lags()
    for number in range(1, 2 * POINTS_KEPT):
        lags.apply(sample(number * STEP, described("g", number)))
    points = lags.of_group("g")
    assert len(points) == POINTS_KEPT
    assert points[-1][:2] == ((2 * POINTS_KEPT - 1) * STEP, 2 * POINTS_KEPT - 1)
    assert points[-1][0] - points[0][0] == 3_600_000


def test_a_group_that_is_away_for_a_while_begins_again():
    lags = Lags()
    lags.apply(sample(STEP, described("g", 1)))
    lags.apply(sample(2 * STEP))
    assert (lags.group("g"), lags.of_group("g")) == (None, [])
    lags.apply(sample(3 * STEP, described("g", 2)))
    assert lags.of_group("g") == [(3 * STEP, 2, None)]


def test_groups_that_were_left_out_keep_their_past():
    lags = Lags()
    lags.apply(sample(STEP, described("g", 1)))
    lags.apply(sample(2 * STEP, left_out=1))
    lags.apply(sample(3 * STEP, described("g", 2)))
    assert [point[0] for point in lags.of_group("g")] == [STEP, 3 * STEP]


@pytest.mark.parametrize("name", ["GROUP_SERIES_MAX", "PARTITION_SERIES_MAX"])
def test_the_number_of_series_is_bounded(monkeypatch, name):
    monkeypatch.setattr(module, name, 2)
    lags = Lags()
    lags.apply(sample(STEP, *(described(f"g{number}", 1) for number in range(4))))
    partitions = {group: lags.latest.groups[group].group.partitions for group in lags.latest.groups}
    known = {
        "GROUP_SERIES_MAX": [partition for partition in partitions if lags.of_group(partition)],
        "PARTITION_SERIES_MAX": [
            partition for partition in partitions if lags.of_partitions(partition, partitions[partition])
        ],
    }
    assert known[name] == ["g0", "g1"]
    assert lags.latest.groups["g3"].lag == 1


def test_a_committed_offset_that_moved_says_when():
    lags = Lags()
    group = described("g", 5)
    lags.apply(sample(STEP, group))
    assert lags.moved_ms("g", group.partitions[0]) is None
    later = described("g", 5)
    later.partitions[0].committed_offset = 11
    lags.apply(sample(STEP + 5_000, later))
    lags.apply(sample(STEP + 10_000, later))
    assert lags.moved_ms("g", later.partitions[0]) == STEP + 5_000


def test_an_age_beyond_all_bounds_is_the_largest():
    lags = Lags()
    lags.apply(sample(2**62, described("g", 2**62, oldest_ms=0)))
    assert lags.of_group("g") == [(2**62, 2**62, 2**31 - 1)]
