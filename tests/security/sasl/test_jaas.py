"""JAAS configurations as Kafka writes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.security.sasl.jaas import JaasError, parse_jaas, plain_users

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
