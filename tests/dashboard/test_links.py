import subprocess
from pathlib import Path

import pytest

from coordinator.client.bootstrap import Bootstrap
from coordinator.client.security import ClientSecurity
from coordinator.dashboard.links import Origin, command_for, page_url, shell_quoted

SERVER = Origin("127.0.0.1:9092", Path("/tables"))


def test_the_link_to_a_group_and_to_a_generation():
    assert page_url("http://host:8080", "a/b c") == "http://host:8080/#/groups/a%2Fb%20c"
    assert page_url("https://host/coordinator/#/", "g", 7) == "https://host/coordinator/#/groups/g/generations/7"


@pytest.mark.parametrize("base", ["", "host:8080", "ftp://host/", "http://", "http://[", "http://host/\x1b[2J"])
def test_what_is_no_address_of_a_page_is_one_line(base):
    with pytest.raises(ValueError, match="is not an address such as") as problem:
        page_url(base, "g")
    assert str(problem.value).isprintable()


def test_the_command_names_the_server_or_the_tables():
    assert (
        command_for(SERVER, "g", 3, has_events=True)
        == "coordinator groups why g --bootstrap 127.0.0.1:9092 --generation 3"
    )
    assert command_for(Origin(tables=Path("my tables")), "g", None, has_events=True) == (
        "coordinator groups why g --tables 'my tables'"
    )
    assert command_for(SERVER, "-rf", None, has_events=True).endswith("9092 -- -rf")
    assert command_for(Origin(), "g", None, has_events=True) == ""


def test_without_events_the_command_is_the_one_that_needs_none():
    assert (
        command_for(SERVER, "g", None, has_events=False) == "coordinator groups describe g --bootstrap 127.0.0.1:9092"
    )


@pytest.mark.parametrize("name", ["a b", "it's", "$(reboot)", "\u202e\x1b[2J\n", "back\\slash\n'", "", "ü\u200bx1"])
def test_a_shell_reads_the_name_as_it_is(name):
    quoted = shell_quoted(name)
    assert quoted.isprintable()
    printed = subprocess.run(["bash", "-c", f"printf %s {quoted}"], capture_output=True, check=True).stdout
    assert printed.decode() == name


def test_the_command_says_that_the_server_needs_a_file_of_settings():
    origin = Origin(Bootstrap("kafka:9093", ClientSecurity({"sasl.mechanism": "PLAIN"})))
    assert command_for(origin, "g", None, has_events=True) == (
        "coordinator groups why g --bootstrap kafka:9093 --command-config FILE"
    )
