"""Which listeners are called when a log has changed."""

from typing import cast

from coordinator.broker.data.append_notifier import AppendNotifier
from coordinator.log.partition.partition_log import PartitionLog

LOG = cast(PartitionLog, object())


def test_a_listener_that_another_one_removes_is_not_told():
    notifier = AppendNotifier(lambda: None)
    told: list[str] = []

    def first(log: PartitionLog) -> None:
        told.append("first")
        notifier.remove_listener([LOG], second)

    def second(log: PartitionLog) -> None:
        told.append("second")

    notifier.add_listener([LOG], first)
    notifier.add_listener([LOG], second)
    notifier.mark_appended(LOG)
    notifier.notify(0)
    assert told == ["first"]
