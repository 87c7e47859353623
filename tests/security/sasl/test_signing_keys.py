"""The keys of tokens: from files and URLs, read again by a thread."""

import http.server
import json
import threading
from collections.abc import Iterator

import pytest
from joserfc.jwk import ECKey

from coordinator.security.sasl import signing_keys
from coordinator.security.sasl.signing_keys import KEYS_MAX, KeySetError, RefreshTimes, SigningKeys, loader, parse_keys
from tests.waiting import wait_for

TIMES = RefreshTimes(refresh_ms=3_600_000, backoff_ms=20, backoff_max_ms=50)


def key_set(*key_ids: str) -> bytes:
    keys = [ECKey.generate_key("P-256", {"kid": key_id}).as_dict(private=False) for key_id in key_ids]
    return json.dumps({"keys": keys}).encode()


class KeyServer(http.server.BaseHTTPRequestHandler):
    answers: dict[str, tuple[int, bytes, str]]
    requests: list[str]

    def do_GET(self) -> None:
        self.requests.append(self.path)
        status, body, location = self.answers.get(self.path, (404, b"", ""))
        self.send_response(status)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    KeyServer.answers, KeyServer.requests = {}, []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), KeyServer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "keys.json",
        "http://example.org/keys",
        "ftp://127.0.0.1/keys",
        "file://other.test/keys",
        "https://",
        "http://[",
        "file:",
        "file:relative",
    ],
)
def test_keys_come_from_nowhere_else(url):
    with pytest.raises(KeySetError):
        loader(url)


def test_a_file_is_read_at_the_start(tmp_path):
    path = tmp_path / "a b.json"
    path.write_bytes(key_set("k1"))
    keys = SigningKeys(path.as_uri(), TIMES)
    assert keys.find("k1", "EC") is not None
    assert keys.find(None, "EC") is not None
    assert keys.find("k1", "RSA") is None
    assert keys.find("k2", "EC") is None
    with pytest.raises(KeySetError, match="No such file"):
        SigningKeys((tmp_path / "none").as_uri(), TIMES)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b'{"keys":5}',
        b'{"keys":[]}',
        b'{"keys":[5, null, {}]}',
        b"\xff",
        b"[" * 100_000,
        b'{"keys":[{"kty":"oct","k":"AAAA"}]}',
        b'{"keys":[{"kty":"RSA","n":"!","e":"AQAB"}]}',
        b'{"keys":[{"kty":"EC","crv":"P-256","x":5,"y":6}]}',
        b" " * (1 << 20) + b"{}",
    ],
)
def test_what_is_no_key_set_is_refused(data):
    with pytest.raises(KeySetError) as problem:
        parse_keys(data)
    assert "\n" not in str(problem.value)


def test_a_key_set_has_so_many_keys_at_most():
    with pytest.raises(KeySetError, match=str(KEYS_MAX)):
        parse_keys(json.dumps({"keys": [{}] * (KEYS_MAX + 1)}).encode())


def test_keys_for_encryption_are_left_out():
    both = json.loads(key_set("k1", "k2"))
    both["keys"][0]["use"] = "enc"
    assert [key.kid for key in parse_keys(json.dumps(both).encode())] == ["k2"]


def test_a_url_is_read_by_a_thread_until_it_has_keys(url):
    keys = SigningKeys(f"{url}/keys", TIMES)
    assert keys.find("k1", "EC") is None
    keys.start()
    try:
        wait_for(lambda: len(KeyServer.requests) >= 3, 5, "the keys to be asked for again")
        KeyServer.answers["/keys"] = (200, key_set("k1"), "")
        wait_for(lambda: keys.find("k1", "EC"), 5, "the keys to be there")
    finally:
        keys.stop()


def test_an_unknown_key_has_them_read_earlier_but_not_often(url, monkeypatch):
    KeyServer.answers["/keys"] = (200, key_set("k1"), "")
    keys = SigningKeys(f"{url}/keys", TIMES)
    keys.start()
    try:
        wait_for(lambda: keys.find(None, "EC"), 5, "the keys to be there")
        monkeypatch.setattr(signing_keys, "UNKNOWN_KEY_INTERVAL_SECONDS", 0.0)
        KeyServer.answers["/keys"] = (200, key_set("k1", "k2"), "")
        wait_for(lambda: keys.find("k2", "EC"), 5, "the new key to be there")
        monkeypatch.setattr(signing_keys, "UNKNOWN_KEY_INTERVAL_SECONDS", 60.0)
        before = len(KeyServer.requests)
        for number in range(1_000):
            assert keys.find(f"made-up-{number}", "EC") is None
        keys.stop()
        assert len(KeyServer.requests) <= before + 1
    finally:
        keys.stop()


def test_made_up_keys_wake_the_thread_once_in_a_while(tmp_path):
    path = tmp_path / "keys.json"
    path.write_bytes(key_set("k1"))
    keys = SigningKeys(path.as_uri(), TIMES)
    assert keys.find("made-up", "EC") is None
    assert keys._wake.is_set()
    keys._wake.clear()
    assert keys.find("another", "EC") is None
    assert not keys._wake.is_set()


def test_keys_stay_when_they_cannot_be_read_again(url):
    KeyServer.answers["/keys"] = (200, key_set("k1"), "")
    keys = SigningKeys(f"{url}/keys", TIMES)
    assert keys.refresh()
    for answer in ((500, b"", ""), (200, b"no json", ""), (302, b"", f"{url}/other")):
        KeyServer.answers["/keys"] = answer
        assert not keys.refresh()
        assert keys.find("k1", "EC") is not None
    assert "/other" not in KeyServer.requests
