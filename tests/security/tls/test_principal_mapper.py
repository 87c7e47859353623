"""Rules for principals, compared with Kafka's (tests/golden/principals)."""

import time
from typing import Any

import pytest

from coordinator.config.key import ConfigError
from coordinator.security.tls.principal_mapper import NAME_BYTES_MAX, NoMatchingRule, PrincipalMapper
from tests.golden_vectors import golden_vectors

VECTORS = [row for row in golden_vectors("principals/principals.jsonl.gz") if "rules" in row]


@pytest.mark.parametrize("row", VECTORS, ids=lambda row: row["rules"])
def test_rules_make_the_principals_of_kafka(row: dict[str, Any]) -> None:
    try:
        principal: str | None = PrincipalMapper(row["rules"], "rules").name_of(row["name"])
    except (ConfigError, NoMatchingRule) as problem:
        principal = None
        assert "\n" not in str(problem)
    assert principal == row["principal"]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("RULE:CN=(.*)/$1", "'RULE:CN=(.*)/$1' is not DEFAULT or RULE:PATTERN/REPLACEMENT/ with L, U or nothing"),
        ("DEFAULT,nothing", "'nothing' is not DEFAULT or RULE"),
        ("RULE:CN=(/x/", "missing )"),
        (r"RULE:(a)\1/x/", "invalid escape sequence"),
        ("RULE:(?=a)a/x/", "invalid perl operator"),
        ("RULE:a/$1/", "there is no group 1"),
        ("RULE:a/${n}/", "there is no group n"),
        ("RULE:(a)/$x/", "'$' needs a group after it"),
        ("RULE:(((a{1,30}){1,30}){1,30})/x/", "invalid repetition size"),
        ("RULE:(.{1,900}x){1,1}/y/", "too complex for texts of 4096 bytes"),
    ],
)
def test_a_rule_that_cannot_be_used_is_refused_in_one_line(rules, message):
    with pytest.raises(ConfigError) as raised:
        PrincipalMapper(rules, "ssl.principal.mapping.rules")
    assert str(raised.value).startswith(f"ssl.principal.mapping.rules={rules}: ")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_name_that_no_rule_applies_to_has_no_principal():
    with pytest.raises(NoMatchingRule, match=r"no rule of ssl\.principal\.mapping\.rules applies to the name 'CN=\\n'"):
        PrincipalMapper("RULE:^O=(.*)$/$1/", "s").name_of("CN=\n")


def test_a_pattern_that_is_slow_elsewhere_takes_no_time():
    mapper = PrincipalMapper("RULE:CN=(a+)+(a*)*(b|a*c)/$1/,RULE:CN=(.*)*x/$1/", "s")
    begun = time.thread_time()
    with pytest.raises(NoMatchingRule):
        mapper.name_of("CN=" + "a" * (NAME_BYTES_MAX - 3))
    assert time.thread_time() - begun < 0.2


def test_a_name_that_is_too_long_has_no_principal():
    with pytest.raises(NoMatchingRule, match="longer than 4096 bytes"):
        PrincipalMapper("DEFAULT", "s").name_of("é" * 2049)
