"""A real HDFS on this machine: a name node and a data node in one JVM, with jars that Maven brings."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final, Self

from coordinator.pipeline.jvm import spark_home
from tests.pipeline.jvm_process import JvmProcess

POM: Final = Path(__file__).parent / "pom.xml"
START_SECONDS: Final = 60


class HdfsMissing(RuntimeError):
    """What an HDFS needs is not there; the message is one line and says what to install."""


def hadoop_version() -> str:
    """The version of Hadoop's client in the pyspark wheel."""
    (jar,) = (spark_home() / "jars").glob("hadoop-client-api-*.jar")
    return jar.stem.removeprefix("hadoop-client-api-")


def hdfs_jars() -> Path:
    """The folder with the jars; the first time Maven fetches them (some 80 MB). Raises HdfsMissing."""
    version = hadoop_version()
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    folder = cache / "hadoop-minicluster-jars" / version
    if all(list(folder.glob(f"{name}-*.jar")) for name in ("hadoop-client-minicluster", "junit-jupiter-api")):
        return folder
    maven = shutil.which("mvn")
    if maven is None:
        raise HdfsMissing(
            "Maven is missing: install it (Debian and Ubuntu: apt-get install maven; macOS: brew install maven)"
        )
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={folder}", f"-Dhadoop.version={version}"]
    fetched = subprocess.run([maven, "-q", "-B", "-f", str(POM), *goal], stdout=subprocess.PIPE, text=True, check=False)
    if fetched.returncode:
        last = fetched.stdout.strip().splitlines()[-1:] or ["no output"]
        raise HdfsMissing(f"Maven could not fetch the mini cluster of Hadoop {version}: {last[0]}")
    return folder


class Hdfs:
    """Leaving its context ends it; its data goes with the folder."""

    def __init__(self, folder: Path) -> None:
        """Raises HdfsMissing."""
        self._classpath = [f"{hdfs_jars()}/*"]
        self._folder = folder
        self._process: JvmProcess | None = None
        self.uri = ""

    def __enter__(self) -> Self:
        configuration = self._folder / "hdfs.xml"
        manager = ("org.apache.hadoop.mapreduce.MiniHadoopClusterManager", "-nomr", "-format")
        ports = ("-nnport", "0", "-writeConfig", str(configuration))
        process = JvmProcess(self._folder, self._classpath, "256m", *manager, *ports)
        try:
            text = process.wait_for_text(configuration, "</configuration>", START_SECONDS)
        except BaseException:
            process.__exit__()
            raise
        self._process = process
        (self.uri,) = re.findall(r"<name>fs\.defaultFS</name><value>(hdfs://[^<]+)", text)
        return self

    def __exit__(self, *problem: object) -> None:
        assert self._process is not None
        self._process.__exit__(*problem)
