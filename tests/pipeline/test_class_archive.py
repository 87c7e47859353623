"""The archive of Spark's classes: who writes it, who uses it, and what a JVM that was killed leaves."""

import threading
from pathlib import Path

import pytest

from coordinator.pipeline.class_archive import ClassArchive
from coordinator.pipeline.java import require_java
from coordinator.pipeline.jvm import SparkJvm, cached_jars
from coordinator.pipeline.session import settings_for

JARS = [Path("/jars/a.jar"), Path("/jars/b.jar")]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def archive(*, is_written: bool = False, java: str = "/java", jars: list[Path] = JARS) -> ClassArchive:
    return ClassArchive(Path(java), jars, is_written=is_written)


def write(exit_code: int) -> ClassArchive:
    """As a JVM that is told where to write does."""
    written = archive(is_written=True)
    (option,) = written.options()
    Path(option.removeprefix("-XX:ArchiveClassesAtExit=")).write_bytes(b"classes")
    written.keep(exit_code)
    return written


def test_without_an_archive_the_jvm_gets_no_option():
    assert archive().options() == []


def test_what_a_run_wrote_is_used_by_the_next_one(cache: Path):
    path = write(exit_code=0).path
    assert path.is_relative_to(cache) and path.read_bytes() == b"classes"
    assert archive().options() == [f"-XX:SharedArchiveFile={path}"]


def test_what_a_killed_jvm_wrote_is_removed(cache: Path):
    folder = write(exit_code=-9).path.parent
    assert archive().options() == []
    assert list(folder.iterdir()) == []


def test_an_archive_is_replaced_by_a_whole_one_only():
    before = write(exit_code=0)
    write(exit_code=-9)
    assert before.path.read_bytes() == b"classes"
    assert archive().options() == [f"-XX:SharedArchiveFile={before.path}"]


def test_another_java_and_other_jars_have_archives_of_their_own():
    paths = {each.path for each in (archive(), archive(java="/other"), archive(jars=JARS[:1]))}
    assert len(paths) == 3


@pytest.mark.spark
def test_a_jvm_has_the_classes_that_an_earlier_one_wrote(cache: Path):
    """A JVM that finds the archive unfit goes on without it, so what it has mapped into its memory is the proof."""
    if cached_jars() is None:
        pytest.skip("the jars are not in Ivy's cache: the JVM is not started directly")
    started(cache / "first", writes_archive=True).close()
    (path,) = cache.rglob("*.jsa")
    later = started(cache / "second", writes_archive=False)
    try:
        assert str(path) in Path(f"/proc/{later.pid}/maps").read_text()
    finally:
        later.close()


def started(scratch: Path, *, writes_archive: bool) -> SparkJvm:
    """A JVM that waits for pyspark. It has not started Spark."""
    scratch.mkdir()
    with Path(scratch, "log").open("w+b") as log:
        settings = settings_for("local[1]", {})
        return SparkJvm(require_java(), settings, str(scratch), log, threading.Event(), writes_archive=writes_archive)
