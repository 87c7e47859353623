from _wire.embedded import decode_key, encode_versioned
from _wire.messages.offset_commit_record import OffsetCommitKey, OffsetCommitValue
from coordinator.core.groups.states import GroupState
from coordinator.core.kinds.stored import StoredGroups
from coordinator.core.stored_batch import StoredBatch
from coordinator.core.topic_partition import TopicPartition
from tests.model.stored_log import stored_in
from tests.simulation.simulation import GROUP_ID, Simulation, replay


def stored_records(sim):
    """What the log holds, in order."""
    return [
        record for batch in stored_in(sim.offsets_log) if isinstance(batch, StoredBatch) for record in batch.records
    ]


def durable(group):
    """What of a group is kept in `__consumer_offsets`."""
    return group.kind.records.of_state(group.membership), group.offsets


def load(records):
    stored = StoredGroups()
    stored.apply(StoredBatch(None, list(records)))
    return stored.groups.get(GROUP_ID)


def test_a_stable_group_is_loaded_as_it_was():
    sim = Simulation()
    (a, _b) = sim.stable_with("a", "b")
    sim.commit(a, generation_id=2, offset=7)
    assert durable(load(stored_records(sim))) == durable(sim.whole_group)


def test_only_the_groups_that_are_wanted_are_loaded():
    sim = Simulation()
    (member_id,) = sim.stable_with("a")
    sim.commit(member_id, generation_id=1, offset=7)
    batches = [StoredBatch(None, stored_records(sim))]
    for wanted, loaded in ((frozenset({GROUP_ID}), [GROUP_ID]), (frozenset({"other"}), [])):
        stored = StoredGroups(wanted)
        for batch in batches:
            stored.apply(batch)
        assert list(stored.groups) == loaded
        assert all(durable(group) == durable(sim.whole_group) for group in stored.groups.values())


def test_compaction_may_take_any_superseded_record():
    sim = Simulation()
    (a, _b) = sim.stable_with("a", "b")
    for offset in range(5):
        sim.commit(a, generation_id=2, offset=offset)
    last_of_each_key = dict(stored_records(sim)).items()
    assert len(last_of_each_key) < len(stored_records(sim))
    assert durable(load(last_of_each_key)) == durable(sim.whole_group)


def test_an_offset_may_come_before_the_groups_own_record():
    sim = Simulation()
    (a,) = sim.stable_with("a")
    sim.commit(a, generation_id=1, offset=7)
    assert durable(load(reversed(list(dict(stored_records(sim)).items())))) == durable(sim.whole_group)


def test_an_emptied_group_keeps_its_generation_and_offsets():
    sim = Simulation()
    (a,) = sim.stable_with("a")
    sim.commit(a, generation_id=1, offset=7)
    sim.leave(a)
    loaded = load(stored_records(sim))
    assert (loaded.membership.state, loaded.membership.generation_id) == (GroupState.EMPTY, 2)
    assert loaded.offsets.get(TopicPartition("t", 0)).offset == 7
    assert loaded.membership.state_since_ms == sim.now_ms


def test_an_explicit_expiry_is_kept():
    key = next(key for key, _ in stored_records(committed_once()) if isinstance(decode_key(key), OffsetCommitKey))
    value = OffsetCommitValue(offset=1, commit_timestamp=5, expire_timestamp=99)
    loaded = load([(key, encode_versioned(value, 1))])
    assert loaded.offsets.get(TopicPartition("t", 0)).expire_timestamp_ms == 99


def committed_once():
    sim = Simulation()
    sim.commit(offset=1)
    return sim


def test_unknown_record_types_are_passed_over():
    assert load([(b"\x00\x63anything", b"at all")]) is None


def test_all_events_replayed_are_the_group():
    sim = Simulation()
    a, b = sim.stable_with("a", "b")
    sim.leave(b)
    sim.join("a", a)
    assert replay(sim.events) == sim.whole_group
