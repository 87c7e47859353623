"""The programs of `java/`, built with jars that Maven brings; jars and classes are kept in the user's cache."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from coordinator.pipeline.java import JavaMissing, require_java
from tests.eos.play import GROUP
from tests.eos.rounds import SINK, SOURCE, Command
from tests.eos.word_count import APPLICATION

VERSION: Final = "4.3.1"
SOURCES: Final = Path(__file__).parent / "java"
OPTIONS: Final = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xmx128m",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
)


class ProgramsMissing(RuntimeError):
    """What the programs need is not there; the message is one line and says what to install."""


def copier() -> Command:
    """Workers of Copier.java. The transactional id of one is that of its predecessor. Raises ProgramsMissing."""
    java = _java()

    def command(bootstrap: str, number: int, alive: Path) -> list[str]:
        return [*java, "Copier", bootstrap, GROUP, f"copier-{number}", SOURCE, SINK, str(alive)]

    return command


def word_count() -> Command:
    """Instances of WordCount.java. The state of one is kept beside its file ALIVE. Raises ProgramsMissing."""
    java = _java()

    def command(bootstrap: str, number: int, alive: Path) -> list[str]:
        return [*java, "WordCount", bootstrap, APPLICATION, str(alive.with_suffix(".state")), SOURCE, SINK, str(alive)]

    return command


def _java() -> list[str]:
    try:
        java = require_java()
    except JavaMissing as missing:
        raise ProgramsMissing(str(missing)) from None
    jars = _jars()
    return [str(java), *OPTIONS, "-cp", f"{_classes(jars)}{os.pathsep}{jars}/*"]


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "kafka-jars"


def _jars() -> Path:
    """The folder with the jars; the first time Maven fetches them (some 90 MB)."""
    folder = _cache() / f"streams-{VERSION}"
    if (folder / f"kafka-streams-{VERSION}.jar").exists():
        return folder
    maven = shutil.which("mvn")
    if maven is None:
        raise ProgramsMissing(
            "Maven is missing: install it (Debian and Ubuntu: apt-get install maven; macOS: brew install maven)"
        )
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={folder}", f"-Dkafka.version={VERSION}"]
    fetch = [maven, "-q", "-B", "-f", str(SOURCES / "pom.xml"), *goal]
    fetched = subprocess.run(fetch, stdout=subprocess.PIPE, text=True, check=False)
    if fetched.returncode:
        last = fetched.stdout.strip().splitlines()[-1:] or ["no output"]
        raise ProgramsMissing(f"Maven could not fetch Kafka Streams {VERSION}: {last[0]}")
    return folder


def _classes(jars: Path) -> Path:
    """The folder with the compiled programs, of its own for each content of the sources.

    Raises:
        ProgramsMissing: there is no compiler.
        subprocess.CalledProcessError: a program does not compile.
    """
    sources = sorted(SOURCES.glob("*.java"))
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    folder = _cache() / f"eos-{VERSION}-{digest}"
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
