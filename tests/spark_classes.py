"""The archive of Spark's classes (`coordinator/pipeline/class_archive.py`): made once, as tests often start Spark."""

import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from coordinator.pipeline.class_archive import WRITE_SECONDS, ClassArchive
from coordinator.pipeline.java import JavaMissing, require_java
from coordinator.pipeline.jvm import cached_jars
from coordinator.pipeline.session import spark_session

ROOT: Final = Path(__file__).parents[1]


@cache
def ensure_class_archive() -> None:
    """Make it if this machine has none. Without Java or the jars do nothing: the tests say what is missing."""
    jars = cached_jars()
    try:
        java = require_java()
    except JavaMissing:
        return
    if jars is None or ClassArchive(java, jars, is_written=False).path.exists():
        return
    # In a process of its own, as a process can have only one session.
    subprocess.run([sys.executable, "-m", "tests.spark_classes"], cwd=ROOT, check=True, timeout=WRITE_SECONDS)


def write_class_archive() -> None:
    """Do what each job does first, so that the archive holds the classes for that."""
    with TemporaryDirectory() as table, spark_session(writes_archive=True) as spark:
        for _ in range(2):
            spark.range(10).write.format("delta").mode("append").save(table)
        assert spark.read.format("delta").load(table).count() == 20


if __name__ == "__main__":
    write_class_archive()
