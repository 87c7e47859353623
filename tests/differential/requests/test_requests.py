"""The parts of the comparison that need no Kafka: which variants there are, and what counts as a difference."""

from typing import Any

import pytest

from tests.differential.names import DEFINITIONS
from tests.differential.requests.accepted import ACCEPTED, reason_for
from tests.differential.requests.answers import Difference, differences
from tests.differential.requests.bases import ALL_BASES, SKIPPED
from tests.differential.requests.play import built, cases_of
from tests.differential.requests.state import Ref
from tests.differential.requests.variants import LONG_NAME, variants

BODY: dict[str, Any] = {"groups": ["g"], "include_authorized_operations": False}


def made(api: str, version: int, body: dict[str, Any]) -> dict[str, Any]:
    return {variant.name: variant.body for variant in variants(DEFINITIONS[api], version, body)}


def test_each_field_has_its_unusual_values_once():
    found = made("DescribeGroups", 5, BODY)
    assert found["base"] == BODY
    assert found["groups=[]"]["groups"] == []
    assert found["groups doubled"]["groups"] == ["g", "g"]
    assert found["groups[0]=long"]["groups"] == [LONG_NAME]
    assert found["include_authorized_operations=true"]["include_authorized_operations"] is True
    assert "include_authorized_operations=false" not in found
    assert len(found) == 8


def test_a_field_is_varied_only_in_the_versions_that_have_it():
    assert not any(name.startswith("include") for name in made("DescribeGroups", 2, BODY))


def test_null_is_tried_where_it_is_allowed():
    assert "topics=null" not in made("Metadata", 0, {"topics": [{"name": "t"}]})
    assert made("Metadata", 1, {"topics": [{"name": "t"}]})["topics=null"]["topics"] is None
    assert made("Metadata", 12, {"topics": [{"name": "t"}]})["topics[0].name=null"]["topics"] == [{"name": None}]


def refs_in(value: Any) -> set[str]:
    if isinstance(value, Ref):
        return {value.name}
    if isinstance(value, dict):
        value = list(value.values())
    return set().union(*map(refs_in, value)) if isinstance(value, list) else set()


@pytest.mark.parametrize("base", ALL_BASES, ids=[f"{number}-{base.api}" for number, base in enumerate(ALL_BASES)])
def test_every_case_can_be_encoded(base):
    definition = DEFINITIONS[base.api]
    refs: dict[str, Any] = {name: name for name in refs_in(base.body)}
    refs |= {"topic_id": bytes(16), "producer_id": 1, "producer_epoch": 0}
    versions = definition.versions
    names = set()
    for case in cases_of(base, versions.first, versions.last):
        struct = definition.structs[f"{base.api}Request"]
        message = built(definition, struct, case.body, case.version, refs)
        assert message.encode(case.version) is not None
        names.add(case.variant)
    assert len(names) > 1 or base.api == "DescribeCluster"


@pytest.mark.parametrize(
    "kafka, ours, expected",
    [
        ({"a": 1, "b": [{"c": 1}]}, {"a": 1, "b": [{"c": 1}]}, []),
        ({"a": 1}, {"a": 2}, [Difference("a", 1, 2)]),
        ({"b": [{"c": 1}, {"c": 2}]}, {"b": [{"c": 1}, {"c": 3}]}, [Difference("b.c", 2, 3)]),
        ({"b": [1]}, {"b": [1, 1]}, [Difference("b", [1], [1, 1])]),
        ({"a": None}, {"a": ""}, [Difference("a", None, "")]),
        (
            {"k": [{"api_key": 1, "v": 1}]},
            {"k": [{"api_key": 1, "v": 2}, {"api_key": 2, "v": 1}]},
            [Difference("k[1].v", 1, 2), Difference("k[2]", False, True)],
        ),
    ],
)
def test_differences_name_the_fields(kafka, ours, expected):
    assert sorted(differences(kafka, ours)) == expected


def test_a_difference_is_accepted_for_its_values_alone():
    of_value = Difference("responses.error_code", -1, 42)
    variant = "resources[0].configs[0].config_operation=-1"
    assert reason_for("IncrementalAlterConfigs", variant, of_value)
    assert not reason_for("IncrementalAlterConfigs", variant, of_value._replace(ours=0))
    assert not reason_for("IncrementalAlterConfigs", "base", of_value)


def test_a_config_that_only_kafka_has_is_not_accepted():
    assert not reason_for("DescribeConfigs", "base", Difference("results.configs[new.config]", True, False))


def test_what_is_skipped_and_accepted_belongs_to_apis_that_are_played():
    played = {base.api for base in ALL_BASES} | {"*"}
    assert {api for api, _ in SKIPPED} | {each.api for each in ACCEPTED} <= played
