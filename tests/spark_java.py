"""A Java that starts Spark with an archive of the classes that it loads: half of the CPU time of each start.

The archive (180 MB) is made once and kept in `build`. It belongs to one Java and one class path; if something else has
changed, the JVM starts without it.
"""

import hashlib
import os
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from coordinator.pipeline import jvm
from coordinator.pipeline.java import JavaMissing, require_java

ROOT: Final = Path(__file__).parents[1]
FOLDER: Final = ROOT / "build" / "spark-java"
DUMP_SECONDS: Final = 300

LAUNCHER: Final = """\
#!/bin/sh
case "$*" in
*org.apache.spark.api.python.PythonGatewayServer*) exec {java} -XX:SharedArchiveFile={archive} "$@" ;;
esac
exec {java} "$@"
"""


@cache
def start_spark_with_archive() -> None:
    """Let JAVA_HOME lead to that Java, for this process and those that it starts. Without Java or jars do nothing."""
    jars = jvm.cached_jars()
    if jars is None:
        return
    try:
        java = require_java()
    except JavaMissing:
        return
    version = subprocess.run([java, "-version"], capture_output=True, check=True).stderr
    text = "\n".join([str(java), version.decode(), *jvm.JAVA_OPTIONS, *map(str, jars), str(jvm.spark_home())])
    home = FOLDER / hashlib.sha256(text.encode()).hexdigest()[:16]
    archive = home / "classes.jsa"
    if not archive.exists():
        (home / "bin").mkdir(parents=True, exist_ok=True)
        new = archive.with_name(f"{os.getpid()}.jsa")
        subprocess.run([sys.executable, "-m", "tests.spark_java", str(new)], cwd=ROOT, check=True, timeout=DUMP_SECONDS)
        launcher = home / "bin" / "java"
        launcher.write_text(LAUNCHER.format(java=shlex.quote(str(java)), archive=shlex.quote(str(archive))))
        launcher.chmod(0o755)
        new.rename(archive)
    os.environ["JAVA_HOME"] = str(home)


def dump_classes(archive: str) -> None:
    """Do what each job does first, and write the archive when the JVM exits."""
    jvm.JAVA_OPTIONS = (*jvm.JAVA_OPTIONS, f"-XX:ArchiveClassesAtExit={archive}")  # type: ignore[assignment, misc]
    jvm.EXIT_SECONDS = DUMP_SECONDS  # type: ignore[misc]
    from coordinator.pipeline.session import spark_session

    with TemporaryDirectory() as table, spark_session() as spark:
        for _ in range(2):
            spark.range(10).write.format("delta").mode("append").save(table)
        assert spark.read.format("delta").load(table).count() == 20


if __name__ == "__main__":
    dump_classes(sys.argv[1])
