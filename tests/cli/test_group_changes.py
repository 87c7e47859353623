"""Commands that change groups, offsets and topics, against a real server."""

import json
from pathlib import Path
from uuid import uuid4

import pytest
from click.testing import CliRunner, Result

from coordinator.cli import main
from tests.backup.folders import commit, committed
from tests.log.batches import batch
from tests.servers import RunningServer
from tests.wire_client import WireClient

TOPIC = "orders"
RECORDS = 10


@pytest.fixture(scope="module")
def topic_server(server: RunningServer) -> RunningServer:
    """A server with a topic of two partitions; one of them has records at 0, 1,000, 2,000 … ms."""
    with WireClient(server.bootstrap) as client:
        client.create_topic(TOPIC, 2)
        for number in range(RECORDS):
            assert client.produce(TOPIC, bytes(batch("value", timestamp_ms=number * 1000))).error_code == 0
    return server


@pytest.fixture
def group(topic_server: RunningServer) -> str:
    """A group without members that has committed 4."""
    group_id = f"group-{uuid4()}"
    with WireClient(topic_server.bootstrap) as client:
        commit(client, 4, group_id)
    return group_id


def run(server: RunningServer, *arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(main, [*arguments, "--bootstrap", server.bootstrap], input=text)


def now(server: RunningServer, group_id: str) -> int:
    with WireClient(server.bootstrap) as client:
        return committed(client, group_id)


@pytest.mark.parametrize(
    ("target", "offset"),
    [
        (("--to-earliest",), 0),
        (("--to-latest",), RECORDS),
        (("--to-offset", "7"), 7),
        (("--to-offset", "9000"), RECORDS),
        (("--to-datetime", "1970-01-01T00:00:05"), 5),
        (("--by-duration", "P1D"), RECORDS),
        (("--shift-by", "3"), 7),
        (("--shift-by", "-3"), 1),
        (("--shift-by", "-9"), 0),
    ],
)
def test_offsets_are_reset_when_that_is_executed(
    topic_server: RunningServer, group: str, target: tuple[str, ...], offset: int
):
    shown = run(topic_server, "groups", "reset-offsets", group, *target)
    assert shown.exit_code == 0, shown.output
    assert shown.output.splitlines()[1].split() == [TOPIC, "0", "4", str(offset)]
    assert shown.output.endswith("nothing is changed yet: add --execute\n")
    assert now(topic_server, group) == 4
    done = run(topic_server, "groups", "reset-offsets", group, *target, "--execute", "--output", "json")
    assert json.loads(done.output)[0] == {
        "group": group,
        "topic": TOPIC,
        "partition": 0,
        "before": 4,
        "after": offset,
    }
    assert now(topic_server, group) == offset


def test_a_partition_without_a_committed_offset_is_not_shifted(topic_server: RunningServer, group: str):
    result = run(topic_server, "groups", "reset-offsets", group, "--shift-by", "1", "--topic", f"{TOPIC}:1")
    assert (result.exit_code, result.output) == (
        1,
        f"Error: {TOPIC}-1 has no committed offset that could be shifted\n",
    )


def test_a_group_with_members_is_told_to_be_stopped_first(topic_server: RunningServer):
    group_id = f"group-{uuid4()}"
    with WireClient(topic_server.bootstrap) as client:
        client.join_alone(group_id)
        result = run(topic_server, "groups", "reset-offsets", group_id, "--to-latest", "--topic", TOPIC)
        assert f"group {group_id} has a member: stop its consumers before --execute" in result.output
        refused = run(topic_server, "groups", "reset-offsets", group_id, "--to-latest", "--topic", TOPIC, "--execute")
        assert refused.exit_code == 1
        assert "UNKNOWN_MEMBER_ID" in refused.output
        gone = run(topic_server, "groups", "remove-members", group_id, "--all")
        assert (gone.exit_code, gone.output) == (0, f"removed 1 member from group {group_id}\n")
        assert run(topic_server, "groups", "remove-members", group_id, "--all").output.endswith("has no members\n")


def test_what_is_exported_is_imported(topic_server: RunningServer, group: str, tmp_path: Path):
    exported = run(topic_server, "offsets", "export", group)
    assert exported.output == f"{TOPIC},0,4\n"
    assert f"{group},{TOPIC},0,4\n" in run(topic_server, "offsets", "export", "--all-groups").output
    file = tmp_path / "offsets.csv"
    file.write_text(exported.output.replace("4", "6"), encoding="utf-8")
    shown = run(topic_server, "offsets", "import", str(file), "--group", group)
    assert shown.output.endswith("nothing is changed yet: add --execute\n")
    assert now(topic_server, group) == 4
    done = run(topic_server, "offsets", "import", str(file), "--group", group, "--execute", "--output", "csv")
    assert done.output == f"group,topic,partition,before,after\n{group},{TOPIC},0,4,6\n"
    assert now(topic_server, group) == 6
    same = run(topic_server, "groups", "reset-offsets", group, "--from-file", "-", text=f"{TOPIC},0,2\n")
    assert same.output.splitlines()[1].split() == [TOPIC, "0", "6", "2"]


def test_an_import_changes_nothing_if_one_of_the_groups_has_members(
    topic_server: RunningServer, group: str, tmp_path: Path
):
    busy = f"zz-{group}"  # it would be the last one
    file = tmp_path / "offsets.csv"
    file.write_text(f"{group},{TOPIC},0,6\n{busy},{TOPIC},0,6\n", encoding="utf-8")
    with WireClient(topic_server.bootstrap) as client:
        client.join_alone(busy)
        refused = run(topic_server, "offsets", "import", str(file), "--execute")
        shown = run(topic_server, "offsets", "import", str(file))
    told = f"1 group with members: stop the consumers of {busy} first"
    assert (refused.exit_code, refused.output) == (1, f"Error: {told}; nothing was changed\n")
    assert shown.output.endswith(f"{told}\n")
    assert now(topic_server, group) == 4


def test_a_group_is_deleted_when_that_is_confirmed(topic_server: RunningServer, group: str):
    asked = run(topic_server, "groups", "delete", group, text="n\n")
    assert f"delete group {group} with 1 committed offset? [y/N]: n\nnothing is deleted\n" in asked.output
    assert now(topic_server, group) == 4
    done = run(topic_server, "groups", "delete", group, "--yes")
    assert done.output == f"deleted group {group} with 1 committed offset\n"
    missing = run(topic_server, "groups", "delete", group, "--yes")
    assert missing.exit_code == 1
    assert f"cannot delete group {group}: GROUP_ID_NOT_FOUND" in missing.output


def test_a_topic_from_its_creation_to_its_deletion(server: RunningServer):
    name = f"topic-{uuid4()}"
    assert run(server, "topics", "create", name, "--validate-only").output == f"could create topic {name}\n"
    made = run(server, "topics", "create", name, "--partitions", "2", "--config", "retention.ms=1000")
    assert made.output == f"created topic {name}\n"
    again = run(server, "topics", "create", name)
    assert (again.exit_code, again.output) == (
        1,
        f"Error: cannot create topic {name}: Topic '{name}' already exists.\n",
    )
    described = run(server, "topics", "describe", name)
    first, config, _, *partitions = described.output.splitlines()
    assert first.startswith(f"topic {name}: id ")
    assert first.endswith(", 2 partitions")
    assert config == "  retention.ms=1000"
    assert [line.split() for line in partitions] == [["0", "1", "1", "1", "0", "0"], ["1", "1", "1", "1", "0", "0"]]
    assert f"{name},2,1,False\n" in run(server, "topics", "list", "--output", "csv").output
    assert run(server, "topics", "delete", name, "--yes").output == f"deleted {name}\n"
    assert "UNKNOWN_TOPIC_OR_PARTITION" in run(server, "topics", "describe", name).output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("groups", "reset-offsets", "g"), "give exactly one of --to-earliest, --to-latest"),
        (("groups", "reset-offsets", "g", "--to-latest", "--to-earliest"), "give exactly one of"),
        (("groups", "reset-offsets", "g", "--to-latest", "--topic", "t:x"), "t:x is not TOPIC or TOPIC:PARTITION"),
        (("groups", "reset-offsets", "g", "--to-latest"), "g has no committed offsets"),
        (("groups", "reset-offsets", "g", "--to-datetime", "now"), "now is no time such as"),
        (("groups", "reset-offsets", "g", "--by-duration", "1h"), "1h is no duration such as"),
        (("groups", "remove-members", "g"), "name members, or give --all"),
        (("groups", "remove-members", "g", "m", "--all"), "name members, or give --all"),
        (("groups", "remove-members", "g", "m"), "group g has no member m; nobody was removed"),
        (("offsets", "export"), "name groups, or give --all-groups"),
        (("offsets", "export", "g"), "group g has no committed offsets"),
        (("offsets", "import", "-"), "- has no offsets"),
        (("topics", "create", "t", "--config", "x"), "--config x is not KEY=VALUE"),
        (("topics", "create", "t", "--config", "x=y"), "cannot create topic t: "),
        (("topics", "create", "a b"), "cannot create topic a b: "),
        (("topics", "delete", "missing", "--yes"), "cannot delete topic missing: "),
    ],
)
def test_a_wrong_use_is_told_in_one_line(server: RunningServer, arguments: tuple[str, ...], told: str):
    result = run(server, *arguments, text="")
    assert result.exit_code in (1, 2)
    assert told in result.output
    assert "Traceback" not in result.output
