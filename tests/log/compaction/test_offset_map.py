import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.log.compaction.offset_map import SLOT_BYTES, OffsetMap

SECRET = bytes(range(16))


def test_a_slot_has_24_bytes():
    assert SLOT_BYTES == 24


@given(st.lists(st.tuples(st.binary(max_size=12), st.integers(0, 2**62)), max_size=300))
def test_it_is_a_dictionary_of_the_last_offsets(pairs):
    offsets = OffsetMap(1 << 20, 0.9, SECRET)
    for key, offset in pairs:
        assert offsets.put(key, offset)
    expected = dict(pairs)
    assert offsets.keys == len(expected)
    assert {key: offsets.get(key) for key in expected} == expected
    assert offsets.latest_offset == (pairs[-1][1] if pairs else -1)
    assert offsets.get(b"a key that is too long to be there") == -1


def test_it_grows_up_to_its_bound_and_then_takes_no_new_key():
    offsets = OffsetMap(24 * 10_000, 0.9, SECRET)
    assert offsets.size_bytes < 24 * 10_000
    for number in range(9_000):
        assert offsets.put(b"%d" % number, number)
    assert not offsets.put(b"new", 9_000)
    assert (offsets.keys, offsets.size_bytes, offsets.latest_offset) == (9_000, 24 * 10_000, 8_999)
    assert offsets.get(b"new") == -1
    assert offsets.put(b"5", 9_001), "a known key has room"
    assert [offsets.get(b"%d" % number) for number in (4, 5, 8_999)] == [4, 9_001, 8_999]


@pytest.mark.parametrize("slots", [1, 2, 3])
def test_one_slot_stays_free_so_that_a_search_ends(slots):
    offsets = OffsetMap(24 * slots, 1.0, SECRET)
    assert [offsets.put(b"%d" % number, number) for number in range(slots)] == [True] * (slots - 1) + [False]
    assert offsets.get(b"missing") == -1


@pytest.mark.parametrize(
    ("buffer_bytes", "load_factor", "secret"), [(23, 0.9, SECRET), (24, 0.0, SECRET), (24, 1.1, SECRET), (24, 0.9, b"")]
)
def test_what_makes_no_map_is_refused(buffer_bytes, load_factor, secret):
    with pytest.raises(ValueError, match="an offset map has"):
        OffsetMap(buffer_bytes, load_factor, secret)
