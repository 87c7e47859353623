"""Finds the Java that Spark needs, or reports in one line what to install.

This file imports only the standard library, because `make` runs it before the packages are installed.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

OLDEST_JAVA: Final = 17
"""Spark 4.0 dropped Java 8 and 11 (its migration guide, "Upgrading from Core 3.5 to 4.0")."""

INSTALL_HINT: Final = (
    f"install Java {OLDEST_JAVA} or newer (Debian and Ubuntu: apt-get install openjdk-17-jre-headless; "
    "macOS: brew install openjdk@17) or point JAVA_HOME at one"
)


class JavaMissing(RuntimeError):
    """There is no Java that Spark can run on. The message is one line that says what to install."""


def require_java(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the `java` that Spark will start: that of JAVA_HOME if it is set, else that on PATH, as in spark-class.

    Raises:
        JavaMissing: there is none, it does not run, or it is older than OLDEST_JAVA.
    """
    java = _find(environment)
    version = _major_version(java)
    if version < OLDEST_JAVA:
        raise JavaMissing(f"Java is too old: {java} is Java {version}; {INSTALL_HINT}")
    return java


def _find(environment: Mapping[str, str]) -> Path:
    if java_home := environment.get("JAVA_HOME"):
        java = Path(java_home, "bin", "java")
        if not os.access(java, os.X_OK):
            raise JavaMissing(f"Java is missing: JAVA_HOME is {java_home}, which has no bin/java; {INSTALL_HINT}")
        return java
    on_path = shutil.which("java", path=environment.get("PATH"))
    if on_path is None:
        raise JavaMissing(f"Java is missing: there is no `java` on the PATH; {INSTALL_HINT}")
    return Path(on_path)


def _major_version(java: Path) -> int:
    try:
        shown = _version_text(java) or _version_text(java) or ""
    except (OSError, subprocess.SubprocessError) as error:
        # macOS ships a `java` that only prints where to download Java, and exits with an error.
        raise JavaMissing(f"Java is missing: {java} does not run ({error}); {INSTALL_HINT}") from error
    found = re.search(r'version "(?:1\.)?(\d+)', shown)  # "1.8.0_392" is Java 8
    if found is None:
        raise JavaMissing(f"Java is missing: {java} -version does not name a version; {INSTALL_HINT}")
    return int(found.group(1))


def _version_text(java: Path) -> str | None:
    """What `java -version` prints; None if Ctrl-C ended it, which would look as if there were no Java.

    Raises:
        OSError, SubprocessError: it does not run.
    """
    try:
        # In a session of its own, so that Ctrl-C in a terminal ends it in its first moment at most.
        return subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=30, check=True, start_new_session=True
        ).stderr
    except subprocess.CalledProcessError as error:
        if error.returncode not in (-signal.SIGINT, 128 + signal.SIGINT):
            raise
        return None


if __name__ == "__main__":
    try:
        require_java()
    except JavaMissing as missing:
        sys.exit(str(missing))
