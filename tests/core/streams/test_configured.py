"""A topology together with the topics of the cluster: the partitions of its repartition topics."""

from typing import Any

import pytest

from coordinator.core.streams import configured as module
from coordinator.core.streams.configured import configure
from coordinator.core.streams.topology import Subtopology, TopicInfo, Topology
from tests.core.consumer.world import FixedTopics


def chain(length: int) -> Topology:
    """Each subtopology writes into what the one before it in the list reads, and the last one reads `t`."""
    parts = [
        Subtopology(str(number), (), (), (), (f"r{number}",), (TopicInfo(f"r{number + 1}"),))
        for number in range(length)
    ]
    return Topology(0, (*parts, Subtopology("source", ("t",), (), (), (f"r{length}",))))


def test_a_chain_of_repartition_topics_is_looked_at_twice_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    count, looked = module._largest_count, []

    def counted(part: Subtopology, *arguments: Any) -> int:
        looked.append(part.subtopology_id)
        return count(part, *arguments)

    monkeypatch.setattr(module, "_largest_count", counted)
    found = configure(chain(500), 0, FixedTopics({"t": 3}))
    assert found.subtopologies is not None
    assert {part.tasks for part in found.subtopologies.values()} == {3}
    assert len(looked) <= 2 * 501


@pytest.mark.parametrize("writers", [("u", "t"), ("t", "u")])
def test_the_last_subtopology_of_a_round_decides_how_many_partitions_its_sink_has(writers: tuple[str, str]) -> None:
    parts = [Subtopology(name, (name,), (), (), ("r",)) for name in writers]
    reader = Subtopology("reader", repartition_source_topics=(TopicInfo("r"),))
    topics = FixedTopics({"t": 3, "u": 2})
    found = configure(Topology(0, (reader, *parts)), 0, topics)
    assert found.missing["r"].partitions == topics.partition_count(writers[-1])


def test_who_reads_several_repartition_topics_counts_with_those_known_in_its_first_round() -> None:
    """`deep` is known a round later than `near`, so it does not raise what is written into `sink`, as in Kafka."""
    topology = Topology(
        0,
        (
            Subtopology("a", ("t",), (), (), ("near",)),
            Subtopology("b", ("big",), (), (), ("first",)),
            Subtopology("c", (), (), (), ("deep",), (TopicInfo("first"),)),
            Subtopology("d", (), (), (), ("sink",), (TopicInfo("near"), TopicInfo("deep"))),
            Subtopology("e", (), (), (), (), (TopicInfo("sink"),)),
        ),
    )
    found = configure(topology, 0, FixedTopics({"t": 2, "big": 9}))
    assert (found.missing["deep"].partitions, found.missing["sink"].partitions) == (9, 2)
