"""What a real Kafka answered under random ACLs is what this server answers."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from coordinator.node.requirements import REQUIREMENTS
from tests.differential.acls.__main__ import LOGIN, SETTINGS
from tests.differential.acls.accepted import unexplained
from tests.differential.acls.bases import BASES
from tests.differential.acls.play import Side
from tests.differential.acls.recording import read
from tests.servers import RunningServer

RECORDED = read()
NOT_PLAYED = {
    "ApiVersions": "needs nothing",
    "SaslHandshake": "needs nothing",
    "SaslAuthenticate": "needs nothing",
    "CreateDelegationToken": "is refused to everybody: tests/node/handlers/test_delegation_tokens.py",
    "RenewDelegationToken": "is refused to everybody",
    "ExpireDelegationToken": "is refused to everybody",
    "DescribeDelegationToken": "is refused to everybody",
    "WriteTxnMarkers": "is refused to everybody, unless a setting says otherwise",
    "AlterUserScramCredentials": "is compared with the logins",
    "CreateAcls": "changes the ACLs: tests/node/handlers/test_acls.py",
    "DeleteAcls": "changes the ACLs: tests/node/handlers/test_acls.py",
}
"""APIs without a case → why."""


@pytest.fixture(scope="module")
def side(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Side]:
    with RunningServer(tmp_path_factory.mktemp("acls"), SETTINGS | LOGIN) as server:
        side = Side("this server", server.bootstrap)
        yield side
        side.close()


def test_each_api_was_played_denied_and_allowed():
    outcomes = Counter((recorded.api, recorded.outcome == "allowed") for recorded in RECORDED)
    assert {base.api for base in BASES} == REQUIREMENTS.keys() - NOT_PLAYED.keys()
    for name in {base.api for base in BASES}:
        if any(each.names is not None for each in REQUIREMENTS[name]):
            assert outcomes[name, False], f"{name} was never denied"
        assert outcomes[name, True], f"{name} was never allowed"


def test_the_answers_are_those_of_kafka(side):
    for recorded in RECORDED:
        ours = json.loads(json.dumps(side.play(recorded.case, recorded.seed)))
        found = unexplained(recorded.case, recorded.answer, ours)
        assert not found, (recorded.label, side.last_acls, found)


def test_the_file_is_small():
    assert (Path(__file__).parents[1] / "recorded" / "acls.jsonl.gz").stat().st_size < 100_000
