"""The Spark session of the pipeline: the stock Kafka connector and Delta, in a JVM of its own or in spark-submit's.

`make demo` waits for the start of the session, so all features that only a cluster needs are disabled.
"""

import contextlib
import logging
import os
import tempfile
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from coordinator.pipeline.java import require_java
from coordinator.pipeline.jvm import Interrupted, SparkJvm, SparkStartFailed, is_local

LOCAL: Final = "local[2]"

_NEEDED: Final = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
}

_TUNED: Final = {
    "spark.app.name": "group audit",
    # A micro-batch holds a few thousand small events: more partitions or a second optimizer round cost more than they
    # save.
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.streaming.numRecentProgressUpdates": "10",
    # The records of a batch, 20 MB of each task, come with the end of the task. As blocks they would be copied three
    # times more, and sent over a socket to the same process: 3 s of CPU of a million events.
    "spark.task.maxDirectResultSize": "64m",
    # Of 50 Kafka partitions of the topic each would otherwise be a task and a file.
    "spark.sql.files.maxPartitionBytes": "128m",
    "spark.databricks.delta.checkpoint.partSize": "1000000",
}

_LOOPBACK: Final = {
    # A local session uses only the loopback interface, so a host name that does not resolve must not matter.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def is_submitted() -> bool:
    """Whether spark-submit started this program: then there is a JVM, and the session is made in it."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def settings_for(master: str, chosen: Mapping[str, str]) -> dict[str, str]:
    """Return the Spark settings of a session that this program starts; `chosen` are the user's, which win."""
    loopback = _LOOPBACK if is_local(master) else {}
    return {**_NEEDED, **_TUNED, **loopback, **chosen, "spark.master": master}


@contextlib.contextmanager
def spark_session(
    log: Path | None = None,
    stop: threading.Event | None = None,
    master: str = LOCAL,
    chosen: Mapping[str, str] = MappingProxyType({}),
    *,
    writes_archive: bool = False,
) -> Iterator[SparkSession]:
    """Start a session; its JVM and temporary files are removed when the context ends.

    The output of the JVM (package resolution, errors) goes to the file `log`, if one is given. A process can have only
    one session, because pyspark never replaces its gateway. `chosen` are settings of Spark. With `writes_archive` the
    JVM writes an archive of its classes when it exits, with which later ones start faster.

    If spark-submit started this program, the session is made in its JVM, with its settings: `log`, `master`, `chosen`
    and `writes_archive` mean nothing then.

    Raises:
        JavaMissing: there is no suitable Java.
        SparkStartFailed: the JVM does not start, or a package cannot be downloaded.
        Interrupted: `stop` was set before the session was ready.
    """
    # Errors of calls are raised as exceptions. The log would repeat them, with the whole Java stack trace.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    if is_submitted():
        started = _submitted()
    else:
        started = _own(log, stop or threading.Event(), settings_for(master, chosen), writes_archive=writes_archive)
    with started as session:
        yield session


@contextlib.contextmanager
def _submitted() -> Iterator[SparkSession]:
    """The settings of spark-submit win. It adds none for Delta, without which the job cannot run."""
    conf = SparkConf()
    for name, value in {**_NEEDED, **_TUNED}.items():
        conf.setIfMissing(name, value)
    with _context(conf) as context:
        yield _session(context)


@contextlib.contextmanager
def _own(
    log: Path | None, stop: threading.Event, settings: dict[str, str], *, writes_archive: bool
) -> Iterator[SparkSession]:
    java = require_java()
    # The JVM gets its own working directory, because Spark leaves `artifacts` and `spark-warehouse` there.
    with tempfile.TemporaryDirectory(prefix="coordinator-spark-", ignore_cleanup_errors=True) as scratch:
        settings = {"spark.local.dir": scratch, **settings}
        with open(log or Path(scratch, "spark.log"), "w+b") as output:
            jvm = SparkJvm(java, settings, scratch, output, stop, writes_archive=writes_archive)
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
        with _context(SparkConf(loadDefaults=False).setAll(list(settings.items())), gateway) as context:
            context.setLogLevel("ERROR")
            if stop.is_set():
                raise Interrupted
            yield _session(context)
    finally:
        gateway.shutdown()


def _session(context: SparkContext) -> SparkSession:
    try:
        return SparkSession(context)
    except Py4JJavaError as problem:
        why = "its log and those of its workers say why"
        raise SparkStartFailed(f"{context.master} has stopped the application; {why}") from problem


def _context(conf: SparkConf, gateway: Any = None) -> SparkContext:
    """Made in the main thread, it would handle SIGINT, by a call into the JVM in the middle of another one."""
    with ThreadPoolExecutor(1) as thread:
        made = thread.submit(lambda: SparkContext(conf=conf, gateway=gateway))
    try:
        return made.result()
    except Py4JJavaError as problem:
        message = problem.java_exception.getMessage() or problem.java_exception.toString()
        raise SparkStartFailed(f"Spark did not start: {str(message).strip().splitlines()[0]}") from problem
