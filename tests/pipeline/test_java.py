from pathlib import Path

import pytest

from coordinator.pipeline.java import JavaMissing, require_java


def java_that_says(folder: Path, text: str, exit_code: int = 0) -> dict[str, str]:
    java = folder / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho '{text}' >&2\nexit {exit_code}\n")
    java.chmod(0o755)
    return {"JAVA_HOME": str(folder)}


@pytest.mark.parametrize("version", ["17.0.15", "21", "25-ea"])
def test_java_17_and_newer_will_do(tmp_path: Path, version: str):
    environment = java_that_says(tmp_path, f'openjdk version "{version}" 2025-04-15')
    assert require_java(environment) == tmp_path / "bin" / "java"


@pytest.mark.parametrize(("version", "called"), [("11.0.2", "11"), ("1.8.0_392", "8")])
def test_an_older_java_is_named_with_what_to_install(tmp_path: Path, version: str, called: str):
    environment = java_that_says(tmp_path, f'openjdk version "{version}"')
    with pytest.raises(JavaMissing, match=f"is Java {called}; install Java 17 or newer") as raised:
        require_java(environment)
    assert "\n" not in str(raised.value)


def test_a_java_that_only_says_where_to_get_one_is_no_java(tmp_path: Path):
    environment = java_that_says(tmp_path, "The operation could not be completed.", exit_code=1)
    with pytest.raises(JavaMissing, match="does not run"):
        require_java(environment)


def test_ctrl_c_while_java_is_asked_does_not_make_it_missing(tmp_path: Path):
    environment = java_that_says(tmp_path, 'openjdk version "17.0.15"')
    java, asked = tmp_path / "bin" / "java", tmp_path / "asked"
    first = f"[ -e {asked} ] || {{ touch {asked}; trap - INT; kill -INT $$; }}"
    java.write_text(java.read_text().replace("#!/bin/sh\n", f"#!/bin/sh\n{first}\n"))
    assert require_java(environment) == java
    assert asked.exists()


def test_java_home_wins_over_the_path_even_when_it_is_wrong(tmp_path: Path):
    with pytest.raises(JavaMissing, match=r"JAVA_HOME is .*, which has no bin/java; install"):
        require_java({"JAVA_HOME": str(tmp_path), "PATH": "/usr/bin"})


def test_no_java_anywhere(tmp_path: Path):
    with pytest.raises(JavaMissing, match="no `java` on the PATH; install Java 17 or newer"):
        require_java({"PATH": str(tmp_path)})
