"""`coordinator groups` on logs of brokers that somebody sent, without a cluster in reach."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from coordinator.cli.groups import command
from tests.observe.recordings import recordings

UTC = ("--log-zone", "UTC", "--utc")


def written(folder: Path, name: str) -> str:
    """The log of a recording, in a file."""
    (found,) = [recording for recording in recordings() if recording.name == name]
    path = folder / "server.log"
    path.write_bytes(found.log)
    return str(path)


def run(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(command, list(arguments), input=stdin, env={"COLUMNS": "100"})


def told(*arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def test_why_names_the_line_that_says_it(tmp_path: Path):
    log = written(tmp_path, "kill9/3.9.1-classic")
    said = told("why", "g-kill9", "--broker-log", log, *UTC, "--generation", "4")
    assert "because nothing was heard of billing-2 for its session timeout" in said
    assert "Seen: broker 1 logged it at 2026-11-28 08:" in said and "(server.log:" in said
    assert "Logs alone do not tell who owns which partitions" in said


def test_the_standard_input_is_a_log_too(tmp_path: Path):
    log = Path(written(tmp_path, "kill9/3.9.1-classic")).read_bytes()
    result = run("why", "g-kill9", "--broker-log", "-", *UTC, "--generation", "4", stdin=log)
    assert result.exit_code == 0 and "(standard input:" in result.output


def test_json_has_the_cause_the_member_and_the_evidence_of_each_statement(tmp_path: Path):
    log = written(tmp_path, "kill9/4.3.1-classic")
    document: dict[str, Any] = json.loads(run("why", "g-kill9", "--broker-log", log, *UTC, "--json").output)
    generation = next(each for each in document["rebalances"] if each["generation_id"] == 3)
    assert generation["cause"] == "session_expired"
    assert generation["member"]["client_id"] == "billing-2"
    assert generation["partitions_moved"] is None
    for statement in generation["evidence"]:
        assert statement["known"] in ("seen", "derived", "unknown")
        for place in statement["places"]:
            assert (place["source"], place["name"]) == ("broker_log", log)
            assert place["position"] > 0 and place["broker_id"] == 1
    assert any(statement["places"] for statement in generation["evidence"])


def test_list_names_the_groups_of_a_log(tmp_path: Path):
    log = written(tmp_path, "k_kill9/4.3.1-consumer")
    rows = json.loads(run("list", "--broker-log", log, *UTC, "--json").output)
    assert [(row["group_id"], row["group_type"]) for row in rows][:1] == [("g-k_kill9", "consumer")]
    assert rows[0]["rebalances"] > 1


def test_history_and_describe_tell_by_lines(tmp_path: Path):
    log = written(tmp_path, "static_restart/3.9.1-classic")
    assert "because " in told("history", "g-static_restart", "--broker-log", log, *UTC)
    assert "by its lines" in told("describe", "g-static_restart", "--broker-log", log, *UTC)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("why", "g-kill9", "--log-zone", "UTC"), "give these with --broker-log"),
        (("why", "g-kill9", "--broker-log", "{log}", "--log-zone", "Nowhere/At_all"), "is not a time zone such as"),
        (("why", "g-kill9", "--broker-log", "{log}", "--log-zone", "+25:00"), "is not a time zone such as"),
        (("why", "g-kill9", "--broker-log", "{log}", "--tables", "{folder}"), "--tables cannot be combined with logs"),
        (("why", "nobody", "--broker-log", "{log}"), "nothing tells of group nobody"),
        (("why", "g-kill9", "--broker-log", "{folder}/none.log"), "no such file"),
    ],
)
def test_wrong_use_is_one_line(arguments: tuple[str, ...], said: str, tmp_path: Path):
    log = written(tmp_path, "kill9/3.9.1-classic")
    result = run(*(argument.format(log=log, folder=tmp_path) for argument in arguments))
    assert result.exit_code != 0
    assert said in result.output, result.output
    assert "Traceback" not in result.output


def test_a_log_without_a_zone_says_how_it_is_read(tmp_path: Path):
    log = written(tmp_path, "kill9/3.9.1-classic")
    assert "the times of the log have no zone" in told("why", "g-kill9", "--broker-log", log)
    assert "have no zone" not in told("why", "g-kill9", "--broker-log", log, *UTC)
