"""`coordinator users`: of a server, and in a data folder."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from coordinator.cli import main
from coordinator.testing import Coordinator

SECRET = "a secret with  spaces "


def run(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(main, ["users", *arguments], input=text)


@pytest.fixture(params=["a server", "a data folder"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, str]]:
    if request.param == "a data folder":
        yield "--data-dir", str(tmp_path / "new" / "data")
        return
    with Coordinator() as server:
        yield "--bootstrap", server.bootstrap


def test_users_are_added_changed_and_deleted(where):
    done = run("add", "carol", "--password-file", "-", *where, text=f"{SECRET}\n")
    assert (done.exit_code, done.output) == (0, "carol can log in by SCRAM-SHA-256 and SCRAM-SHA-512\n")
    run("add", "a\nb", "--password-file", "-", "--mechanism", "scram-sha-256", "--iterations", "8192", *where, text="x")
    assert run("list", *where).output.splitlines() == [
        "user    mechanism      iterations",
        "'a\\nb'  SCRAM-SHA-256       8,192",
        "carol   SCRAM-SHA-256       4,096",
        "carol   SCRAM-SHA-512       4,096",
    ]
    assert (
        "no longer log in by SCRAM-SHA-512\n" in run("delete", "carol", "--mechanism", "SCRAM-SHA-512", *where).output
    )
    again = run("delete", "carol", "--mechanism", "SCRAM-SHA-512", *where)
    assert (again.exit_code, again.output) == (1, "Error: carol has no credential for SCRAM-SHA-512\n")
    assert run("delete", "carol", *where).exit_code == 0
    assert json.loads(run("list", "--json", *where).output) == [
        {"user": "a\nb", "mechanism": "SCRAM-SHA-256", "iterations": 8192}
    ]
    assert run("list", "--output", "csv", *where).output == 'user,mechanism,iterations\n"a\nb",SCRAM-SHA-256,8192\n'
    run("delete", "a\nb", *where)
    assert run("list", *where).output == "there are no users\n"


def test_the_password_is_asked_for_twice_and_not_shown(where):
    done = run("add", "carol", *where, text=f"{SECRET}\n{SECRET}\n")
    assert done.exit_code == 0, done.output
    assert SECRET.strip() not in done.output
    assert run("add", "carol", *where, text="one\nanother\n").exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "text", "reason"),
    [
        (("add", ""), "x\nx\n", "the name of a user is not empty"),
        (("add", "carol", "--password-file", "-"), "\nx\n", "the first line of the password file is empty"),
        (("add", "carol", "--password-file", "/none"), "", "No such file"),
        (("add", "carol", "--iterations", "4095"), "", "4096<=x<=16384"),
        (("add", "carol", "--mechanism", "PLAIN"), "", "is not one of"),
        (("list", "--data-dir", "/none/at/all"), "", "there is no folder"),
        (("delete", "carol", "--data-dir", "/none/at/all"), "", "there is no folder"),
        (("list", "--bootstrap", "127.0.0.1:1"), "", "cannot reach"),
    ],
)
def test_what_is_wrong_is_one_line(arguments, text, reason):
    done = run(*arguments, text=text)
    assert done.exit_code in (1, 2)
    assert reason in done.output
    assert "Traceback" not in done.output


def test_a_file_that_is_no_text_is_refused(tmp_path):
    file = tmp_path / "password"
    file.write_bytes(b"\xff\xfe\n")
    done = run("add", "carol", "--password-file", str(file), "--data-dir", str(tmp_path / "data"))
    assert done.output == "Error: the password file is not UTF-8\n"


def test_a_server_that_runs_keeps_its_folder(tmp_path):
    from tests.servers import RunningServer

    with RunningServer(tmp_path) as server:
        done = run("add", "carol", "--password-file", "-", "--data-dir", str(server.data), text="x\n")
        assert done.exit_code == 1
        assert "in use" in done.output


def test_a_dump_of_the_metadata_log_hides_credentials(tmp_path):
    folder = tmp_path / "data"
    run("add", "carol", "--password-file", "-", "--data-dir", str(folder), text="x\n")
    for form in ([], ["--json"]):
        dumped = CliRunner().invoke(main, ["log", "dump", str(folder), "--topic", "__cluster_metadata", *form])
        assert dumped.exit_code == 0, dumped.output
        for field in ("salt", "stored_key", "server_key"):
            assert dumped.output.count(f'"{field}": "[hidden]"') == 2
