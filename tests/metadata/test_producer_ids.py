"""Producer ids: never twice, and reserved before they are needed."""

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.log.errors import LogAppendError
from coordinator.metadata.producer_ids import PRODUCER_IDS_PER_BLOCK, RESERVED_AHEAD_FROM, ProducerIds
from tests.metadata.held_threads import HeldThreads
from tests.metadata.test_store import NOW_MS, Disk

BEFORE_THE_NEXT_BLOCK: Final = PRODUCER_IDS_PER_BLOCK - RESERVED_AHEAD_FROM


@pytest.fixture
def disk() -> Disk:
    return Disk()


class Held:
    """A start whose metadata log is flushed when the test says so."""

    def __init__(self, disk: Disk) -> None:
        self.store = disk.start()
        self.threads = HeldThreads()
        self.store.commit_in(self.threads.as_threads, None, self._failed)
        self.ids = ProducerIds(self.store)

    def _failed(self, problem: Exception) -> None:
        raise AssertionError(problem)

    def allocate(self, count: int = 1) -> list[int | None]:
        return [self.ids.allocate(NOW_MS) for _ in range(count)]


def allocate(ids: ProducerIds) -> int:
    """An id that is there at once, as without threads."""
    producer_id = ids.allocate(NOW_MS)
    assert producer_id is not None
    return producer_id


def test_they_are_unique_across_restarts(disk):
    given_ids: list[int] = []
    for count in (1, PRODUCER_IDS_PER_BLOCK + 1, 3):
        ids = ProducerIds(disk.start())
        given_ids += [allocate(ids) for _ in range(count)]
    assert len(set(given_ids)) == len(given_ids)
    assert given_ids == sorted(given_ids)


def test_a_block_is_one_record_and_the_next_one_is_reserved_when_half_is_used(disk):
    ids = ProducerIds(disk.start())
    for _ in range(BEFORE_THE_NEXT_BLOCK):
        allocate(ids)
    assert disk.open_log().log_end_offset == 1
    allocate(ids)
    assert disk.open_log().log_end_offset == 2
    assert [allocate(ids) for _ in range(PRODUCER_IDS_PER_BLOCK)][-1] == PRODUCER_IDS_PER_BLOCK + BEFORE_THE_NEXT_BLOCK


def test_none_is_assigned_unless_its_block_is_durable(disk):
    held = Held(disk)
    assert held.allocate(3) == [None, None, None]
    assert held.threads.begun == 1, "one block, however many ask"
    held.threads.end()
    assert held.allocate(2) == [0, 1]


def test_a_slow_flush_of_the_next_block_delays_nobody_while_ids_are_left(disk):
    held = Held(disk)
    held.allocate()
    held.threads.end()
    assert held.allocate(PRODUCER_IDS_PER_BLOCK) == list(range(PRODUCER_IDS_PER_BLOCK))
    assert held.threads.begun == 2
    assert held.allocate() == [None]
    held.threads.end()
    assert held.allocate() == [PRODUCER_IDS_PER_BLOCK]
    assert held.threads.begun == 2


def test_who_got_none_gets_one_when_the_metadata_is_committed(disk):
    held = Held(disk)
    assigned: list[int | None] = []
    assert held.allocate() == [None]
    held.store.when_committed(lambda: assigned.extend(held.allocate()))
    held.threads.end()
    assert assigned == [0]


def test_a_kill_with_a_block_reserved_ahead_assigns_no_id_again(disk):
    held = Held(disk)
    held.allocate()
    held.threads.end()
    held.allocate(BEFORE_THE_NEXT_BLOCK + 1)
    held.threads.end()
    assert allocate(ProducerIds(disk.start())) == 2 * PRODUCER_IDS_PER_BLOCK


def test_a_full_disk_fails_the_first_one_and_heals(disk):
    store = disk.start()
    ids = ProducerIds(store)
    disk.files.is_full = True
    with pytest.raises(LogAppendError):
        ids.allocate(NOW_MS)
    disk.files.is_full = False
    assert ids.allocate(NOW_MS) == 0
    assert ProducerIds(disk.start()).allocate(NOW_MS) == PRODUCER_IDS_PER_BLOCK


def test_a_full_disk_fails_nobody_while_ids_are_left(disk):
    ids = ProducerIds(disk.start())
    allocate(ids)
    disk.files.is_full = True
    assert [allocate(ids) for _ in range(PRODUCER_IDS_PER_BLOCK - 1)][-1] == PRODUCER_IDS_PER_BLOCK - 1
    with pytest.raises(LogAppendError):
        ids.allocate(NOW_MS)
    disk.files.is_full = False
    assert allocate(ids) == PRODUCER_IDS_PER_BLOCK


@given(
    st.lists(st.one_of(st.integers(1, 1500), st.sampled_from(["flush", "kill", "power"])), max_size=30),
    st.randoms(use_true_random=False),
)
def test_no_history_assigns_an_id_twice(history, random):
    disk = Disk()
    held = Held(disk)
    assigned: list[int | None] = []
    for step in history:
        if step == "flush":
            held.threads.end_all()
        elif step in ("kill", "power"):
            if step == "power":
                disk.files.lose_power(lambda count: random.randint(0, count))
            held = Held(disk)
        else:
            assigned += held.allocate(step)
    found = [each for each in assigned if each is not None]
    assert len(set(found)) == len(found)
