"""The compiled replay of `__consumer_offsets` beside its slow twin, and on damaged batches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _wire.embedded import encode_versioned
from _wire.errors import MalformedMessage
from _wire.messages.group_metadata_record import GroupMetadataKey, GroupMetadataValue
from _wire.messages.offset_commit_record import OffsetCommitKey, OffsetCommitValue
from _wire.records import BATCH_HEADER_BYTES, build_batch
from coordinator.core.kinds.batch_replay import BatchReplay
from coordinator.core.kinds.stored import StoredGroups
from coordinator.core.stored import Producer, TransactionMarker
from coordinator.core.stored_batch import StoredBatch

NAMES = st.sampled_from(["", "a", "b", "größe", "x" * 200])
PARTITIONS = st.sampled_from([0, 1, 2**31 - 1, -1])
PRODUCERS = st.sampled_from([Producer(1, 0), Producer(2, 5)])
CODECS = st.sampled_from(["none", "gzip", "snappy", "lz4", "zstd"])


def offset_key(group, topic, partition, version=1):
    return encode_versioned(OffsetCommitKey(group=group, topic=topic, partition=partition), version)


@st.composite
def offset_values(draw):
    value = OffsetCommitValue(
        offset=draw(st.integers(-(2**63), 2**63 - 1)),
        leader_epoch=draw(st.integers(-1, 2**31 - 1)),
        metadata=draw(st.sampled_from(["", "m", "näher"])),
        commit_timestamp=draw(st.integers(-1, 2**62)),
        expire_timestamp=draw(st.sampled_from([-1, 0, 5])),
        topic_id=draw(st.sampled_from([bytes(16), b"0123456789abcdef"])),
    )
    return encode_versioned(value, draw(st.integers(0, 4)))


OFFSETS = st.tuples(
    st.builds(offset_key, NAMES, NAMES, PARTITIONS, st.sampled_from([0, 1])), st.none() | offset_values()
)


def group_value(generation):
    return encode_versioned(GroupMetadataValue(protocol_type="consumer", generation=generation), 3)


GROUPS = st.tuples(
    st.builds(lambda group: encode_versioned(GroupMetadataKey(group=group), 2), NAMES),
    st.none() | st.builds(group_value, st.integers(0, 3)),
)
OTHERS = st.tuples(st.sampled_from([b"\0\x63unknown", b"\x7f\xff"]), st.none() | st.just(b"anything"))
RECORDS = st.lists(OFFSETS | GROUPS | OTHERS, max_size=12)
MARKERS = st.builds(TransactionMarker, PRODUCERS, st.booleans(), st.just(0))
BATCHES = st.builds(StoredBatch, st.none() | PRODUCERS, RECORDS) | MARKERS
UNKNOWN_RECORD = (b"\x7f\xff", b"")
MARKER_VALUE = b"\0\0\0\0\0\0"


def encoded(batch, base_offset, compression):
    if isinstance(batch, TransactionMarker):
        key = b"\0\0\0\x01" if batch.committed else b"\0\0\0\0"
        records, producer, compression = [(key, MARKER_VALUE)], batch.producer, "none"
    else:
        records, producer = batch.records, batch.producer
    data = build_batch(
        records or [UNKNOWN_RECORD],
        base_offset=base_offset,
        compression=compression,
        producer_id=-1 if producer is None else producer.producer_id,
        producer_epoch=-1 if producer is None else producer.producer_epoch,
        is_transactional=producer is not None,
        is_control=isinstance(batch, TransactionMarker),
    )
    return data, base_offset + max(len(records), 1)


def contents(groups):
    return {
        group_id: (group.membership, {topic: offsets for topic, offsets in group.offsets.by_topic.items() if offsets})
        for group_id, group in groups.groups.items()
    }


@given(
    st.lists(st.tuples(BATCHES, CODECS, st.integers(0, 3)), max_size=20),
    st.integers(1, 7),
    st.integers(1, 4),
    st.none() | st.frozensets(NAMES),
)
def test_what_is_replayed_is_what_each_record_says(batches, records_at_once, batches_at_once, only):
    twin, replayed = StoredGroups(only), StoredGroups(only)
    data, offset = [], 0
    for batch, compression, gap in batches:
        piece, offset = encoded(batch, offset + gap, compression)
        data.append(piece)
        twin.apply(batch)
    replay = BatchReplay(replayed)
    for first in range(0, len(data), batches_at_once):
        replay.open(b"".join(data[first : first + batches_at_once]), offset)
        while replay.step(records_at_once):
            continue
    list(replayed.decode_groups())
    assert contents(replayed) == contents(twin)
    assert [group.offsets.pending for group in replayed.groups.values()] == [
        group.offsets.pending for group in twin.groups.values()
    ]
    assert replay.next_offset == offset


def replayed(data, end_offset=1_000, next_offset=0):
    groups = StoredGroups()
    replay = BatchReplay(groups, next_offset)
    replay.open(bytes(data), end_offset)
    while replay.step(100):
        continue
    list(groups.decode_groups())
    return groups


def offsets_batch(count=3, base_offset=0):
    value = encode_versioned(OffsetCommitValue(offset=7), 3)
    return build_batch(
        [(offset_key("g", "t", partition), value) for partition in range(count)], base_offset=base_offset
    )


@given(st.data())
def test_a_batch_with_a_changed_byte_is_refused_or_means_the_same(data):
    """The checksum does not cover base offset, length, leader epoch and magic."""
    batch = bytearray(offsets_batch())
    position = data.draw(st.integers(0, len(batch) - 1))
    batch[position] ^= 1 << data.draw(st.integers(0, 7))
    try:
        groups = replayed(batch, end_offset=3)
    except MalformedMessage:
        return
    assert contents(groups) == contents(replayed(offsets_batch()))


@pytest.mark.parametrize(("base_offset", "next_offset", "end_offset"), [(0, 1, 10), (5, 0, 7), (2**62, 0, 10)])
def test_a_batch_whose_offsets_cannot_be_is_refused(base_offset, next_offset, end_offset):
    with pytest.raises(MalformedMessage, match="is not in"):
        replayed(offsets_batch(base_offset=base_offset), end_offset, next_offset)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"", b"v"),
        (b"\0", b"v"),
        (b"\0\x01", b"v"),
        (offset_key("g", "t", 0)[:-1], encode_versioned(OffsetCommitValue(), 3)),
        (offset_key("g", "t", 0) + b"\0", encode_versioned(OffsetCommitValue(), 3)),
        (offset_key("g", "t", 0), b""),
        (offset_key("g", "t", 0), b"\0\x05" + bytes(40)),
        (offset_key("g", "t", 0), b"\xff\xff" + bytes(40)),
        (offset_key("g", "t", 0), encode_versioned(OffsetCommitValue(), 3)[:-1]),
        (offset_key("g", "t", 0), encode_versioned(OffsetCommitValue(), 3) + b"\0"),
    ],
)
def test_a_record_that_is_damaged_under_a_right_checksum_is_refused(key, value):
    # A good record of the same topic before it must not make the damaged key look known.
    good = (offset_key("g", "t", 0), encode_versioned(OffsetCommitValue(), 3))
    with pytest.raises(MalformedMessage):
        replayed(build_batch([good, (key, value)]))


def test_what_was_replayed_before_a_damaged_batch_is_told_by_the_next_offset():
    damaged = bytearray(offsets_batch(base_offset=3))
    damaged[BATCH_HEADER_BYTES] ^= 1
    replay = BatchReplay(StoredGroups())
    replay.open(offsets_batch() + bytes(damaged), 1_000)
    with pytest.raises(MalformedMessage):
        while replay.step(100):
            continue
    assert replay.next_offset == 3


def test_a_batch_of_an_older_format_is_refused():
    batch = bytearray(offsets_batch())
    batch[16] = 1
    with pytest.raises(MalformedMessage):
        replayed(batch)


def test_offsets_outlive_the_tombstone_of_their_group():
    """They have tombstones of their own. A group that changes its kind writes a tombstone, too, and keeps them."""
    value = encode_versioned(OffsetCommitValue(offset=7), 3)
    group_key = encode_versioned(GroupMetadataKey(group="g"), 2)
    records = [(offset_key("g", "t", 0), value), (group_key, None), (offset_key("g", "t", 1), value)]
    groups = replayed(build_batch(records, base_offset=0))
    assert list(groups.groups["g"].offsets.by_topic["t"]) == [0, 1]
