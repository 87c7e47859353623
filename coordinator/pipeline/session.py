"""The Spark session of the pipeline: the stock Kafka connector and Delta, sized for one machine.

What a session costs at the start is what `make demo` waits for, so each setting that only a cluster needs is off.
"""

import contextlib
import logging
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from py4j.java_gateway import JavaGateway
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from coordinator.pipeline.java import require_java

PACKAGES: Final = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0",
    "io.delta:delta-spark_2.13:4.0.0",
)
"""The newest pair whose jars resolve for each other; they go with the pinned pyspark and delta-spark."""

EXCLUDED_PACKAGES: Final = (
    "org.apache.hadoop:hadoop-client-api",
    "org.apache.hadoop:hadoop-client-runtime",
    "org.antlr:antlr4-runtime",
    "org.lz4:lz4-java",
    "org.slf4j:slf4j-api",
    "org.xerial.snappy:snappy-java",
)
"""Dependencies of the two that the pyspark wheel holds already: 60 of 70 MB that need not be fetched."""

_SETTINGS: Final = {
    "spark.master": "local[2]",
    "spark.app.name": "group audit",
    "spark.jars.packages": ",".join(PACKAGES),
    "spark.jars.excludes": ",".join(EXCLUDED_PACKAGES),
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    # Everything of a local session talks over loopback; a host name that does not resolve must not matter.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    # A micro-batch holds a few thousand small events: more partitions, a second optimizer round or C2-compiled code
    # cost more than they save.
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.streaming.numRecentProgressUpdates": "10",
}


_LAST_LINES: Final = 15
_JVM_EXIT_SECONDS: Final = 30

_JAVA_OPTIONS: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData -Duser.timezone=UTC"


class SparkStartFailed(RuntimeError):
    """The Java side of Spark did not come up; the message holds the end of what it said."""


@contextlib.contextmanager
def spark_session(log: Path | None = None) -> Iterator[SparkSession]:
    """A session whose JVM and temporary files are gone when the context ends. What the JVM prints (package resolution,
    errors) goes to the file `log`, or nowhere.

    One per process: pyspark keeps its gateway for good. Raises JavaMissing, or SparkStartFailed when the JVM does not
    start or a package cannot be fetched.
    """
    require_java()
    # What goes wrong in a call is raised as well; its log would tell it a second time, with the whole Java stack.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    # The JVM works in a folder of its own: Spark leaves `artifacts` and `spark-warehouse` where it is started.
    with tempfile.TemporaryDirectory(prefix="coordinator-spark-", ignore_cleanup_errors=True) as scratch:
        conf = SparkConf(loadDefaults=False).setAll(list(_SETTINGS.items()))
        conf.set("spark.local.dir", scratch)
        conf.set("spark.driver.extraJavaOptions", f'{_JAVA_OPTIONS} "-Djava.io.tmpdir={scratch}"')
        with open(log or Path(scratch, "spark.log"), "w+b") as said:
            gateway = _launch_jvm(conf, scratch, said)
        try:
            with SparkContext(conf=conf, gateway=gateway) as context:
                context.setLogLevel("ERROR")
                yield SparkSession(context)
        finally:
            gateway.shutdown()
            gateway.proc.stdin.close()  # the JVM watches it and leaves when it closes
            gateway.proc.wait(_JVM_EXIT_SECONDS)


def _launch_jvm(conf: SparkConf, directory: str, said: BinaryIO) -> JavaGateway:
    try:
        return launch_gateway(conf, popen_kwargs={"stdout": said, "stderr": said, "cwd": directory})
    except (PySparkException, OSError) as error:
        said.seek(0)
        last_lines = said.read().decode(errors="replace").strip().splitlines()[-_LAST_LINES:]
        raise SparkStartFailed("\n".join(["Spark did not start; its last words:", *last_lines])) from error
