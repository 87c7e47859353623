"""The Spark session of the pipeline: the stock Kafka connector and Delta, sized for one machine.

`make demo` waits for the start of the session, so all features that only a cluster needs are disabled.
"""

import contextlib
import logging
import os
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from coordinator.pipeline.java import require_java
from coordinator.pipeline.jvm import Interrupted, SparkJvm

LOCAL: Final = "local[2]"

_SETTINGS: Final = {
    "spark.app.name": "group audit",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    # A local session uses only the loopback interface, so a host name that does not resolve must not matter.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # A micro-batch holds a few thousand small events: more partitions or a second optimizer round cost more than they
    # save.
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.streaming.numRecentProgressUpdates": "10",
    # Of 50 Kafka partitions of the topic each would otherwise be a task and a file.
    "spark.sql.files.maxPartitionBytes": "128m",
    "spark.databricks.delta.checkpoint.partSize": "1000000",
}


@contextlib.contextmanager
def spark_session(log: Path | None = None, stop: threading.Event | None = None) -> Iterator[SparkSession]:
    """Start a session; its JVM and temporary files are removed when the context ends.

    The output of the JVM (package resolution, errors) goes to the file `log`, if one is given. A process can have only
    one session, because pyspark never replaces its gateway.

    Raises:
        JavaMissing: there is no suitable Java.
        SparkStartFailed: the JVM does not start, or a package cannot be downloaded.
        Interrupted: `stop` was set before the session was ready.
    """
    java = require_java()
    stop = stop or threading.Event()
    # Errors of calls are raised as exceptions. The log would repeat them, with the whole Java stack trace.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    settings = {"spark.master": LOCAL, **_SETTINGS}
    # The JVM gets its own working directory, because Spark leaves `artifacts` and `spark-warehouse` there.
    with tempfile.TemporaryDirectory(prefix="coordinator-spark-", ignore_cleanup_errors=True) as scratch:
        settings["spark.local.dir"] = scratch
        with open(log or Path(scratch, "spark.log"), "w+b") as output:
            jvm = SparkJvm(java, settings, scratch, output, stop)
        try:
            with _connected(jvm, settings, stop) as session:
                yield session
        finally:
            jvm.close()


@contextlib.contextmanager
def _connected(jvm: SparkJvm, settings: dict[str, str], stop: threading.Event) -> Iterator[SparkSession]:
    os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"] = str(jvm.port), jvm.secret
    try:
        gateway = launch_gateway()  # pyspark's way to connect to a JVM that runs already
    finally:
        del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]
    try:
        conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
        # Made in the main thread, the context would handle SIGINT, by a call into the JVM in the middle of another one.
        with ThreadPoolExecutor(1) as thread:
            made = thread.submit(lambda: SparkContext(conf=conf, gateway=gateway)).result()
        with made as context:
            context.setLogLevel("ERROR")
            if stop.is_set():
                raise Interrupted
            yield SparkSession(context)
    finally:
        gateway.shutdown()
