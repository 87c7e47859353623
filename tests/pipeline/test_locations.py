"""What --tables names."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from coordinator.cli import main
from coordinator.pipeline.locations import InvalidLocation, location


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tables", Path("tables")),
        ("/data/tables", Path("/data/tables")),
        ("/data/a:/b", Path("/data/a:/b")),
        ("file:///data/tables", Path("/data/tables")),
        ("file:/data/tables/", Path("/data/tables")),
        ("FILE://localhost/data/my%20tables", Path("/data/my tables")),
        ("hdfs://name:8020/audit/", "hdfs://name:8020/audit"),
        ("hdfs:///audit", "hdfs:///audit"),
        ("s3a://bucket/a/b", "s3a://bucket/a/b"),
    ],
)
def test_paths_and_uris(text: str, expected: Path | str):
    assert location(text) == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"),
        ("s3a://bucket", "is no folder"),
        ("hdfs:///", "is no folder"),
        ("s3a://bucket/a?version=1", "is no folder"),
        ("file://host/data", "is on another machine"),
    ],
)
def test_what_is_no_folder(text: str, why: str):
    with pytest.raises(InvalidLocation, match=why) as raised:
        location(text)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--tables", "s3a://bucket"], "s3a://bucket is no folder"),
        (["--tables", __file__], "is a file"),
        (["--tables", "t", "--conf", "spark.x"], "spark.x is not spark.NAME=VALUE"),
        (["--tables", "t", "--conf", "x=1"], "x=1 is not spark.NAME=VALUE"),
    ],
)
def test_the_command_says_what_is_wrong_with_an_option(options: list[str], why: str):
    done = CliRunner().invoke(main, ["pipeline", "run", "--bootstrap", "127.0.0.1:1", *options])
    assert done.exit_code == 2
    assert why in done.output
