"""What counts as a complaint of DumpLogSegments."""

from tests.folder_swap.dump import Dumped, _read

OUTPUT = """\
Dumping /data/orders-0/00000000000000000000.log
Log starting offset: 0
baseOffset: 0 lastOffset: 0 count: 1 isvalid: true
| offset: 0 CreateTime: 1 keySize: -1 valueSize: 9 sequence: -1 headerKeys: [] payload: exception
Non-consecutive offsets in /data/orders-0/00000000000000000000.log
  -1 is followed by 4
  7 is followed by 9
Non-consecutive offsets in /data/compacted-0/00000000000000000000.log
  7 is followed by 9
Found timestamp mismatch in :/data/orders-0/00000000000000000000.timeindex
  Index timestamp: 17, log timestamp: 16
  Index timestamp: 17, log timestamp: -1
baseOffset: 8 lastOffset: 8 count: 1 isvalid: false
"""


def test_gaps_count_in_topics_that_are_not_compacted_and_never_before_a_segment():
    dumped = Dumped()
    _read(OUTPUT, dumped, frozenset({"compacted"}))
    assert dumped.records == 1
    assert dumped.complaints == [
        "/data/orders-0/00000000000000000000.log: 7 is followed by 9",
        "  Index timestamp: 17, log timestamp: 16",
        "baseOffset: 8 lastOffset: 8 count: 1 isvalid: false",
    ]
