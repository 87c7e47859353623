"""Control records: the markers that end a transaction in each of its partitions (KIP-98)."""

import struct
from enum import IntEnum

import msgspec

from _wire.batch_reader import Record
from _wire.batches import CorruptBatch

_KEY = struct.Struct(">hh")
_END_TXN_MARKER = struct.Struct(">hi")


class ControlRecordType(IntEnum):
    """The type of a control record. Readers skip unknown types."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6
    UNKNOWN = -1

    @classmethod
    def _missing_(cls, value: object) -> "ControlRecordType":
        return cls.UNKNOWN


class EndTxnMarker(msgspec.Struct, frozen=True):
    """The outcome of a transaction. `coordinator_epoch` fences the markers of former coordinators."""

    committed: bool
    coordinator_epoch: int

    def as_record(self) -> tuple[bytes, bytes, tuple[()]]:
        """Key, value and headers for `build_batch(..., is_transactional=True, is_control=True)`."""
        outcome = ControlRecordType.COMMIT if self.committed else ControlRecordType.ABORT
        return _KEY.pack(0, outcome), _END_TXN_MARKER.pack(0, self.coordinator_epoch), ()


def control_record_type(record: Record) -> ControlRecordType:
    """Read the type of a record of a control batch.

    Raises:
        CorruptBatch: its key is none of a control record.
    """
    if record.key is None or len(record.key) < _KEY.size:
        raise CorruptBatch(
            "ControlRecord", 0, "key", 0, f"a control record has a key of {_KEY.size} bytes, not {record.key!r}"
        )
    version, number = _KEY.unpack_from(record.key)
    if version < 0:
        raise CorruptBatch("ControlRecord", version, "key", 0, "negative version")
    return ControlRecordType(number)


def read_end_txn_marker(record: Record) -> EndTxnMarker:
    """Read the outcome from a COMMIT or ABORT record.

    Raises:
        CorruptBatch: the record is no such marker.
    """
    record_type = control_record_type(record)
    if record_type not in (ControlRecordType.COMMIT, ControlRecordType.ABORT):
        raise CorruptBatch("EndTxnMarker", 0, "key", 0, f"{record_type.name} ends no transaction")
    if record.value is None or len(record.value) < _END_TXN_MARKER.size:
        raise CorruptBatch("EndTxnMarker", 0, "value", 0, f"truncated: {record.value!r}")
    version, coordinator_epoch = _END_TXN_MARKER.unpack_from(record.value)
    if version < 0:
        raise CorruptBatch("EndTxnMarker", version, "value", 0, "negative version")
    return EndTxnMarker(record_type is ControlRecordType.COMMIT, coordinator_epoch)
