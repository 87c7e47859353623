"""`coordinator groups why|history|diff|list|describe` and `coordinator audit tail` as processes, on stock consumers."""

import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest
from kafka import KafkaProducer

from coordinator.client.audit_topic import AuditTopic
from tests.e2e.members import STEADY_SECONDS, Member
from tests.servers import QUICK_GROUPS, RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient, join_request

REPORTED_SECONDS: Final = 5
GROUP: Final = "billing"
HOSTILE: Final = "x\x1b[2J\nall is well"
SESSION_MS: Final = 600_000
"""Of the hostile client, which sends no heartbeat: longer than all tests of this file take."""


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "coordinator.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)


def printed(*arguments: object) -> str:
    """The output, in one line, so that no test depends on where lines break."""
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    return " ".join(done.stdout.split())


def refused(*arguments: object) -> str:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    return line


def own(members: list[Member], partitions: int) -> None:
    """Wait until each of them owns something, and together they own all partitions."""

    def owned() -> bool:
        counts = [len(member.membership.partitions) if member.membership else 0 for member in members]
        return all(counts) and sum(counts) == partitions

    wait_for(owned, STEADY_SECONDS, "the consumers to own all partitions")


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A group `billing` of billing-1, after billing-2 came and was closed; and a group with a hostile client id."""
    settings = QUICK_GROUPS | {"group.max.session.timeout.ms": str(SESSION_MS)}
    with RunningServer(tmp_path_factory.mktemp("server"), settings) as server:
        with WireClient(server.bootstrap) as client:
            client.create_topic("orders", 4)
        first = Member(server.bootstrap, "orders", GROUP, client_id="billing-1")
        own([first], 4)
        second = Member(server.bootstrap, "orders", GROUP, client_id="billing-2")
        own([first, second], 4)
        second.stop()
        own([first], 4)
        producer = KafkaProducer(bootstrap_servers=server.bootstrap)
        for partition in range(4):
            producer.send("orders", b"1", partition=partition)
        producer.close()
        wait_for(lambda: len(first.committed) == 4, STEADY_SECONDS, "a commit of each partition")
        with WireClient(server.bootstrap, HOSTILE) as hostile:
            assert hostile.request(join_request("hostile", timeout_ms=SESSION_MS), 3).error_code == 0
            yield server.bootstrap
        first.stop()


@pytest.fixture(scope="module")
def tables(bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The records of the topic as the pipeline writes them."""
    from arro3.core import Array, DataType, Table
    from deltalake import write_deltalake

    root = tmp_path_factory.mktemp("tables")
    with AuditTopic(bootstrap) as topic:
        records, _ = topic.tail(1_000)
    columns: dict[str, Any] = {
        "partition": Array([record.partition for record in records], DataType.int32()),
        "offset": Array([record.offset for record in records], DataType.int64()),
        "key": Array([record.group_id.encode() or None for record in records], DataType.binary()),
        "value": Array([record.value for record in records], DataType.binary()),
    }
    write_deltalake(root / "bronze", Table.from_pydict(columns))
    return root


def test_why_tells_the_last_rebalance(bootstrap):
    text = printed("groups", "why", GROUP, "--bootstrap", bootstrap)
    assert text.startswith(f"group {GROUP}: Stable, generation ")
    assert "because billing-2 (127.0.0.1" in text
    assert "left without giving a reason" in text
    assert "of 4 partitions moved" in text
    assert "partitions had no owner for" in text
    assert "try: " not in text  # a member that was closed did nothing wrong


def test_why_tells_another_generation_with_its_members(bootstrap):
    history = json.loads(run("groups", "history", GROUP, "--bootstrap", bootstrap, "--json").stdout)
    joined = next(each for each in history if each["members"] == 2 and each["outcome"] == "stable")
    text = printed("groups", "why", GROUP, "--bootstrap", bootstrap, "--generation", joined["generation_id"], "--utc")
    assert f"generation {joined['generation_id']} began " in text
    assert "+00:00 because billing-2 (127.0.0.1" in text
    assert "member host joined after synced after owns gained lost billing-" in text


def test_why_links_to_the_live_page_where_its_address_is_known(bootstrap):
    arguments = ("groups", "why", GROUP, "--bootstrap", bootstrap)
    assert "live page" not in printed(*arguments)
    assert printed(*arguments, "--dashboard", "http://page:1", "--generation", "1").endswith(
        f"live page: http://page:1/#/groups/{GROUP}/generations/1"
    )
    assert printed(*arguments, "--dashboard", "http://page:1", "--last", "1h").endswith(
        f"http://page:1/#/groups/{GROUP}"
    )
    document = json.loads(run(*arguments, "--dashboard", "http://page:1", "--last", "1h", "--json").stdout)
    assert document["page"] == f"http://page:1/#/groups/{GROUP}"
    assert refused(*arguments, "--dashboard", "page:1") == (
        "Error: --dashboard: 'page:1' is not an address such as http://127.0.0.1:8080/"
    )


def test_the_summary_of_a_time(bootstrap):
    text = printed("groups", "why", GROUP, "--last", "1h", "--bootstrap", bootstrap)
    assert "1 × member left" in text
    assert "because billing-2 (127.0.0.1" in text
    assert "no rebalance in that time" in printed("groups", "why", GROUP, "--last", "0s", "--bootstrap", bootstrap)


def test_the_tables_tell_the_same_as_the_server(bootstrap, tables):
    for command in (["history", GROUP, "--json"], ["why", GROUP, "--generation", 2], ["diff", GROUP, 1, 2]):
        live = run("groups", *command, "--bootstrap", bootstrap)
        assert live.returncode == 0, live.stderr
        assert run("groups", *command, "--tables", tables).stdout == live.stdout


def test_diff_tells_who_came_and_what_changed_hands(bootstrap):
    history = json.loads(run("groups", "history", GROUP, "--bootstrap", bootstrap, "--json").stdout)
    both = next(each["generation_id"] for each in history if each["members"] == 2 and each["outcome"] == "stable")
    text = printed("groups", "diff", GROUP, both, both + 1, "--bootstrap", bootstrap)
    assert "went: billing-2 (127.0.0.1" in text
    assert "2 partitions changed hands" in text


def test_list_and_describe_read_the_apis_of_the_server(bootstrap):
    assert f"{GROUP} Stable consumer" in printed("groups", "list", "--bootstrap", bootstrap)
    text = printed("groups", "describe", GROUP, "--bootstrap", bootstrap)
    assert f"group {GROUP}: Stable, assigned by range, 1 member, lag 0 in 4 partitions" in text
    assert "billing-1 127.0.0.1 billing-1 4 orders[0-3]" in text
    document = json.loads(run("groups", "describe", GROUP, "--bootstrap", bootstrap, "--json").stdout)
    assert [each["partition"] for each in document["partitions"]] == [0, 1, 2, 3]


def test_tail_prints_events(bootstrap, tables):
    lines = run(
        "audit", "tail", "--group", GROUP, "--events", 2, "--bootstrap", bootstrap, "--json"
    ).stdout.splitlines()
    assert [json.loads(line)["group_id"] for line in lines] == [GROUP, GROUP]
    assert f"{GROUP}#" in printed("audit", "tail", "--bootstrap", bootstrap)
    everything = printed("audit", "tail", "--events", 1_000, "--bootstrap", bootstrap)
    assert "coordinator coordinator.started" in everything
    assert len(run("audit", "tail", "--tables", tables, "--events", 3).stdout.splitlines()) == 3


@pytest.mark.parametrize("where", ["server", "tables"])
def test_tail_says_that_a_group_has_no_events(bootstrap, tables, where):
    source = ("--bootstrap", bootstrap) if where == "server" else ("--tables", str(tables))
    command = [sys.executable, "-m", "coordinator.cli", "audit", "tail", "--group", "nosuch", *source]
    answered = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answered.returncode == 1
    assert answered.stderr == "Error: there is no event of a group nosuch: `coordinator groups list` has all\n"


def test_follow_prints_what_comes_and_ends_with_ctrl_c(bootstrap, tmp_path):
    # As a shell without job control starts what is to run in the background: SIGINT is ignored.
    in_background = ["bash", "-c", "trap '' INT; exec \"$@\"", "bash"]
    command = [sys.executable, "-m", "coordinator.cli", "audit", "tail", "--follow", "--events", "0"]
    output = tmp_path / "output"
    names = (f"followed-{number}" for number in count(1))
    with (
        output.open("w") as file,
        subprocess.Popen([*in_background, *command, "--bootstrap", bootstrap], stdout=file, stderr=file) as process,
        WireClient(bootstrap) as client,
    ):

        def something_is_printed() -> bool:
            client.join_alone(next(names))
            return "followed-" in output.read_text()

        try:
            wait_for(something_is_printed, 15, "an event", every_ms=200)
            process.send_signal(signal.SIGINT)
            assert process.wait(REPORTED_SECONDS) == 130
        finally:
            process.kill()
    assert "Traceback" not in output.read_text()


@pytest.mark.parametrize(
    "command",
    [
        ["groups", "why", "hostile"],
        ["groups", "history", "hostile"],
        ["groups", "describe", "hostile"],
        ["audit", "tail", "--group", "hostile"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("as_json", [[], ["--json"]], ids=["text", "json"])
def test_no_text_of_a_client_reaches_the_terminal_raw(bootstrap, command, as_json):
    done = run(*command, *as_json, "--bootstrap", bootstrap)
    assert (done.returncode, done.stderr) == (0, "")
    output = done.stdout
    assert "all is well" in output
    if as_json:
        for document in output.splitlines() if command[0] == "audit" else [output]:
            assert isinstance(json.loads(document), dict | list)
    assert all(character.isprintable() or character == "\n" for character in output)
    assert not any(line.startswith("all is well") for line in output.splitlines())


def test_an_unknown_group_or_generation_is_one_line(bootstrap, tables):
    for source in (["--bootstrap", bootstrap], ["--tables", tables]):
        assert refused("groups", "why", "nobody", *source) == "Error: there are no events of group nobody"
        assert refused("groups", "why", GROUP, "--generation", 99, *source).startswith(
            f"Error: group {GROUP} has no generation 99; it has 1 to "
        )
    assert refused("groups", "describe", "nobody", "--bootstrap", bootstrap).startswith(
        "Error: there is no group nobody"
    )


def test_a_folder_without_tables_is_one_line(tmp_path):
    assert refused("groups", "why", GROUP, "--tables", tmp_path) == f"Error: there is no table {tmp_path / 'bronze'}"


@pytest.mark.parametrize(
    "command",
    [["groups", "why", "g"], ["groups", "list"], ["groups", "describe", "g"], ["audit", "tail"]],
    ids=" ".join,
)
def test_a_server_that_does_not_answer_is_one_line_within_seconds(command):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        line = refused(*command, "--bootstrap", f"127.0.0.1:{silent.getsockname()[1]}")
        silent.setblocking(False)
        silent.accept()[0].close()
        with pytest.raises(BlockingIOError):  # it waited for one answer only
            silent.accept()
    found = re.search(r"did not respond within (\d+) s", line)
    assert found is not None, line
    assert int(found[1]) < REPORTED_SECONDS
    assert refused(*command, "--bootstrap", "127.0.0.1:1").startswith("Error: cannot reach 127.0.0.1:1: ")


def test_a_time_that_is_none_is_refused():
    done = run("groups", "why", GROUP, "--last", "soon")
    assert done.returncode == 2
    assert "is not a time such as 90s" in done.stderr


@pytest.mark.parametrize("columns", [80, 120])
def test_lines_fit_the_terminal(bootstrap, columns):
    output = on_terminal(columns, "groups", "why", GROUP, "--bootstrap", bootstrap)
    assert GROUP in output
    assert max(map(len, output.splitlines())) <= columns


def on_terminal(columns: int, *arguments: str) -> str:
    """What a command prints on a terminal of this width."""
    reading, writing = pty.openpty()
    command = [sys.executable, "-m", "coordinator.cli", *arguments]
    environment: dict[str, Any] = os.environ | {"COLUMNS": str(columns)}
    with subprocess.Popen(command, stdout=writing, stderr=writing, env=environment) as process:
        os.close(writing)
        output = b""
        while True:
            try:
                part = os.read(reading, 1 << 16)
            except OSError:  # Linux: the other side is closed
                break
            if not part:
                break
            output += part
        process.wait(10)
    os.close(reading)
    return output.decode().replace("\r\n", "\n")
