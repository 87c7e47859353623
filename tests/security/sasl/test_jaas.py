"""JAAS configurations as Kafka writes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.security.sasl.jaas import JaasError, parse_jaas, parse_jaas_file, plain_users, plain_users_of_file

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@pytest.mark.parametrize(
    ("options", "users"),
    [
        ("", {}),
        ('user_alice="a"', {"alice": "a"}),
        ('username="broker" password="p"\n  user_alice="a"\n  user_bob="b"', {"alice": "a", "bob": "b"}),
        ("user_alice='single \"quotes\"'", {"alice": 'single "quotes"'}),
        (r'user_alice="a \"quoted\" \\ back\tslash\101\60"', {"alice": 'a "quoted" \\ back\tslashA0'}),
        ("user_alice=word", {"alice": "word"}),
        ('user_alice="x" user_alice="y"', {"alice": "y"}),
        ('user_="nameless"', {"": "nameless"}),
        ('"user_a b"="quoted name"', {"a b": "quoted name"}),
        ('user_a-b_c$.d="x"', {"a-b_c$.d": "x"}),
        ('user_jürgen="ü"', {"jürgen": "ü"}),
        ('// a comment user_x="y"\nuser_alice="a" /* another\n one */', {"alice": "a"}),
        ('user_alice = "a"', {"alice": "a"}),
        ('user_alice=""', {"alice": ""}),
    ],
)
def test_users_are_found(options, users):
    assert plain_users(f"{PLAIN} {options};") == users


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no login module"),
        (" // nothing", "no login module"),
        (PLAIN, "does not end with a semicolon"),
        (f"{PLAIN} user_alice", 'option 1 of a login module is not NAME="VALUE"'),
        (f"{PLAIN} user_alice=;", 'option 1 of a login module is not NAME="VALUE"'),
        (f"{PLAIN} user_alice=123;", "write the value in quotes"),
        (f'{PLAIN} user_alice="secret;', "a quote is not closed"),
        (f'{PLAIN} user_alice="sec\nret";', "a quote is not closed"),
        (f'{PLAIN} user_alice="a" user_bob "secret";', "option 2"),
        (f'{PLAIN} = "secret";', "option 1"),
        ("org.apache.kafka.common.security.plain.PlainLoginModule", "required, requisite, sufficient, optional"),
        ('org.apache.kafka.common.security.plain.PlainLoginModule user_a="secret";', "required"),
        (f"{PLAIN}; {PLAIN};", "2 login modules are specified"),
        ("org.apache.kafka.common.security.scram.ScramLoginModule required;", "the login module of PLAIN is"),
        ("; ;", "begins with its class name"),
        ("123 required;", "begins with its class name"),
    ],
)
def test_what_is_wrong_is_said_without_the_secret(text, reason):
    with pytest.raises(JaasError, match=reason) as problem:
        plain_users(text)
    assert "secret" not in str(problem.value)
    assert "\n" not in str(problem.value)


def test_other_modules_can_be_read():
    (module,) = parse_jaas(
        "com.sun.security.auth.module.Krb5LoginModule REQUIRED useKeyTab=true "
        'keyTab="/etc/kafka.keytab" principal="k/h@R";'
    )
    assert (module.control_flag, module.options["useKeyTab"]) == ("required", "true")
    assert "keytab" not in repr(module)


@given(st.text())
def test_any_text_is_parsed_or_refused(text):
    try:
        assert parse_jaas(text)
    except JaasError as problem:
        assert str(problem).isprintable()


@given(
    st.dictionaries(
        st.from_regex(r"[a-z][a-z0-9_]*", fullmatch=True), st.text(alphabet=st.characters(exclude_characters="\r\n"))
    )
)
def test_what_is_quoted_is_found(users):
    def quoted(text):
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    options = " ".join(f"user_{name}={quoted(password)}" for name, password in users.items())
    assert plain_users(f"{PLAIN} {options};") == users


SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
FILE = f"""
/* of all listeners */
KafkaServer {{
    {SCRAM} username="broker" password="secret";
    {PLAIN} username="broker" password="secret" user_alice="a";
}};
"sasl_ssl.KafkaServer" {{ {PLAIN} user_bob="b"; }};
KafkaClient {{ }};
"""


def test_a_jaas_file_has_sections_of_login_modules():
    sections = parse_jaas_file(FILE)
    assert {name: len(modules) for name, modules in sections.items()} == {
        "KafkaServer": 2,
        "sasl_ssl.KafkaServer": 1,
        "KafkaClient": 0,
    }
    assert parse_jaas_file(" // nothing") == {}


def test_a_listener_has_the_users_of_its_own_section_or_of_the_one_for_all():
    assert plain_users_of_file(FILE, "SASL_SSL") == {"bob": "b"}
    assert plain_users_of_file(FILE, "SASL_PLAINTEXT") == {"alice": "a"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no section x.KafkaServer or KafkaServer"),
        ("KafkaClient { };", "no section"),
        ("KafkaServer { };", "its section KafkaServer has no"),
        (f"KafkaServer {{ {SCRAM}; }};", "PlainLoginModule"),
        (f'{PLAIN} user_a="secret";', "begins with NAME"),
        ("KafkaServer", "begins with NAME"),
        (f'KafkaServer {{ {PLAIN} user_a="secret";', "does not end with"),
        (f'KafkaServer {{ {PLAIN} user_a="secret"; }}', "does not end with"),
        ("KafkaServer { }; KafkaServer { };", "section 2 has the name"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_without_the_secret(text, reason):
    with pytest.raises(JaasError, match=reason) as problem:
        plain_users_of_file(text, "X")
    assert "secret" not in str(problem.value)
