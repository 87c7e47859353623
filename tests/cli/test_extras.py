"""The commands in an environment that has this package without its extras."""

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path
from typing import Final

import pytest

from coordinator.extras import EXTRAS
from tests.waiting import wait_for

ROOT: Final = Path(__file__).resolve().parents[2]
OF_EXTRAS: Final = tuple(EXTRAS)
TLS: Final = ("--set", "listeners=SSL://127.0.0.1:0")
LOGINS: Final = ("--set", "listeners=SASL_PLAINTEXT://127.0.0.1:0", "--set")
SCRAM: Final = (*LOGINS, "sasl.enabled.mechanisms=SCRAM-SHA-256")
TOKENS: Final = (*LOGINS, "sasl.enabled.mechanisms=OAUTHBEARER")
WITHOUT_POSIX: Final = (
    "import sys; sys.modules.update(dict.fromkeys(('fcntl', 'resource', 'uvloop')));"
    "from coordinator.cli import main; main()"
)
PORT: Final = "127.0.0.1:0"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Python finds what a wheel without extras installs, and nothing else."""
    packages = tmp_path_factory.mktemp("packages")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for requirement in project["dependencies"]:
        package = distribution(re.split("[<>=]", requirement)[0])
        for name in {file.parts[0] for file in package.files or () if ".." not in file.parts}:
            (packages / name).symlink_to(str(package.locate_file(name)))
    return {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{packages}"}


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-S", "-m", "coordinator.cli", *arguments]  # -S: without site-packages
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_the_environment_has_no_extras(environment):
    probe = "import importlib.util, sys; print([n for n in sys.argv[1:] if importlib.util.find_spec(n)])"
    command = [sys.executable, "-S", "-c", probe, *OF_EXTRAS]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


@pytest.mark.parametrize("verb", ["serve", "groups", "log", "audit", "dashboard", "pipeline", "demo", "testing"])
def test_help_needs_no_extra_or_names_it(environment, verb):
    answered = run(environment, verb, "--help")
    assert "Traceback" not in answered.stderr
    if answered.returncode:
        assert len(answered.stderr.splitlines()) == 1, answered.stderr
        assert "pip install 'kafka-group-coordinator[" in answered.stderr


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (("testing",), "admin"),
        (("users", "list", "--bootstrap", "127.0.0.1:1"), "security"),
        (("dashboard", "--bootstrap", "127.0.0.1:1"), "dashboard"),
        (("pipeline", "run", "--bootstrap", "127.0.0.1:1", "--tables", "TABLES"), "spark"),
        (("pipeline", "show", "--tables", "TABLES"), "tables"),
        (("groups", "why", "g", "--tables", "TABLES"), "tables"),
        (("demo",), "demo"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value[:2]),
)
def test_a_command_names_the_extra_that_it_needs_in_one_line(environment, tmp_path, arguments, extra):
    tables = tmp_path / "tables"
    (tables / "bronze" / "_delta_log").mkdir(parents=True)
    answered = run(environment, *(str(tables) if argument == "TABLES" else argument for argument in arguments))
    assert answered.returncode == 1, answered.stdout
    (line,) = answered.stderr.splitlines()
    assert line.endswith(f"pip install 'kafka-group-coordinator[{extra}]'")


@pytest.mark.parametrize(
    ("arguments", "package", "extra"),
    [
        (("--set", f"admin.listener={PORT}"), "uvicorn", "admin"),
        (TLS, "cryptography", "security"),
        (SCRAM, "scramp", "security"),
        (TOKENS, "joserfc", "security"),
    ],
    ids=["admin port", "TLS", "SCRAM", "OAUTHBEARER"],
)
def test_a_server_names_the_extra_that_its_settings_need(environment, tmp_path, arguments, package, extra):
    served = run(environment, "serve", "--data-dir", str(tmp_path / "data"), *arguments)
    checked = run(environment, "config", "check", *arguments)
    assert (served.returncode, checked.returncode) == (2, 1), (served.stderr, checked.stdout)
    for answered in (served, checked):
        (line,) = answered.stderr.splitlines()
        assert line.endswith(f"needs the package {package}: pip install 'kafka-group-coordinator[{extra}]'")


def test_a_client_with_tls_names_the_extra(environment, tmp_path):
    settings = tmp_path / "client.properties"
    settings.write_text("security.protocol=SSL\n")
    answered = run(environment, "groups", "list", "--bootstrap", "127.0.0.1:1", "--command-config", str(settings))
    assert answered.returncode != 0
    (line,) = answered.stderr.splitlines()
    assert line.endswith("TLS needs the package cryptography: pip install 'kafka-group-coordinator[security]'")


def test_each_package_of_an_extra_is_known(environment):
    """So that each one that is missing is a line."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    modules = {"delta-spark": "delta", "kafka-python": "kafka"}
    listed = {
        modules.get(name := re.split("[<>=]", requirement)[0], name.replace("-", "_")): extra
        for extra, requirements in project["optional-dependencies"].items()
        if extra not in ("demo", "dashboard", "dev", "test")
        for requirement in requirements
        if not requirement.startswith("kafka-group-coordinator")
    }
    assert listed.items() <= EXTRAS.items()


def test_the_server_runs_without_extras(environment, tmp_path):
    ready = tmp_path / "ready.json"
    command = [sys.executable, "-S", "-m", "coordinator.cli", "serve", "--listen", "127.0.0.1:0"]
    command += ["--data-dir", str(tmp_path / "data"), "--ready-file", str(ready)]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as server:
        wait_for(ready.exists, 30, "the server")
        server.terminate()
        assert server.wait(30) == 0


@pytest.mark.parametrize("arguments", [("serve", "--help"), ("testing",), ("log", "--help"), ("users", "--help")])
def test_where_the_modules_of_posix_are_missing_it_is_one_line(arguments):
    """As on Windows."""
    verb = arguments[0]
    command = [sys.executable, "-c", WITHOUT_POSIX, *arguments]
    answered = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert answered.returncode == 1, answered.stdout
    (line,) = answered.stderr.splitlines()
    assert re.fullmatch(rf"Error: `coordinator {verb}` does not run here: it needs Linux, .*", line)


@pytest.mark.parametrize("verb", ["acls", "audit", "config", "groups"])
def test_commands_for_a_server_elsewhere_need_no_posix(verb):
    command = [sys.executable, "-c", WITHOUT_POSIX, verb, "--help"]
    assert subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0
