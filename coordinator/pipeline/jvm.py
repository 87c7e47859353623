"""Starts the JVM of Spark, and ends it whatever happens.

`spark-submit` starts a JVM that only builds a command line, and a second one that resolves the packages again at each
start. If the jars are here already, the JVM is started directly, which takes half the time. It is also a direct child
then, so it can be stopped at any time, even before it listens.
"""

import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import BinaryIO, Final

import pyspark
from pyspark.serializers import UTF8Deserializer, read_int

from coordinator.pipeline.class_archive import WRITE_SECONDS, ClassArchive

PACKAGES: Final = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "io.delta:delta-spark_4.2_2.13:4.4.0",
)
"""They go with the pinned pyspark and delta-spark. Of Delta there is a build for each minor version of Spark."""

EXCLUDED_PACKAGES: Final = (
    "at.yawk.lz4:lz4-java",
    "com.fasterxml.jackson.*:*",
    "com.github.luben:zstd-jni",
    "com.google.code.findbugs:jsr305",
    "commons-pool:commons-pool",
    "io.airlift:aircompressor",
    "javax.annotation:javax.annotation-api",
    "org.antlr:antlr4-runtime",
    "org.apache.hadoop:hadoop-client-api",
    "org.apache.hadoop:hadoop-client-runtime",
    "org.apache.logging.log4j:*",
    "org.apache.parquet:*",
    "org.locationtech.jts:jts-core",
    "org.roaringbitmap:*",
    "org.scala-lang.modules:scala-parallel-collections_2.13",
    "org.slf4j:slf4j-api",
    "org.xerial.snappy:snappy-java",
    # Clients of a catalog that the job never asks.
    "io.delta:delta-kernel-unitycatalog",
    "io.unitycatalog:*",
)
"""Dependencies of the two that the pyspark wheel already contains, or that nothing uses."""

JARS: Final = (
    "io.delta_delta-kernel-api-4.4.0.jar",
    "io.delta_delta-kernel-defaults-4.4.0.jar",
    "io.delta_delta-spark_4.2_2.13-4.4.0.jar",
    "io.delta_delta-storage-4.4.0.jar",
    "org.apache.commons_commons-pool2-2.13.1.jar",
    "org.apache.kafka_kafka-clients-3.9.2.jar",
    "org.apache.spark_spark-sql-kafka-0-10_2.13-4.2.0.jar",
    "org.apache.spark_spark-token-provider-kafka-0-10_2.13-4.2.0.jar",
)
"""What PACKAGES without EXCLUDED_PACKAGES resolve to, by the file names of Ivy's cache."""

EXIT_SECONDS: Final = 30
_POLL_SECONDS: Final = 0.05
_LAST_LINES: Final = 15

OPENED_PACKAGES: Final = (
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)
"""As spark-submit passes them (org.apache.spark.launcher.JavaModuleOptions of Spark 4.2)."""

JAVA_OPTIONS: Final = (
    "-Xmx480m",  # with the code cache, metaspace and stacks the process stays below 1 GB
    "-XX:MaxMetaspaceSize=256m",
    "-XX:ReservedCodeCacheSize=96m",
    "-XX:MaxDirectMemorySize=128m",
    "-XX:TieredStopAtLevel=1",  # C2 would compete with the job for the CPU: a third slower over 300,000 events
    "-XX:+UseSerialGC",
    "-XX:-UsePerfData",
    "-Xshare:auto",
    "-Duser.timezone=UTC",
    "-Djdk.reflect.useDirectMethodHandle=false",
    "-Dio.netty.tryReflectionSetAccessible=true",
)


class SparkStartFailed(RuntimeError):
    """The JVM of Spark did not start. The message contains the last lines of its output."""


class Interrupted(RuntimeError):
    """The program was asked to stop while Spark started."""


class SparkJvm:
    """The JVM: a child with a process group of its own, so that Ctrl-C in a terminal does not reach it."""

    def __init__(
        self,
        java: Path,
        settings: dict[str, str],
        scratch: str,
        output: BinaryIO,
        stop: threading.Event,
        *,
        writes_archive: bool = False,
    ) -> None:
        """Start it and wait until it listens; `settings` are those of Spark, to which those for the jars are added.

        With `writes_archive` it writes the archive of its classes when it exits.

        Raises:
            SparkStartFailed: it ended instead.
            Interrupted: `stop` was set meanwhile.
        """
        listens_file = Path(scratch, "gateway")
        self._archive = ClassArchive(java, cached_jars() or [], is_written=writes_archive)
        command = [str(java), *JAVA_OPTIONS, *self._archive.options(), f"-Djava.io.tmpdir={scratch}"]
        command += [f"--add-opens={package}=ALL-UNNAMED" for package in OPENED_PACKAGES]
        command += _gateway(settings)
        environment = {**os.environ, "SPARK_CONNECT_MODE": "0", "_PYSPARK_DRIVER_CONN_INFO_PATH": str(listens_file)}
        if "spark.driver.host" in settings:
            # Otherwise results of tasks are fetched by the host name.
            environment["SPARK_LOCAL_IP"] = settings["spark.driver.host"]
        environment["SPARK_HOME"] = str(spark_home())
        # The JVM exits when its stdin closes, so it does not outlive this process, even if that is killed.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            cwd=scratch,
            env=environment,
            start_new_session=True,
        )
        try:
            while not listens_file.exists():
                if stop.wait(_POLL_SECONDS):
                    raise Interrupted
                if self._process.poll() is not None:
                    raise SparkStartFailed(_end_of(output))
            with listens_file.open("rb") as file:
                self.port: int = read_int(file)
                self.secret: str = UTF8Deserializer().loads(file)
        except BaseException:
            self.kill()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def close(self) -> None:
        """Let it exit; kill it if that takes longer than EXIT_SECONDS, or WRITE_SECONDS if it writes its archive."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(WRITE_SECONDS if self._archive.is_written else EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
        self._archive.keep(self._process.returncode)

    def kill(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def is_local(master: str) -> bool:
    """Whether a master has no other processes: `local`, `local[2]`, `local[*]`, but not `local-cluster[...]`."""
    return master == "local" or master.startswith("local[")


def _gateway(settings: dict[str, str]) -> list[str]:
    """The arguments of `java` after its own options, for a JVM that waits for pyspark.

    Java options (spark.driver.extraJavaOptions, spark.driver.memory) are for the JVM that spark-submit would start.
    """
    jars, classpath = cached_jars(), str(spark_home() / "jars" / "*")
    more = settings.get("spark.jars.packages")
    if jars is not None and not more:
        names = [str(jar) for jar in jars]
        # The executors fetch the jars from the driver. A local session has them on its class path.
        if not is_local(settings["spark.master"]):
            settings["spark.jars"] = ",".join([*names, *filter(None, [settings.get("spark.jars")])])
        properties = [f"-D{name}={value}" for name, value in settings.items()]
        path = os.pathsep.join([*names, classpath])
        return [*properties, "-cp", path, "org.apache.spark.api.python.PythonGatewayServer"]
    settings["spark.jars.packages"] = ",".join([*PACKAGES, *filter(None, [more])])
    excluded = [*EXCLUDED_PACKAGES, *filter(None, [settings.get("spark.jars.excludes")])]
    settings["spark.jars.excludes"] = ",".join(excluded)
    options = [option for name, value in settings.items() for option in ("--conf", f"{name}={value}")]
    return ["-cp", classpath, "org.apache.spark.deploy.SparkSubmit", *options, "pyspark-shell"]


def cached_jars() -> list[Path] | None:
    """The jars of PACKAGES where an earlier start has put them; None if one of them is missing."""
    folder = Path.home() / ".ivy2.5.2" / "jars"
    jars = [folder / name for name in JARS]
    return jars if all(jar.exists() for jar in jars) else None


def spark_home() -> Path:
    return Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)


def _end_of(output: BinaryIO) -> str:
    output.seek(0)
    last_lines = output.read().decode(errors="replace").strip().splitlines()[-_LAST_LINES:]
    return "\n".join(["Spark did not start. The end of its output:", *last_lines])
