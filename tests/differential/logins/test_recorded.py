"""The conversations of logins on our server, beside what Kafka said in them."""

import json
from pathlib import Path
from typing import Final

import pytest

from tests.differential.logins.conversations import CONVERSATIONS, KAFKA_FAILS
from tests.differential.logins.servers import RECORDED, Said, hold, make_keys, running_server

KAFKA_SAID: Final[Said] = json.loads(RECORDED.read_text(encoding="utf-8"))
pytestmark = pytest.mark.realtime


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Said:
    folder: Path = tmp_path_factory.mktemp("logins")
    keys = make_keys()
    with running_server(folder, keys) as addresses:
        return hold(addresses, keys)


def test_all_conversations_are_recorded() -> None:
    assert sorted(KAFKA_SAID) == sorted({conversation.name for conversation in CONVERSATIONS})
    assert len(CONVERSATIONS) == len(KAFKA_SAID), "names are unique"


@pytest.mark.parametrize("name", [name for name in KAFKA_SAID if name not in KAFKA_FAILS])
def test_clients_are_told_what_kafka_tells_them(name: str, said: Said) -> None:
    assert said[name] == KAFKA_SAID[name]


@pytest.mark.parametrize("name", KAFKA_FAILS)
def test_clients_are_answered_where_kafka_fails(name: str, said: Said) -> None:
    assert KAFKA_SAID[name][-1] in ("stays open", "closed")
    *_, answer, end = said[name]
    assert '"error_code": 58' in answer
    assert "Authentication failed during authentication due to invalid credentials" in answer
    assert end == "closed"
