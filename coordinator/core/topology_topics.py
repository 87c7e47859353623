"""The topics that a topology of Kafka Streams names, in a message: those of requests and of descriptions are alike."""

from collections.abc import Iterator
from typing import Any


def topics_of_topology(topology: Any) -> Iterator[str]:
    """Sources, sinks, repartition topics and changelogs; a name may come several times."""
    for part in topology.subtopologies or ():
        yield from part.source_topics
        yield from part.repartition_sink_topics
        for topic in (*part.repartition_source_topics, *part.state_changelog_topics):
            yield topic.name
