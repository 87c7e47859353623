import pytest

from coordinator.config.key import ConfigError
from coordinator.config.properties import parse_settings, properties_text, read_properties


def test_reads_a_file_in_the_form_of_server_properties(tmp_path):
    path = tmp_path / "server.properties"
    path.write_text("# a comment\n! another\n\ngroup.max.size = 3\n  offsets.retention.minutes=7\n", encoding="utf-8")
    assert read_properties(path) == {"group.max.size": "3", "offsets.retention.minutes": "7"}
    with pytest.raises(ConfigError, match="cannot read"):
        read_properties(tmp_path / "none")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a:x", "x"),
        ("a x", "x"),
        ("a\tx", "x"),
        ("a \f\t = \t\fx", "x"),
        ("a : x", "x"),
        ("a  x y", "x y"),
        ("a == x", "= x"),
        ("a=:x", ":x"),
        ("a :=x", "=x"),
        ("a=", ""),
        ("a:", ""),
        (" \t\fa=x", "x"),
        ("a=x \t", "x \t"),
        ("a=\\ x\\ ", " x "),
        ("#a=x\n!a=y\na=z#!", "z#!"),
        ("#a comment is not continued\\\na=x", "x"),
        ("a=x\\\n\nb=y", "x"),
        ("a\\\n  =x", "x"),
        ("\\\n#a=x\n\\\n\na=y", "y"),
        ("a=x\na=y", "y"),
        ("\\u0061=x", "x"),
        ("a=\\n\\r\\t\\f\\b\\#\\!", "\n\r\t\fb#!"),
        ("a=x\\\\\\\\\\\n y", "x\\\\y"),
        ("a=one \\\n   two \\\r\n\tthree\n", "one two three"),
        ("a=-----BEGIN-----\\n\\\nMII=\\n\\\n-----END-----", "-----BEGIN-----\nMII=\n-----END-----"),
        ('a=Module required user_x="p\\\\w";', 'Module required user_x="p\\w";'),
        ("a=\\u00e9\\t\\:\\=x", "é\t:=x"),
        ("a=\\\n", ""),
        ("a=x\\\\\nb=y", "x\\"),
        ("a=x\\\n#y", "x#y"),
        ("a=x\rb=y", "x"),
        ("a=x=y", "x=y"),
        ("a=\\\\u12", "\\u12"),
        ("a=\\ud83d\\ude00", "\U0001f600"),
        ("a=\\ud83d", "\ud83d"),
    ],
)
def test_lines_are_continued_and_unescaped_as_by_java(tmp_path, text, value):
    path = tmp_path / "server.properties"
    path.write_bytes(text.encode())
    assert read_properties(path)["a"] == value


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a\\=b=x", "a=b"),
        ("a\\:b:x", "a:b"),
        ("a\\ b x", "a b"),
        ("a\\\tb\tx", "a\tb"),
        ("a\\\\=x", "a\\"),
        ("\\#a=x", "#a"),
        ("\\!a=x", "!a"),
        ("\\ a=x", " a"),
        ("a\\u003db=x", "a=b"),
        ("a\\\n  b=x", "ab"),
        ("a#b=x", "a#b"),
        ("\u00a0a\u2003=x", "\u00a0a\u2003"),
    ],
)
def test_names_end_at_the_first_separator_that_is_not_escaped(tmp_path, text, name):
    path = tmp_path / "server.properties"
    path.write_bytes(text.encode())
    assert read_properties(path) == {name: "x"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a=1\n\nsecret\n", "3: expected KEY=VALUE"),
        ("# a comment\n  secret \t", "2: expected KEY=VALUE"),
        ("=secret", "1: expected KEY=VALUE"),
        (": secret", "1: expected KEY=VALUE"),
        ("a=1\nb=\\\n  \\u12xysecret", "2: expected four hexadecimal digits after \\u"),
        ("secret\\u12=x", "1: expected four hexadecimal digits after \\u"),
        ("a=secret\\u", "1: expected four hexadecimal digits after \\u"),
    ],
)
def test_what_is_wrong_is_told_by_file_and_line_alone(tmp_path, text, message):
    path = tmp_path / "server.properties"
    path.write_bytes(text.encode())
    with pytest.raises(ConfigError) as raised:
        read_properties(path)
    assert str(raised.value) == f"{path}:{message}"


def test_a_bad_line_of_a_file_is_named_by_its_number_as_it_may_be_a_secret(tmp_path):
    path = tmp_path / "server.properties"
    path.write_text("ssl.keystore.key=-----BEGIN PRIVATE KEY-----\n\nMIIsecret\n", encoding="utf-8")
    with pytest.raises(ConfigError) as raised:
        read_properties(path)
    assert str(raised.value) == f"{path}:3: expected KEY=VALUE"


def test_a_line_without_a_value_is_refused():
    with pytest.raises(ConfigError, match=r"'group\.max\.size': expected KEY=VALUE"):
        parse_settings(["group.max.size"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ssl.key.password", "a b\\c=d:e#f"),
        ("ssl.keystore.key", "-----BEGIN PRIVATE KEY-----\nMII\r\n-----END PRIVATE KEY-----\n"),
        ("sasl.jaas.config", ' a="ü\U0001f600";\t\f '),
        ("max.connections.per.ip.overrides", ""),
        ("a name: with #=!\\", "\\"),
    ],
)
def test_settings_are_read_as_they_were_written(tmp_path, name, value):
    path = tmp_path / "server.properties"
    settings = {name: value, "node.id": "1"}
    path.write_bytes(properties_text(settings).encode())
    assert read_properties(path) == settings
