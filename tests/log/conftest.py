from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from coordinator.log.config import LogConfig
from coordinator.log.partition.partition_log import PartitionLog
from tests.log.faulty_files import FaultyFileSystem

OpenLog = Callable[..., PartitionLog]


@pytest.fixture
def fs() -> FaultyFileSystem:
    return FaultyFileSystem()


@pytest.fixture
def open_log(fs: FaultyFileSystem, tmp_path: Path) -> Iterator[OpenLog]:
    """Opens `topic-0` in the test's folder, again and again; whatever is open at the end is closed."""
    opened: list[PartitionLog] = []

    def open_topic(config: LogConfig | None = None, **options: Any) -> PartitionLog:
        opened.append(PartitionLog.open(fs, tmp_path, "topic", 0, config or LogConfig(), **options))
        return opened[-1]

    yield open_topic
    for log in opened:
        log.close()
