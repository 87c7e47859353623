"""The Spark session of the pipeline: the stock Kafka connector and Delta, sized for one machine.

`make demo` waits for the start of the session, so all features that only a cluster needs are disabled.
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
"""Dependencies of the two that the pyspark wheel already contains: 60 of 70 MB that are not downloaded."""

_SETTINGS: Final = {
    "spark.master": "local[2]",
    "spark.app.name": "group audit",
    "spark.jars.packages": ",".join(PACKAGES),
    "spark.jars.excludes": ",".join(EXCLUDED_PACKAGES),
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    # A local session uses only the loopback interface, so a host name that does not resolve must not matter.
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
    """The JVM of Spark did not start. The message contains the last lines of its output."""


@contextlib.contextmanager
def spark_session(log: Path | None = None) -> Iterator[SparkSession]:
    """Start a session; its JVM and temporary files are removed when the context ends.

    The output of the JVM (package resolution, errors) goes to the file `log`, if one is given. A process can have only
    one session, because pyspark never replaces its gateway.

    Raises:
        JavaMissing: there is no suitable Java.
        SparkStartFailed: the JVM does not start, or a package cannot be downloaded.
    """
    require_java()
    # Errors of calls are raised as exceptions. The log would repeat them, with the whole Java stack trace.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    # The JVM gets its own working directory, because Spark leaves `artifacts` and `spark-warehouse` there.
    with tempfile.TemporaryDirectory(prefix="coordinator-spark-", ignore_cleanup_errors=True) as scratch:
        conf = SparkConf(loadDefaults=False).setAll(list(_SETTINGS.items()))
        conf.set("spark.local.dir", scratch)
        conf.set("spark.driver.extraJavaOptions", f'{_JAVA_OPTIONS} "-Djava.io.tmpdir={scratch}"')
        with open(log or Path(scratch, "spark.log"), "w+b") as output:
            gateway = _launch_jvm(conf, scratch, output)
        try:
            with SparkContext(conf=conf, gateway=gateway) as context:
                context.setLogLevel("ERROR")
                yield SparkSession(context)
        finally:
            gateway.shutdown()
            gateway.proc.stdin.close()  # the JVM exits when its stdin closes
            gateway.proc.wait(_JVM_EXIT_SECONDS)


def _launch_jvm(conf: SparkConf, directory: str, output: BinaryIO) -> JavaGateway:
    try:
        return launch_gateway(conf, popen_kwargs={"stdout": output, "stderr": output, "cwd": directory})
    except (PySparkException, OSError) as error:
        output.seek(0)
        last_lines = output.read().decode(errors="replace").strip().splitlines()[-_LAST_LINES:]
        raise SparkStartFailed("\n".join(["Spark did not start. The end of its output:", *last_lines])) from error
