"""The notation of the definitions: what its words mean, and that every mistake is one line with file and number."""

import pytest

from _wire.notation import NotationError, RecordPlace, Versions, parse, read_definitions, snake_case

PING = """# Is anybody there?
api Ping 99   versions 0-5   flexible 3+

request
  names         [string]                                         # who is asked
  greeting      string        2+   nullable 3+   default "hello"
  depth         int64         1-3  default -1
  loud          bool          3+   default true   tag 1
  peers         [Peer]             nullable   default null
    host        string
    ports       [int32]       4+
response
  # nothing to say
"""


def test_a_definition_means_what_it_says() -> None:
    ping = parse(PING, "ping.schema")
    assert (ping.name, ping.key, ping.module, ping.doc) == ("Ping", 99, "ping", "Is anybody there?")
    assert (ping.versions, ping.flexible_from) == (Versions(0, 5), 3)
    assert ping.messages == ["PingRequest", "PingResponse"]
    assert list(ping.structs) == ["PingRequest", "Peer", "PingResponse"]
    names, greeting, depth, loud, peers = ping.structs["PingRequest"].fields
    assert (names.type, names.is_array, names.versions, names.nullable, names.default) == (
        *("string", True),
        *(Versions(0, 5), None, []),
    )
    assert (greeting.versions, greeting.nullable, greeting.default) == (Versions(2, 5), Versions(3, 5), "hello")
    assert (depth.versions, depth.default, depth.tag) == (Versions(1, 3), -1, None)
    assert (loud.versions, loud.default, loud.tag) == (Versions(3, 5), True, 1)
    assert (peers.type, peers.is_struct, peers.nullable, peers.default) == ("Peer", True, Versions(0, 5), None)
    assert [(field.name, field.versions) for field in ping.structs["Peer"].fields] == [
        ("host", Versions(0, 5)),
        ("ports", Versions(4, 5)),
    ]
    assert (names.doc, greeting.doc) == ("who is asked", "")
    assert ping.structs["Peer"].path == "peers."
    assert ping.structs["PingResponse"].fields == []


def test_a_format_inside_other_bytes_has_no_key() -> None:
    text = "# What it is for.\ndata Note   versions 2   flexible never\n\nfields\n  text  string\n"
    note = parse(text, "note.schema")
    assert (note.key, note.versions, note.flexible_from, note.messages) == (None, Versions(2, 2), 3, ["Note"])


def test_a_record_has_a_key_with_its_type_for_a_version() -> None:
    text = "# It.\nrecord Note 4-5 of __notes   versions 0-2   flexible 1+\n\nkey\n  id  int32\nvalue\n  text  string\n"
    note = parse(text, "note.schema")
    assert (note.key, note.kind, note.module) == (None, "record", "note_record")
    assert note.messages == ["NoteKey", "NoteValue"]
    assert note.place == RecordPlace("__notes", Versions(4, 5))
    key, value = note.structs.values()
    assert (key.versions, key.flexible_from) == (Versions(4, 5), 6)
    assert (value.versions, value.flexible_from) == (Versions(0, 2), 1)


def test_a_struct_used_twice_has_a_block_of_its_own() -> None:
    text = PING.replace("  # nothing to say\n", "  first  Spot\n  more  [Spot]\n\nstruct Spot\n  x  int32\n")
    structs = parse(text, "ping.schema").structs
    assert list(structs) == ["PingRequest", "Peer", "PingResponse", "Spot"]
    assert structs["Spot"].path == "Spot."


@pytest.mark.parametrize(
    ("camel", "snake"),
    [
        ("groupInstanceId", "group_instance_id"),
        ("ThrottleTimeMs", "throttle_time_ms"),
        ("IsKRaftVoter", "is_k_raft_voter"),
    ],
)
def test_names_are_kafkas_in_snake_case(camel: str, snake: str) -> None:
    assert snake_case(camel) == snake


@pytest.mark.parametrize(
    ("right", "wrong", "error"),
    [
        (PING, "", "ping.schema:1: no definition in the file"),
        (
            "# Is anybody there?\n",
            "",
            "ping.schema:1: the file must begin with a comment that says what the message is for",
        ),
        (
            "api Ping 99",
            "api Ping",
            "ping.schema:2: expected `api Name key   versions a-b   flexible c+`, `record ...`, `data ...`",
        ),
        ("flexible 3+", "flexible 3", "ping.schema:2: flexible is `never` or a version with a plus, not `3`"),
        ("versions 0-5", "versions 5-0", "ping.schema:2: versions 5-0 lie outside of any range"),
        ("versions 0-5", "versions 0+", "ping.schema:2: `0+` is no range of versions"),
        ("request\n", "fields\n", "ping.schema:4: `fields` does not go with this kind of definition"),
        (
            "request\n",
            "question\n",
            "ping.schema:4: expected `struct Name` or one of request, response, key, value, fields",
        ),
        ("response\n", "", "ping.schema:2: expected the blocks request and response"),
        ("  names ", "\tnames ", "ping.schema:5: tab in the line"),
        ("  names ", "    names ", "ping.schema:5: expected 2 spaces before the name, not 4"),
        ("[string]", "[text]", "ping.schema:5: text is no type"),
        ("[string]", "", "ping.schema:5: expected `name type [versions] [nullable] [default x] [tag n]`"),
        ("2+ ", "6+ ", "ping.schema:6: versions 6+ lie outside of 0-5"),
        ("nullable 3+", "nullable 1+", "ping.schema:6: versions 1+ lie outside of 2-5"),
        ("nullable 3+", "nulable 3+", 'ping.schema:6: `nulable 3+   default "hello"` is not understood'),
        ('default "hello"', "default hello", "ping.schema:6: `hello` is no string"),
        ('nullable 3+   default "hello"', "default null", "ping.schema:6: default null, but never nullable"),
        ("default -1", "default x", "ping.schema:7: `x` is no int64"),
        ("default -1", "nullable", "ping.schema:7: int64 cannot be null"),
        ("default true", "default yes", "ping.schema:8: `yes` is no bool"),
        ("tag 1", "tag one", "ping.schema:8: a tag is a number, not `one`"),
        ("3+   default true   tag 1", "2+  tag 1", "ping.schema:8: tagged in version 2, which is not flexible"),
        ("default null", "default 1", "ping.schema:9: only null can be the default of Peer"),
        ("[Peer]", "[int32]", "ping.schema:10: int32 has no fields of its own"),
        ("ports ", "host ", "ping.schema:11: Peer has two fields host"),
        ("  # nothing to say", "  peer  Peers", "ping.schema:13: Peers is defined nowhere in this file"),
        ("  # nothing to say", "  peer  Peer\n    x  int8", "ping.schema:13: Peer is defined twice"),
        (
            "  # nothing to say",
            "  a  int8  3+  tag 1\n  b  int8  3+  tag 1",
            "ping.schema:13: the tags of PingResponse must be different and in order",
        ),
    ],
)
def test_a_mistake_is_one_line_with_file_and_number(right: str, wrong: str, error: str) -> None:
    assert right in PING
    with pytest.raises(NotationError) as refused:
        parse(PING.replace(right, wrong, 1), "ping.schema")
    assert str(refused.value) == error


def test_each_field_of_kafkas_messages_says_what_it_is() -> None:
    silent = [
        f"{field.where} {field.name}"
        for definition in read_definitions()
        for struct in definition.structs.values()
        for field in struct.fields
        if not field.doc
    ]
    assert silent == []
