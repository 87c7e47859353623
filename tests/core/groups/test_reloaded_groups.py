"""What a load has to know beside the members and offsets that are served."""

import pytest

from _wire.errors import ErrorCode
from _wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from coordinator.core.kinds import operations
from coordinator.core.kinds.stored import StoredGroups
from coordinator.core.stored_batch import StoredBatch
from tests.model.stored_log import stored_in
from tests.simulation.consumers import subscription
from tests.simulation.simulation import GROUP_ID, Sent, Simulation


@pytest.mark.parametrize(("topic", "error"), [("t", ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC), ("another", ErrorCode.NONE)])
def test_a_loaded_group_knows_what_its_members_subscribe_to(topic, error):
    sim = Simulation()
    sim.make_stable([sim.join("a", metadata=subscription(("t",)))])
    sim.restart()
    partitions = [OffsetDeleteRequestPartition(partition_index=0)]
    request = OffsetDeleteRequest(
        group_id=GROUP_ID, topics=[OffsetDeleteRequestTopic(name=topic, partitions=partitions)]
    )
    asked = Sent()
    sim.submit(operations.OFFSET_DELETE, GROUP_ID, request, asked, "admin", 0)
    assert asked.error is error


def test_nothing_of_a_deleted_group_is_left_after_compaction():
    """Compaction keeps the last record of each key, and no tombstone in the end."""
    sim = Simulation()
    sim.commit(offset=1)
    sim.delete_group()
    latest = {
        key: value
        for batch in stored_in(sim.offsets_log)
        if isinstance(batch, StoredBatch)
        for key, value in batch.records
    }
    compacted = StoredGroups()
    compacted.apply(StoredBatch(None, [record for record in latest.items() if record[1] is not None]))
    assert len(latest) == 2
    assert compacted.groups == {}
