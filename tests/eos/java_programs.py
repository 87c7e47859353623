"""The programs of `java/` and `flink/`, built with jars of Maven; jars and classes are kept in the user's cache."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final, NamedTuple

from coordinator.pipeline.java import JavaMissing, require_java
from tests.eos.play import GROUP
from tests.eos.rounds import SINK, SOURCE, Command
from tests.eos.word_count import APPLICATION


class Build(NamedTuple):
    """A folder with sources and a pom.xml."""

    sources: Path
    jars: str
    """The folder with the jars in the cache."""
    jar: str
    """One of them, by which it is known that they are there."""
    what: str
    """What Maven brings, for messages."""


VERSION: Final = "4.3.1"
HERE: Final = Path(__file__).parent
KAFKA: Final = Build(HERE / "java", f"streams-{VERSION}", f"kafka-streams-{VERSION}.jar", f"Kafka Streams {VERSION}")
FLINK: Final = Build(
    HERE / "flink", "flink-2.0.1", "flink-connector-kafka-4.0.1-2.0.jar", "Flink 2.0.1 and its Kafka connector 4.0.1"
)
OPTIONS: Final = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
)


FLINK_OPENS: Final = tuple(
    f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in ("java.lang", "java.util", "java.util.concurrent")
)
"""What Flink's serializers reflect on."""


class ProgramsMissing(RuntimeError):
    """What the programs need is not there; the message is one line and says what to install."""


def copier() -> Command:
    """Workers of Copier.java. The transactional id of one is that of its predecessor. Raises ProgramsMissing."""
    java = _java(KAFKA, "-Xmx128m")

    def command(bootstrap: str, number: int, alive: Path) -> list[str]:
        return [*java, "Copier", bootstrap, GROUP, f"copier-{number}", SOURCE, SINK, str(alive)]

    return command


def word_count(protocol: str = "classic") -> Command:
    """Instances of WordCount.java. The state of one is kept beside its file ALIVE. Raises ProgramsMissing.

    `protocol` is that of their group: `classic`, or `streams` (KIP-1071).
    """
    java = _java(KAFKA, "-Xmx128m")

    def command(bootstrap: str, number: int, alive: Path) -> list[str]:
        state = str(alive.with_suffix(".state"))
        return [*java, "WordCount", bootstrap, APPLICATION, state, SOURCE, SINK, str(alive), protocol]

    return command


def streams_member() -> list[str]:
    """The command of StreamsMember.java, to which its arguments are added. Raises ProgramsMissing."""
    return [*_java(KAFKA, "-Xmx128m"), "StreamsMember"]


def streams_case() -> list[str]:
    """The command of StreamsCase.java, to which its arguments are added. Raises ProgramsMissing."""
    return [*_java(KAFKA, "-Xmx128m"), "StreamsCase"]


def flink_sink() -> list[str]:
    """The command of Sink.java, to which its arguments are added. Raises ProgramsMissing."""
    return _java(FLINK, "-Xmx512m", *FLINK_OPENS, "Sink")


def _java(build: Build, *options: str) -> list[str]:
    try:
        java = require_java()
    except JavaMissing as missing:
        raise ProgramsMissing(str(missing)) from None
    jars = _jars(build)
    return [str(java), *OPTIONS, "-cp", f"{_classes(build, jars)}{os.pathsep}{jars}/*", *options]


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "kafka-jars"


def _jars(build: Build) -> Path:
    """The folder with the jars; the first time Maven fetches them (some 90 MB)."""
    folder = _cache() / build.jars
    if (folder / build.jar).exists():
        return folder
    maven = shutil.which("mvn")
    if maven is None:
        raise ProgramsMissing(
            "Maven is missing: install it (Debian and Ubuntu: apt-get install maven; macOS: brew install maven)"
        )
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={folder}", f"-Dkafka.version={VERSION}"]
    fetch = [maven, "-q", "-B", "-f", str(build.sources / "pom.xml"), *goal]
    fetched = subprocess.run(fetch, stdout=subprocess.PIPE, text=True, check=False)
    if fetched.returncode:
        last = fetched.stdout.strip().splitlines()[-1:] or ["no output"]
        raise ProgramsMissing(f"Maven could not fetch {build.what}: {last[0]}")
    return folder


def _classes(build: Build, jars: Path) -> Path:
    """The folder with the compiled programs, of its own for each content of the sources.

    Raises:
        ProgramsMissing: there is no compiler.
        subprocess.CalledProcessError: a program does not compile.
    """
    sources = sorted(build.sources.glob("*.java"))
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    folder = _cache() / f"eos-{build.jars}-{digest}"
    if folder.exists():
        return folder
    javac = shutil.which("javac")
    if javac is None:
        raise ProgramsMissing(
            "javac is missing: install a JDK, 17 or newer (Debian and Ubuntu: apt-get install openjdk-17-jdk-headless)"
        )
    scratch = folder.with_suffix(f".{os.getpid()}")
    subprocess.run([javac, "-cp", f"{jars}/*", "-d", str(scratch), *map(str, sources)], check=True)
    scratch.rename(folder)
    return folder
