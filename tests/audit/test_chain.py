"""The hashes that chain the records of a partition: whatever is done to one of them is found, and named."""

import pytest

from coordinator.audit.chain import FIRST, HEADER, chained, record_hash, verify
from coordinator.audit.schema import Record
from coordinator.groups.audit_stream import AuditStream
from tests.simulation.server import AUDIT
from tests.simulation.simulation import Simulation

Kept = list[tuple[int, Record]]


class ChainedSimulation(Simulation):
    """With `audit.chain`, and with batches that are compressed."""

    def make_audit_stream(self, partition: int) -> AuditStream:
        log = self.logs[AUDIT, partition]
        return AuditStream(log, 0, checkpoints=self.checkpoints, compression="lz4", has_chain=True)


@pytest.fixture
def kept() -> Kept:
    """A partition as it was written, over a restart."""
    sim = ChainedSimulation()
    sim.stable_with("a", "b")
    sim.restart()
    sim.join("c")
    return list(enumerate(sim.replay_audit()))


def renumbered(records: list[Record]) -> Kept:
    """As one who can write the log would leave it."""
    return list(enumerate(records))


def test_each_record_carries_the_hash_of_the_one_before_it(kept):
    assert dict(kept[0][1][2])[HEADER] == FIRST
    verified = verify(kept)
    assert (verified.chained, verified.unchained, verified.broken) == (len(kept), 0, None)
    assert len(kept) > 10


def test_the_oldest_records_may_be_gone(kept):
    assert verify(kept[4:]).broken is None


def test_records_from_before_the_chain_are_counted(kept):
    plain: Record = (b"g", b"{}", (("ce_id", b"g/1"),))
    bare = [(key, value, headers[:-1]) for _, (key, value, headers) in kept]
    records, _ = chained(bare, record_hash(plain))
    verified = verify(renumbered([plain, *records]))
    assert (verified.unchained, verified.broken) == (1, None)


@pytest.mark.parametrize("at", [0, 3, -2])
def test_a_changed_event_is_named(kept, at):
    offset, (key, value, headers) = kept[at]
    kept[at] = offset, (key, value.replace(b"orders", b"others"), headers)
    broken = verify(kept).broken
    assert broken is not None
    assert (broken.offset, broken.event, broken.problem) == (offset, dict(headers)["ce_id"].decode(), "was changed")


@pytest.mark.parametrize("renumber", [True, False])
def test_an_event_that_was_left_out_is_named_by_its_neighbours(kept, renumber):
    records = [record for _, record in kept[:5] + kept[6:]]
    broken = verify(renumbered(records) if renumber else kept[:5] + kept[6:]).broken
    assert broken is not None
    assert broken.event == dict(records[5][2])["ce_id"].decode()
    assert "left out" in broken.problem


def test_an_event_that_was_moved_is_found_where_it_is(kept):
    records = [record for _, record in kept]
    records.insert(9, records.pop(4))
    broken = verify(renumbered(records)).broken
    assert broken is not None
    assert broken.event == dict(records[4][2])["ce_id"].decode()
    assert broken.problem == "was moved: it followed the event that is now at 9"


def test_an_event_without_a_hash_is_none_of_the_chain(kept):
    offset, (key, value, headers) = kept[5]
    kept[5] = offset, (key, value, tuple(header for header in headers if header[0] != HEADER))
    broken = verify(kept).broken
    assert broken is not None
    assert broken.offset == 5
    assert "carries no hash" in broken.problem
