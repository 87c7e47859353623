import pytest

from coordinator.config.key import ConfigError
from coordinator.config.properties import parse_settings, read_properties


def test_reads_a_file_in_the_form_of_server_properties(tmp_path):
    path = tmp_path / "server.properties"
    path.write_text("# a comment\n! another\n\ngroup.max.size = 3\n  offsets.retention.minutes=7\n", encoding="utf-8")
    assert read_properties(path) == {"group.max.size": "3", "offsets.retention.minutes": "7"}
    with pytest.raises(ConfigError, match="cannot read"):
        read_properties(tmp_path / "none")


def test_a_line_without_a_value_is_refused():
    with pytest.raises(ConfigError, match=r"'group\.max\.size': expected KEY=VALUE"):
        parse_settings(["group.max.size"])
