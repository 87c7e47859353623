from collections.abc import Mapping

class NumberedTopics:
    topic_count: int
    partition_count: int

    def __init__(self, topics: Mapping[bytes, int]) -> None: ...
