"""Settings of one listener and of one SASL mechanism."""

from typing import Any

import msgspec
import pytest

from coordinator.config import settings
from coordinator.config.key import ConfigError, ConfigKey, Scope
from coordinator.config.password import Password
from coordinator.config.settings import Config

PER_LISTENER = ConfigKey("a.location", "", "", scope=Scope.LISTENER)
SECRET = ConfigKey("a.password", Password(""), "", scope=Scope.LISTENER)
PER_MECHANISM = ConfigKey("a.reauth.ms", 0, "", 0, 100, scope=Scope.MECHANISM)
WORDS: ConfigKey[tuple[str, ...]] = ConfigKey("a.words", (), "", scope=Scope.LISTENER)
PLAIN = ConfigKey("a.limit", 5, "", 0, 9)
KEYS: tuple[ConfigKey[Any], ...] = (PER_LISTENER, SECRET, PER_MECHANISM, WORDS, PLAIN)


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of each kind, beside the real ones."""
    monkeypatch.setattr(settings, "ALL_KEYS", (*settings.ALL_KEYS, *KEYS))
    monkeypatch.setattr(settings, "KEYS_BY_NAME", settings.KEYS_BY_NAME | {key.name: key for key in KEYS})


LISTENERS = {"listeners": "IN://:1, OUT.er://:2,OUT://:3"}


def config(**texts: str) -> Config:
    return Config(LISTENERS | {name.replace("__", "-").replace("_", "."): text for name, text in texts.items()})


def test_a_listener_has_its_own_values_and_those_of_the_server():
    given = config(a_location="all", listener_name_out_a_location="mine")
    assert given.for_listener("OUT")[PER_LISTENER] == "mine"
    assert given.for_listener("IN")[PER_LISTENER] == "all"
    assert given[PER_LISTENER] == "all"
    assert config().for_listener("IN")[PER_LISTENER] == ""


def test_a_mechanism_has_its_own_values_those_of_its_listener_and_those_of_the_server():
    given = config(a_reauth_ms="1", listener_name_in_a_reauth_ms="2", listener_name_in_scram__sha__256_a_reauth_ms="3")
    assert given.for_listener("IN").for_mechanism("SCRAM-SHA-256")[PER_MECHANISM] == 3
    assert given.for_listener("IN").for_mechanism("PLAIN")[PER_MECHANISM] == 2
    assert given.for_listener("IN")[PER_MECHANISM] == 2
    assert given.for_listener("OUT").for_mechanism("SCRAM-SHA-256")[PER_MECHANISM] == 1
    assert list(given.for_listener("IN").mechanisms_with(PER_MECHANISM)) == ["scram-sha-256"]
    assert list(given.for_listener("OUT").mechanisms_with(PER_MECHANISM)) == []


def test_the_longest_name_of_a_listener_counts():
    given = config(listener_name_out_er_a_location="dotted")
    assert given.for_listener("OUT.er")[PER_LISTENER] == "dotted"
    assert given.for_listener("OUT")[PER_LISTENER] == ""


def test_a_message_can_name_the_setting_that_was_given():
    given = config(a_location="all", listener_name_out_a_location="mine", listener_name_in_plain_a_reauth_ms="7")
    assert given.for_listener("OUT").name_of(PER_LISTENER) == "listener.name.out.a.location"
    assert given.for_listener("IN").name_of(PER_LISTENER) == "a.location"
    assert (
        given.for_listener("IN").for_mechanism("PLAIN").name_of(PER_MECHANISM) == "listener.name.in.plain.a.reauth.ms"
    )
    assert given.for_listener("OUT").is_own(PER_LISTENER)
    assert not given.for_listener("IN").is_own(PER_LISTENER)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "listener.name.none.a.location",
            "there is no such listener; the listeners are in, out, out.er (in lower case",
        ),
        ("listener.name.IN.a.location", "there is no such listener"),
        ("listener.name.in", "there is no such listener"),
        ("listener.name.in.", "unknown setting '' of a listener"),
        ("listener.name.in.a.limit", "a.limit cannot be set for one listener"),
        ("listener.name.in.a.lokation", "unknown setting 'a.lokation' of a listener"),
        ("listener.name.in.plain.a.location", "a.location cannot be set for one SASL mechanism"),
        ("listener.name.in.PLAIN.a.reauth.ms", "write the mechanism in lower case: plain"),
        ("listener.name.in.plain.a.limit", "a.limit cannot be set for one SASL mechanism"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_in_one_line(name, message):
    with pytest.raises(ConfigError) as raised:
        Config(LISTENERS | {name: "1"})
    assert str(raised.value).startswith(f"{name}: ")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_wrong_value_is_reported_with_the_whole_name():
    with pytest.raises(ConfigError, match=r"^listener\.name\.in\.plain\.a\.reauth\.ms=101: must be at most 100$"):
        config(listener_name_in_plain_a_reauth_ms="101")


def test_secrets_are_never_shown():
    given = config(a_password="open", listener_name_in_a_password="sesame")
    assert given[SECRET].value == "open"
    assert given.for_listener("IN")[SECRET].value == "sesame"
    assert given.text(SECRET) == "[hidden]"
    assert [(name, text) for name, _, text in given.overrides()] == [("listener.name.in.a.password", "[hidden]")]
    assert SECRET.is_secret
    assert SECRET.type_name == "password"
    assert "sesame" not in repr(vars(given)) + repr(vars(given.for_listener("IN")))


@pytest.mark.parametrize(("text", "words"), [("", ()), (" a , b,", ("a", "b"))])
def test_a_free_list_has_any_words(text, words):
    assert config(a_words=text)[WORDS] == words


def test_a_free_list_has_no_word_twice():
    with pytest.raises(ConfigError, match=r"a\.words=a,b,a: a is named twice"):
        config(a_words="a,b,a")


def test_a_key_can_be_copied_with_another_name():
    assert msgspec.structs.replace(PER_MECHANISM, name="b").at_most == 100
