r"""Names of principals from the names in certificates: `ssl.principal.mapping.rules` (Kafka's SslPrincipalMapper).

A rule matches the whole name, and then replaces its matches in it, as Java's String.replaceAll. The regular expressions
are those of RE2, which takes linear time: a client chooses the name that they are matched with.
"""

import re
from collections.abc import Callable
from typing import Final

import msgspec

from coordinator.config.key import ConfigError
from coordinator.patterns import CapturingPattern, InvalidPattern

RULE: Final = r"(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?).*?|(.*?)"
"""The parts of a rule: DEFAULT, or pattern, replacement and case."""
SPLITTER: Final = re.compile(rf"\s*({RULE})\s*(,\s*|$)")
PARSER: Final = re.compile(RULE)
TOKEN: Final = re.compile(r"\\(.)|\$\{([a-zA-Z][a-zA-Z0-9]*)\}|\$(\d)(\d*)|([^\\$]+)|(.)", re.DOTALL)
NAME_BYTES_MAX: Final = 4_096
"""Of a name that a rule is matched with: names in certificates are shorter by far."""

Case = Callable[[str], str]
CASES: Final[dict[str, Case]] = {"L": str.lower, "U": str.upper, "": str}


class NoMatchingRule(ValueError):
    """No rule says which principal the name is. The message is one line."""


class _Rule(msgspec.Struct, frozen=True):
    """`pattern` None: the name itself."""

    pattern: CapturingPattern | None
    replacement: list[str | int | tuple[str]]
    """Text, numbers of groups, and names of groups as tuples."""
    case: Case

    def apply(self, name: str) -> str | None:
        if self.pattern is None:
            return name
        if not self.pattern.matches(name):
            return None
        return self.case(self.pattern.replace_all(name, self._expand))

    def _expand(self, group: Callable[[int | str], str]) -> str:
        parts = (
            part if isinstance(part, str) else group(part if isinstance(part, int) else part[0])
            for part in self.replacement
        )
        return "".join(parts)


class PrincipalMapper:
    """Applies the first rule that matches."""

    def __init__(self, rules: str, setting: str) -> None:
        """Raises ConfigError: a rule cannot be read, or its regular expression is none of RE2."""
        self._rules = [_parse(rule, f"{setting}={rules}") for rule in _split(rules) if rule]

    def name_of(self, distinguished_name: str) -> str:
        """The name of the principal.

        Raises:
            NoMatchingRule: no rule matches, or the name is too long for them.
        """
        shown = ascii(distinguished_name[:200])
        if len(distinguished_name.encode()) > NAME_BYTES_MAX:
            raise NoMatchingRule(f"the name in the certificate is longer than {NAME_BYTES_MAX} bytes: {shown}…")
        for rule in self._rules:
            try:
                name = rule.apply(distinguished_name)
            except InvalidPattern as problem:
                raise NoMatchingRule(f"{problem}: {shown}") from None
            if name is not None:
                return name
        raise NoMatchingRule(f"no rule of ssl.principal.mapping.rules applies to the name {shown}")


def _split(rules: str) -> list[str]:
    return [match[1] for match in SPLITTER.finditer(rules.strip())]


def _parse(rule: str, setting: str) -> _Rule:
    match = PARSER.match(rule)
    if match is None or match.end() != len(rule):
        raise ConfigError(f"{setting}: {rule!r} is not DEFAULT or RULE:PATTERN/REPLACEMENT/ with L, U or nothing")
    if match[1] is not None:
        return _Rule(None, [], str)
    try:
        pattern = CapturingPattern(match[2])
        pattern.check_fits(NAME_BYTES_MAX)
    except InvalidPattern as problem:
        raise ConfigError(f"{setting}: {rule!r}: {problem}") from None
    return _Rule(pattern, _parse_replacement(match[3], pattern, f"{setting}: {rule!r}"), CASES[match[4]])


def _parse_replacement(text: str, pattern: CapturingPattern, place: str) -> list[str | int | tuple[str]]:
    """`$1` and `${name}` are groups; a backslash before a character makes it text.

    As on Kafka, of `$12` as many digits count as there are groups, and where there is no such group it is text.
    """
    parts: list[str | int | tuple[str]] = []
    for escaped, name, digit, digits, plain, other in TOKEN.findall(text):
        if escaped or plain:
            parts.append(escaped or plain)
        elif name:
            if name not in pattern.group_names:
                raise ConfigError(f"{place}: there is no group {name}")
            parts.append((name,))
        elif digit:
            number, length = int(digit), 0
            while length < len(digits) and number * 10 + int(digits[length]) <= pattern.groups:
                number, length = number * 10 + int(digits[length]), length + 1
            if number <= pattern.groups:
                parts += [number, digits[length:]]
            elif pattern.groups:
                parts.append(f"${digit}{digits}")
            else:
                raise ConfigError(f"{place}: there is no group {number}")
        else:
            raise ConfigError(f"{place}: {other!r} needs a group after it, or a backslash before it")
    return parts
