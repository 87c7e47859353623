import pytest

from coordinator.config.key import ConfigError
from coordinator.config.properties import parse_settings, read_properties


def test_reads_a_file_in_the_form_of_server_properties(tmp_path):
    path = tmp_path / "server.properties"
    path.write_text("# a comment\n! another\n\ngroup.max.size = 3\n  offsets.retention.minutes=7\n", encoding="utf-8")
    assert read_properties(path) == {"group.max.size": "3", "offsets.retention.minutes": "7"}
    with pytest.raises(ConfigError, match="cannot read"):
        read_properties(tmp_path / "none")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a=one \\\n   two \\\r\n\tthree\n", "one two three"),
        ("a=-----BEGIN-----\\n\\\nMII=\\n\\\n-----END-----", "-----BEGIN-----\nMII=\n-----END-----"),
        ('a=Module required user_x="p\\\\w";', 'Module required user_x="p\\w";'),
        ("a=\\u00e9\\t\\:\\=x", "é\t:=x"),
        ("a=\\\n", ""),
        ("a=x\\\\\nb=y", "x\\"),
        ("a=x\\\n#y", "x#y"),
        ("a=x\rb=y", "x"),
        ("a=x=y", "x=y"),
        ("a=\\u12", "u12"),
        ("a=\\ud83d\\ude00", "\U0001f600"),
        ("a=\\ud83d", "\ud83d"),
    ],
)
def test_lines_are_continued_and_unescaped_as_by_java(tmp_path, text, value):
    path = tmp_path / "server.properties"
    path.write_bytes(text.encode())
    assert read_properties(path)["a"] == value


def test_a_bad_line_of_a_file_is_named_by_its_number_as_it_may_be_a_secret(tmp_path):
    path = tmp_path / "server.properties"
    path.write_text("ssl.keystore.key=-----BEGIN PRIVATE KEY-----\n\nMIIsecret\n", encoding="utf-8")
    with pytest.raises(ConfigError) as raised:
        read_properties(path)
    assert str(raised.value) == f"{path}, line 3: expected KEY=VALUE"


def test_a_line_without_a_value_is_refused():
    with pytest.raises(ConfigError, match=r"'group\.max\.size': expected KEY=VALUE"):
        parse_settings(["group.max.size"])
