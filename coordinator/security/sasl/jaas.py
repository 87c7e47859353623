"""Reads the login modules of `sasl.jaas.config` as Kafka's JaasConfig does: those words, quotes, escapes and comments.

    org.apache.kafka.common.security.plain.PlainLoginModule required
        username="broker" password="secret" user_alice="alice's secret";

A JAAS file, as Java's `java.security.auth.login.config` names it, has sections of such modules:

    KafkaServer {
        org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="alice's secret";
    };

No message has a part of what it reads: it has passwords.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

PLAIN_LOGIN_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
SERVER_SECTION: Final = "KafkaServer"
USER_PREFIX: Final = "user_"
CONTROL_FLAGS: Final = ("required", "requisite", "sufficient", "optional")

SPACE: Final = re.compile(r"(?:[\x00-\x20]|//[^\n\r]*|/\*.*?\*/|/[^\n\r]*)+", re.DOTALL)
"""A single slash begins a comment, too: so does Java's StreamTokenizer."""
WORD: Final = re.compile(r"[A-Za-z_$\u00a0-\U0010ffff][A-Za-z0-9_$.\-\u00a0-\U0010ffff]*")
NUMBER: Final = re.compile(r"-?[0-9.]+")
ESCAPE: Final = re.compile(r"\\([0-3]?[0-7]{1,2}|.)", re.DOTALL)
QUOTED: Final = re.compile(r"\"((?:[^\"\\\n\r]|\\[^\n\r])*)\"|'((?:[^'\\\n\r]|\\[^\n\r])*)'")
CONTROLS: Final = {"a": "\x07", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\x0b"}


class JaasError(ValueError):
    """A text is not a JAAS configuration. The message is one line, without any part of it."""


@dataclass(frozen=True, slots=True)
class LoginModule:
    """One entry, as it was written."""

    name: str
    control_flag: str
    options: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Token:
    """A word, a text in quotes, a number or a single character."""

    kind: str
    text: str = field(repr=False)


def parse_jaas(text: str) -> list[LoginModule]:
    """Parse all entries, one at least.

    Raises:
        JaasError: the text is no JAAS configuration.
    """
    modules, tokens = [], _tokens(text)
    for token in tokens:
        modules.append(_module(token, tokens))
    if not modules:
        raise JaasError("no login module is specified")
    return modules


def parse_jaas_file(text: str) -> dict[str, list[LoginModule]]:
    """Parse the sections of a JAAS file, by name.

    Raises:
        JaasError: the text is no JAAS file, or has a section twice.
    """
    sections: dict[str, list[LoginModule]] = {}
    tokens = _tokens(text)
    for name in tokens:
        if name.kind not in ("word", "quoted") or _kind_of(tokens) != "{":
            raise JaasError("a section of a JAAS file begins with NAME {")
        if name.text in sections:
            raise JaasError(f"section {len(sections) + 1} has the name of another one")
        modules = sections[name.text] = []
        for token in tokens:
            if token.kind == "}":
                break
            modules.append(_module(token, tokens))
        else:
            raise JaasError("a section of a JAAS file does not end with };")
        if _kind_of(tokens) != ";":
            raise JaasError("a section of a JAAS file does not end with };")
    return sections


def plain_users(text: str) -> dict[str, str]:
    """The users of PLAIN with their passwords: the options `user_NAME`.

    Raises:
        JaasError: the text is no JAAS configuration, or its login module is another one.
    """
    modules = parse_jaas(text)
    if len(modules) > 1:
        raise JaasError(f"{len(modules)} login modules are specified; one is needed")
    (module,) = modules
    if module.name != PLAIN_LOGIN_MODULE:
        raise JaasError(f"the login module of PLAIN is {PLAIN_LOGIN_MODULE}")
    return _users(module)


def plain_users_of_file(text: str, listener: str) -> dict[str, str]:
    """The users of PLAIN at a listener: those of its own section, else of `KafkaServer` (Kafka's JaasContext).

    Raises:
        JaasError: the text is no JAAS file, it has neither section, or the section has no login module of PLAIN.
    """
    sections = parse_jaas_file(text)
    names = (f"{listener.lower()}.{SERVER_SECTION}", SERVER_SECTION)
    name = next((name for name in names if name in sections), None)
    if name is None:
        raise JaasError(f"it has no section {' or '.join(names)}")
    for module in sections[name]:
        if module.name == PLAIN_LOGIN_MODULE:
            return _users(module)
    raise JaasError(f"its section {name} has no {PLAIN_LOGIN_MODULE}")


def _users(module: LoginModule) -> dict[str, str]:
    options = module.options.items()
    return {name.removeprefix(USER_PREFIX): value for name, value in options if name.startswith(USER_PREFIX)}


def _kind_of(tokens: Iterator[_Token]) -> str:
    token = next(tokens, None)
    return "" if token is None else token.kind


def _module(first: _Token, tokens: Iterator[_Token]) -> LoginModule:
    if first.kind not in ("word", "quoted"):
        raise JaasError("a login module begins with its class name")
    flag = next(tokens, None)
    if flag is None or flag.text.lower() not in CONTROL_FLAGS:
        raise JaasError(f"after the class name of a login module there is one of {', '.join(CONTROL_FLAGS)}")
    options: dict[str, str] = {}
    for token in tokens:
        if token.kind == ";":
            return LoginModule(first.text, flag.text.lower(), options)
        equals, value = next(tokens, None), next(tokens, None)
        if (
            token.kind not in ("word", "quoted")
            or equals is None
            or equals.kind != "="
            or value is None
            or value.kind not in ("word", "quoted")
        ):
            raise JaasError(
                f'option {len(options) + 1} of a login module is not NAME="VALUE"; write the value in quotes'
            )
        options[token.text] = value.text
    raise JaasError("a login module does not end with a semicolon")


def _tokens(text: str) -> Iterator[_Token]:
    position = 0
    while position < len(text):
        if found := SPACE.match(text, position):
            pass
        elif found := WORD.match(text, position):
            yield _Token("word", found[0])
        elif found := NUMBER.match(text, position):
            yield _Token("number", found[0])
        elif found := QUOTED.match(text, position):
            yield _Token("quoted", ESCAPE.sub(_unescaped, found[1] if found[1] is not None else found[2]))
        elif text[position] in "\"'":
            raise JaasError("a quote is not closed on its line")
        else:
            yield _Token(text[position], text[position])
            position += 1
            continue
        position = found.end()


def _unescaped(escape: re.Match[str]) -> str:
    text = escape[1]
    return chr(int(text, 8)) if text[0] in "01234567" else CONTROLS.get(text, text)
