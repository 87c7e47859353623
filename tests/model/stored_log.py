"""What `__consumer_offsets` holds, read record by record: the slow twin of `core/kinds/batch_replay.pyx`."""

from collections.abc import Iterable, Mapping

from _wire.control_records import read_end_txn_marker
from _wire.records import parse_records
from coordinator.core.groups.group import Group
from coordinator.core.kinds.stored import StoredGroups
from coordinator.core.stored import Producer, Stored, TransactionMarker
from coordinator.core.stored_batch import StoredBatch
from coordinator.log.partition.partition_log import PartitionLog


def stored_in(log: PartitionLog) -> list[Stored]:
    """The batches and markers of a log, in order."""
    stored: list[Stored] = []
    for header, data in log.batches(log.log_start_offset):
        records = parse_records(data)
        producer = Producer(header.producer_id, header.producer_epoch) if header.is_transactional else None
        if not header.is_control:
            stored.append(StoredBatch(producer, [(record.key or b"", record.value) for record in records]))
        elif producer is not None:
            marker = read_end_txn_marker(records[0])
            stored.append(TransactionMarker(producer, marker.committed, marker.coordinator_epoch))
    return stored


def groups_of(stored: Iterable[Stored]) -> Mapping[str, Group]:
    """The groups that these batches and markers describe, none of them shared with anybody."""
    groups = StoredGroups()
    for each in stored:
        groups.apply(each)
    return groups.groups
