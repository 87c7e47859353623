"""Where a command finds its server, and the scripts of shells."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from coordinator.cli import main
from coordinator.cli.completion import SHELLS


def told(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(main, list(arguments), env=environment)


@pytest.fixture
def profile(tmp_path: Path) -> str:
    """A file for --command-config that names a server to which nobody listens."""
    path = tmp_path / "profile.properties"
    path.write_text("bootstrap.servers=127.0.0.1:3\n", encoding="utf-8")
    return str(path)


def test_the_option_goes_before_the_environment_and_that_before_the_profile(profile: str):
    of_profile = told("topics", "list", COORDINATOR_COMMAND_CONFIG=profile)
    assert "cannot reach 127.0.0.1:3" in of_profile.output
    assert "cannot reach 127.0.0.1:3" in told("topics", "list", "--command-config", profile).output
    both = {"COORDINATOR_COMMAND_CONFIG": profile, "COORDINATOR_BOOTSTRAP": "127.0.0.1:2"}
    assert "cannot reach 127.0.0.1:2" in told("topics", "list", **both).output
    assert "cannot reach 127.0.0.1:1" in told("topics", "list", "--bootstrap", "127.0.0.1:1", **both).output


def test_a_profile_that_is_not_there_is_named(tmp_path: Path):
    result = told("topics", "list", COORDINATOR_COMMAND_CONFIG=str(tmp_path / "missing"))
    assert result.exit_code == 1
    assert "missing" in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_gets_its_script(shell: str):
    named = told("completion", shell)
    assert named.exit_code == 0
    assert "_COORDINATOR_COMPLETE" in named.output
    assert told("completion", SHELL=f"/usr/bin/{shell}").output == named.output


def test_an_unknown_shell_is_told_the_known_ones():
    result = told("completion", SHELL="/bin/sh")
    assert result.exit_code == 2
    assert "name a shell: bash, zsh, fish" in result.output


def test_verbs_and_options_are_completed():
    asked = {"_COORDINATOR_COMPLETE": "bash_complete", "COMP_WORDS": "coordinator groups reset-", "COMP_CWORD": "2"}
    result = CliRunner().invoke(main, [], prog_name="coordinator", env=asked)
    assert result.output == "plain,reset-offsets\n"
