"""The conversations: each is a function of a client, played on a listener of the same name on both sides."""

import base64
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from _wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from _wire.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from _wire.messages.heartbeat import HeartbeatRequest
from _wire.messages.metadata import MetadataRequest
from _wire.messages.produce import ProduceRequest
from coordinator.security.sasl.scram_credentials import ScramMechanism
from tests.differential.logins.client import SESSION_MS, Change, LoginClient

ANONYMOUS, LOGIN, SHORT = "PLAINTEXT", "LOGIN", "SHORT"
RENEWAL_SECONDS: Final = 1.1
"""A connection logs in again at most once a second."""
AFTER_SESSION_SECONDS: Final = SESSION_MS / 1000 + 0.3

Talk = Callable[[LoginClient], None]


@dataclass(frozen=True)
class Conversation:
    name: str
    listener: str
    talk: Talk


CONVERSATIONS: Final[list[Conversation]] = []

KAFKA_FAILS: Final = {
    "scram_huge_name": "its regular expression overflows the stack, and the client is never answered",
    "scram_short_proof": "it reads beyond the end of the proof, and closes the connection without an answer",
    "token_scheme": "it asks for a group that its regular expression does not have, and closes without an answer",
}
"""Where Kafka has a defect, and this server answers as to any other failed login."""


def on(listener: str) -> Callable[[Talk], Talk]:
    def add(talk: Talk) -> Talk:
        CONVERSATIONS.append(Conversation(talk.__name__, listener, talk))
        return talk

    return add


def each(listener: str, **talks: Talk) -> None:
    for name, talk in talks.items():
        CONVERSATIONS.append(Conversation(name, listener, talk))


def login(first: Callable[[LoginClient], object], *then: Callable[[LoginClient], object]) -> Talk:
    """A conversation of these parts, and how it ends."""

    def talk(client: LoginClient) -> None:
        for part in (first, *then):
            if "closed" not in client.said:
                part(client)
        if "closed" not in client.said:
            client.ends()

    return talk


# ---- before the login


def works(client: LoginClient) -> None:
    client.works()


def handshake(mechanism: str = "PLAIN", version: int = 1) -> Talk:
    return lambda client: client.handshake(mechanism, version)


def api_versions(version: int = 3, name: str = "logins") -> Talk:
    return lambda client: client.api_versions(version, name)


def plain(data: bytes, version: int = 2) -> Talk:
    def talk(client: LoginClient) -> None:
        client.handshake("PLAIN")
        client.authenticate(data, version)

    return talk


def token_frame(data: bytes) -> Talk:
    """A token as after SaslHandshake v0; its answer is a frame of the mechanism."""

    def talk(client: LoginClient) -> None:
        answer = client.exchange(data)
        if answer is not None:
            client.said.append(f"token {answer!r}")

    return talk


def frame(data: bytes) -> Talk:
    return lambda client: client.frame(data)


def send(data: bytes) -> Talk:
    def talk(client: LoginClient) -> None:
        if client.send_bytes(data) is not None:
            client.said.append("answered")

    return talk


GOOD: Final = b"\0alice\0alice-secret"
NULL_CLIENT: Final = b"\xff\xff"

each(
    LOGIN,
    api_versions_once=login(api_versions(), handshake(), lambda c: c.authenticate(GOOD), works),
    api_versions_twice=login(api_versions(), api_versions()),
    api_versions_of_an_unknown_version=login(
        send(b"\x00\x00\x00\x0b\x00\x12\x00\x63\x00\x00\x00\x01" + NULL_CLIENT + b"\x00"),
        api_versions(),
        api_versions(),
    ),
    api_versions_with_an_invalid_name=login(api_versions(name="!"), api_versions(), api_versions()),
    api_versions_between=login(handshake(), api_versions()),
    metadata_first=login(works),
    metadata_between=login(handshake(), lambda c: c.request(MetadataRequest(topics=[]), 8, lambda r: "Metadata")),
    heartbeat_between=login(
        handshake(), lambda c: c.request(HeartbeatRequest(group_id="g", generation_id=1, member_id="m"), 3)
    ),
    produce_without_answer_between=login(
        handshake(), lambda c: c.request(ProduceRequest(acks=0, timeout_ms=1000, topic_data=[]), 9)
    ),
    authenticate_first=login(lambda c: c.authenticate(GOOD)),
    unknown_mechanism=login(handshake("NTLM")),
    mechanism_in_lower_case=login(handshake("plain")),
    empty_mechanism=login(handshake("")),
    handshake_twice=login(handshake(), handshake()),
    handshake_of_an_unknown_version=login(frame(b"\x00\x11\x00\x02\x00\x00\x00\x01" + NULL_CLIENT + b"\x00\x05PLAIN")),
    unknown_api=login(send(b"\x00\x00\x00\x0a\x7f\x00\x00\x00\x00\x00\x00\x01" + NULL_CLIENT)),
    no_header=login(send(b"\x00\x00\x00\x01\x00")),
    empty_frame=login(send(b"\x00\x00\x00\x00")),
    huge_frame=login(send((524_289).to_bytes(4, "big") + bytes(2_000))),
    negative_frame=login(send(b"\xff\xff\xff\xff" + bytes(2_000))),
    http=login(send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")),
    truncated_authenticate=login(
        handshake(), send(b"\x00\x00\x00\x0b\x00\x24\x00\x02\x00\x00\x00\x01" + NULL_CLIENT + b"\x00")
    ),
    authenticate_of_an_unknown_version=login(
        handshake(), send(b"\x00\x00\x00\x0f\x00\x24\x00\x09\x00\x00\x00\x01" + NULL_CLIENT + b"\x00\x02a\x00\x00")
    ),
    largest_frame=login(handshake(), lambda c: c.authenticate(bytes(524_200))),
)

# ---- PLAIN

each(
    LOGIN,
    plain_right=login(plain(GOOD), works),
    plain_right_in_version_1=login(plain(GOOD, 1), works),
    plain_right_in_version_0=login(plain(GOOD, 0), works),
    plain_wrong_password=login(plain(b"\0alice\0wrong")),
    plain_wrong_password_in_version_0=login(plain(b"\0alice\0wrong", 0)),
    plain_unknown_user=login(plain(b"\0mallory\0alice-secret")),
    plain_no_user=login(plain(b"\0\0alice-secret")),
    plain_no_password=login(plain(b"\0alice\0")),
    plain_one_part=login(plain(b"alice")),
    plain_two_parts=login(plain(b"alice\0alice-secret")),
    plain_four_parts=login(plain(b"\0alice\0alice-secret\0")),
    plain_many_parts=login(plain(b"\0" * 1000)),
    plain_nothing=login(plain(b"")),
    plain_authorization_id=login(plain(b"alice\0alice\0alice-secret"), works),
    plain_other_authorization_id=login(plain(b"bob\0alice\0alice-secret")),
    plain_other_authorization_id_and_password=login(plain(b"bob\0alice\0wrong")),
    plain_bad_utf8=login(plain(b"\0ali\xff\xfe\0alice-secret")),
    plain_quotes_and_backslashes=login(plain(b'\0bob\0it"s a \\ secret'), works),
    plain_of_version_0=login(handshake(version=0), token_frame(GOOD), works),
    plain_wrong_of_version_0=login(handshake(version=0), token_frame(b"\0alice\0wrong")),
    plain_with_a_header_after_version_0=login(handshake(version=0), lambda c: c.authenticate(GOOD)),
    login_twice=login(plain(GOOD), handshake(), works),
    authenticate_after_login=login(plain(GOOD), lambda c: c.authenticate(GOOD), works),
)

# ---- SCRAM


def scram(user: str, password: str, mechanism: str = "SCRAM-SHA-256", change: Change | None = None) -> Talk:
    return lambda client: client.scram(user, password, mechanism, change)


def first_message(message: bytes, mechanism: str = "SCRAM-SHA-256") -> Talk:
    def talk(client: LoginClient) -> None:
        client.handshake(mechanism)
        client.authenticate(message)

    return talk


def changed(number: int, old: bytes, new: bytes) -> Change:
    return lambda at, message: message.replace(old, new, 1) if at == number else message


def with_final(new: Callable[[bytes], bytes]) -> Change:
    return lambda at, message: new(message) if at == 2 else message


def _other_proof(message: bytes) -> bytes:
    start, _, proof = message.rpartition(b",p=")
    raw = bytearray(base64.b64decode(proof))
    raw[0] ^= 1
    return start + b",p=" + base64.b64encode(bytes(raw))


each(
    LOGIN,
    scram_256=login(scram("carol", "carol-secret"), works),
    scram_512=login(scram("carol", "carol-secret-512", "SCRAM-SHA-512"), works),
    scram_wrong_password=login(scram("carol", "wrong")),
    scram_unknown_user=login(scram("mallory", "carol-secret")),
    scram_other_mechanism_only=login(scram("dave", "dave-secret", "SCRAM-SHA-512")),
    scram_escaped_name=login(scram("a=b,c", "escaped-secret"), works),
    scram_short_salt=login(scram("erin", "erin-secret"), works),
    scram_y_flag=login(first_message(b"y,,n=carol,r=abc")),
    scram_p_flag=login(first_message(b"p=tls-unique,,n=carol,r=abc")),
    scram_authorization_id=login(first_message(b"n,a=carol,n=carol,r=abc")),
    scram_other_authorization_id=login(first_message(b"n,a=bob,n=carol,r=abc")),
    scram_mandatory_extension=login(first_message(b"n,,m=ext,n=carol,r=abc")),
    scram_extension=login(first_message(b"n,,n=carol,r=abc,ext=1")),
    scram_token=login(first_message(b"n,,n=carol,r=abc,tokenauth=true")),
    scram_no_token=login(first_message(b"n,,n=carol,r=abc,tokenauth=false")),
    scram_no_nonce=login(first_message(b"n,,n=carol,r=")),
    scram_no_name=login(first_message(b"n,,n=,r=abc")),
    scram_nothing=login(first_message(b"")),
    scram_bad_escape=login(first_message(b"n,,n=a=2Db,r=abc")),
    scram_bad_utf8=login(first_message(b"n,,n=car\xffol,r=abc")),
    scram_name_beyond_ascii=login(first_message("n,,n=jürgen,r=abc".encode())),
    scram_zero_byte=login(first_message(b"n,,n=carol\0,r=abc")),
    scram_huge_nonce=login(first_message(b"n,,n=mallory,r=" + b"a" * 100_000)),
    scram_huge_name=login(first_message(b"n,,n=" + b"a" * 100_000 + b",r=abc")),
    scram_of_plain=login(first_message(GOOD)),
    scram_other_nonce=login(scram("carol", "carol-secret", change=changed(2, b"r=", b"r=x"))),
    scram_other_proof=login(scram("carol", "carol-secret", change=with_final(_other_proof))),
    scram_short_proof=login(
        scram("carol", "carol-secret", change=with_final(lambda m: m.rpartition(b",p=")[0] + b",p=AAAA"))
    ),
    scram_no_proof=login(scram("carol", "carol-secret", change=with_final(lambda m: m.rpartition(b",p=")[0]))),
    scram_bad_base64=login(
        scram("carol", "carol-secret", change=with_final(lambda m: m.rpartition(b",p=")[0] + b",p=!!!!"))
    ),
    scram_other_binding=login(scram("carol", "carol-secret", change=changed(2, b"c=biws", b"c=eSws"))),
    scram_first_message_twice=login(
        scram("carol", "carol-secret", change=lambda at, message: b"n,,n=carol,r=abc" if at == 2 else message)
    ),
)

# ---- OAUTHBEARER


def answer_error(client: LoginClient) -> None:
    client.authenticate(b"\x01")


def refused(make: Callable[[LoginClient], str]) -> Talk:
    """A token that is answered with a challenge, which the client acknowledges."""
    return login(lambda c: c.oauth(make(c)), answer_error)


def _tampered(token: str) -> str:
    header, claims, signature = token.split(".")
    return ".".join((header, claims[:-2] + ("A" if claims[-2] != "A" else "B") + claims[-1], signature))


NONE_ALGORITHM: Final = base64.urlsafe_b64encode(b'{"alg":"none"}').rstrip(b"=").decode()


def _unsigned(client: LoginClient) -> str:
    return f"{NONE_ALGORITHM}.{client.token().split('.')[1]}."


def now() -> int:
    return int(time.time())


each(
    LOGIN,
    token_right=login(lambda c: c.oauth(c.token()), works),
    token_of_an_elliptic_key=login(lambda c: c.oauth(c.token("e1", "ES256")), works),
    token_without_key_id=login(lambda c: c.oauth(c.token(header={"kid": None})), works),
    token_with_another_algorithm=login(lambda c: c.oauth(c.token(algorithm="RS384")), answer_error),
    token_expired=refused(lambda c: c.token(iat=now() - 7200, exp=now() - 3600)),
    token_expired_within_the_skew=login(lambda c: c.oauth(c.token(iat=now() - 60, exp=now() - 5))),
    token_expires_before_it_was_issued=refused(lambda c: c.token(iat=now(), exp=now() - 5)),
    token_not_valid_yet=refused(lambda c: c.token(nbf=now() + 3600)),
    token_issued_in_the_future=login(lambda c: c.oauth(c.token(iat=now() + 3600)), answer_error),
    token_without_expiry=refused(lambda c: c.token(exp=None)),
    token_without_issue_time=refused(lambda c: c.token(iat=None)),
    token_without_subject=refused(lambda c: c.token(sub=None)),
    token_with_an_empty_subject=refused(lambda c: c.token(sub="")),
    token_with_blanks_as_subject=refused(lambda c: c.token(sub="  ")),
    token_of_another_issuer=refused(lambda c: c.token(iss="https://other.test")),
    token_without_issuer=refused(lambda c: c.token(iss=None)),
    token_for_another_audience=refused(lambda c: c.token(aud="other")),
    token_without_audience=refused(lambda c: c.token(aud=None)),
    token_for_several_audiences=login(lambda c: c.oauth(c.token(aud=["other", "kafka"])), works),
    token_with_scopes=login(lambda c: c.oauth(c.token(scope=["a", "b"])), works),
    token_with_a_scope_twice=login(lambda c: c.oauth(c.token(scope=["a", "a"])), answer_error),
    token_with_an_empty_scope=login(lambda c: c.oauth(c.token(scope=[""])), answer_error),
    token_of_an_unknown_key=refused(lambda c: c.token("unknown")),
    token_unsigned=refused(_unsigned),
    token_tampered=refused(lambda c: _tampered(c.token())),
    token_no_jwt=refused(lambda c: "abc"),
    token_refused_and_another_answer=login(lambda c: c.oauth("abc"), lambda c: c.authenticate(b"x")),
    token_refused_and_a_right_one=login(
        lambda c: c.oauth("abc"),
        lambda c: c.authenticate(f"n,,\x01auth=Bearer {c.token()}\x01\x01".encode()),
        works,
    ),
    token_acknowledged_without_error=login(handshake("OAUTHBEARER"), answer_error),
    token_authorization_id=login(lambda c: c.oauth(c.token(), authorization_id="alice"), works),
    token_other_authorization_id=login(lambda c: c.oauth(c.token(), authorization_id="bob")),
    token_extensions=login(lambda c: c.oauth(c.token(), extensions="traceId=123\x01"), works),
    token_scheme=login(first_message(b"n,,\x01auth=Basic abc\x01\x01", "OAUTHBEARER")),
    token_scheme_in_lower_case=login(
        handshake("OAUTHBEARER"), lambda c: c.authenticate(f"n,,\x01auth=bearer {c.token()}\x01\x01".encode()), works
    ),
    token_missing=login(first_message(b"n,,\x01host=a\x01\x01", "OAUTHBEARER")),
    token_no_pairs=login(first_message(b"n,,\x01\x01", "OAUTHBEARER")),
    token_no_end=login(first_message(b"n,,\x01auth=Bearer abc\x01", "OAUTHBEARER")),
    token_y_flag=login(first_message(b"y,,\x01auth=Bearer abc\x01\x01", "OAUTHBEARER")),
    token_nothing=login(first_message(b"", "OAUTHBEARER")),
    token_bad_utf8=login(first_message(b"n,,\x01auth=Bearer \xff\x01\x01", "OAUTHBEARER")),
    token_huge=login(first_message(b"n,,\x01auth=Bearer " + b"a" * 500_000 + b"\x01\x01", "OAUTHBEARER"), answer_error),
)

# ---- logging in again


def rest(seconds: float) -> Talk:
    return lambda client: time.sleep(seconds)


each(
    SHORT,
    again=login(plain(GOOD), works, plain(GOOD), works),
    again_twice_at_once=login(plain(GOOD), plain(GOOD), handshake(), works),
    again_twice=login(plain(GOOD), plain(GOOD), rest(RENEWAL_SECONDS), plain(GOOD), works),
    again_in_version_0=login(plain(GOOD), handshake(version=0), token_frame(GOOD), works),
    again_another_user=login(plain(GOOD), plain(b'\0bob\0it"s a \\ secret')),
    again_wrong_password=login(plain(GOOD), plain(b"\0alice\0wrong")),
    again_another_mechanism=login(plain(GOOD), handshake("SCRAM-SHA-256"), lambda c: c.authenticate(b"n,,n=carol,r=a")),
    again_unknown_mechanism=login(plain(GOOD), handshake("NTLM")),
    again_with_a_request_between=login(plain(GOOD), handshake(), works),
    again_scram=login(scram("carol", "carol-secret"), scram("carol", "carol-secret"), works),
    again_scram_wrong=login(scram("carol", "carol-secret"), scram("carol", "wrong")),
    session_ended=login(plain(GOOD), rest(AFTER_SESSION_SECONDS), works),
    session_ended_and_again=login(plain(GOOD), rest(AFTER_SESSION_SECONDS), plain(GOOD), works),
    session_ended_and_heartbeat=login(
        plain(GOOD),
        rest(AFTER_SESSION_SECONDS),
        lambda c: c.request(HeartbeatRequest(group_id="g", generation_id=1, member_id="m"), 3),
    ),
    session_ended_and_api_versions=login(plain(GOOD), rest(AFTER_SESSION_SECONDS), api_versions()),
    session_ended_and_authenticate=login(plain(GOOD), rest(AFTER_SESSION_SECONDS), lambda c: c.authenticate(GOOD)),
    session_of_a_token=login(lambda c: c.oauth(c.token()), works),
    session_of_a_shorter_token=login(lambda c: c.oauth(c.token(exp=now() + 2))),
    session_of_version_0=login(handshake(version=0), token_frame(GOOD), rest(AFTER_SESSION_SECONDS), works),
)

# ---- credentials

SALT: Final = b"0123456789abcdef"
PASSWORD: Final = bytes(32)
SHA_256, SHA_512 = map(int, ScramMechanism)


def upsert(
    name: str, mechanism: int = SHA_256, iterations: int = 4096, salt: bytes = SALT, password: bytes = PASSWORD
) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(
        name=name, mechanism=mechanism, iterations=iterations, salt=salt, salted_password=password
    )


def delete(name: str, mechanism: int = SHA_256) -> ScramCredentialDeletion:
    return ScramCredentialDeletion(name=name, mechanism=mechanism)


def alter(*changes: ScramCredentialUpsertion | ScramCredentialDeletion) -> Talk:
    upsertions = [change for change in changes if isinstance(change, ScramCredentialUpsertion)]
    deletions = [change for change in changes if isinstance(change, ScramCredentialDeletion)]
    request = AlterUserScramCredentialsRequest(deletions=deletions, upsertions=upsertions)
    return lambda client: client.request(request, 0)


def describe(*names: str) -> Talk:
    request = DescribeUserScramCredentialsRequest(users=[UserName(name=name) for name in names])

    def talk(client: LoginClient) -> None:
        time.sleep(0.3)  # Kafka answers a change before its brokers have it
        client.request(request, 0)

    return talk


each(
    ANONYMOUS,
    credential_set_and_removed=login(
        alter(upsert("u1")), describe("u1"), alter(delete("u1")), describe("u1"), alter(delete("u1"))
    ),
    credential_of_both_mechanisms=login(
        alter(upsert("u2")),
        alter(upsert("u2", SHA_512, 8192)),
        describe("u2"),
        alter(delete("u2", SHA_512)),
        describe("u2"),
        alter(delete("u2")),
    ),
    credential_replaced=login(
        alter(upsert("u3")), alter(upsert("u3", iterations=5000)), describe("u3"), alter(delete("u3"))
    ),
    credential_iterations=login(
        alter(upsert("u4", iterations=4095), upsert("u5", iterations=16_385), upsert("u6", iterations=-1)),
        alter(upsert("u4", iterations=16_384)),
        describe("u4", "u5", "u6"),
        alter(delete("u4")),
    ),
    credential_of_unknown_mechanisms=login(
        alter(upsert("u7", 0), upsert("u8", 3), delete("u9", -1), delete("u10", 127))
    ),
    credential_without_name=login(alter(upsert("")), alter(delete(""))),
    credential_without_name_and_mechanism=login(alter(upsert("", 0))),
    credential_set_twice=login(
        alter(upsert("u11"), upsert("u11", SHA_512), upsert("u12")), describe("u11"), alter(delete("u12"))
    ),
    credential_set_thrice=login(alter(upsert("u13"), upsert("u13"), upsert("u13")), describe("u13")),
    credential_set_and_deleted_at_once=login(
        alter(upsert("u14")), alter(delete("u14"), upsert("u14")), describe("u14"), alter(delete("u14"))
    ),
    credential_deleted_twice_at_once=login(
        alter(upsert("u15")), alter(delete("u15"), delete("u15")), alter(delete("u15"))
    ),
    credential_good_and_bad=login(
        alter(upsert("u16"), upsert("u17", iterations=1), delete("u18")), describe("u16", "u17"), alter(delete("u16"))
    ),
    credential_without_salt=login(alter(upsert("u19", salt=b"")), describe("u19")),
    credential_without_password=login(
        alter(upsert("u20", password=b""), upsert("u21")), describe("u20", "u21"), alter(delete("u21"))
    ),
    credential_nothing=login(alter()),
    credential_described_twice=login(describe("u22", "u22", "carol")),
    credential_of_nobody=login(describe("u23", "")),
    credential_named_strangely=login(
        alter(upsert("ü\n=,"), upsert("a" * 500)),
        describe("ü\n=,", "a" * 500),
        alter(delete("ü\n=,"), delete("a" * 500)),
    ),
    handshake_without_login=login(handshake(), lambda c: c.authenticate(GOOD), works),
)
