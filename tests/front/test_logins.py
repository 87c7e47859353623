"""Logins on a server: delays, deadlines, bounds, log lines. What clients are told is in tests/differential/logins."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

import pytest

from _wire.errors import ErrorCode
from _wire.headers import encode_request
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.describe_groups import DescribeGroupsRequest
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.heartbeat import HeartbeatRequest
from _wire.messages.join_group import JoinGroupRequest
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from _wire.messages.offset_fetch import OffsetFetchRequest
from _wire.messages.sasl_authenticate import SaslAuthenticateRequest
from _wire.messages.sasl_handshake import SaslHandshakeRequest
from coordinator.config.key import ConfigError
from coordinator.front.login import Step
from coordinator.front.sasl_connection import SaslConnection
from coordinator.logger import logger
from coordinator.security.principal import Principal
from coordinator.security.sasl.exchange import login_failure
from coordinator.security.sasl.plain import PlainExchange
from tests.cluster.sasl_node import PORTS, SaslNode
from tests.front.test_dispatch import error_codes
from tests.sasl_server import SaslServer, plain_jaas
from tests.servers import RunningServer
from tests.waiting import wait_for
from tests.wire_client import ConnectionClosed, WireClient, produce_request

DELAY_MS: Final = 300
LOGIN_MAX_MS: Final = 700
SESSION_MS: Final = 1_500
AT_ONCE: Final = 20
RECEIVE_MAX: Final = 2_000
GOOD: Final = b"\0alice\0alice-secret"
WRONG: Final = b"\0alice\0another-secret"
JAAS: Final = "listener.name.{}.plain.sasl.jaas.config"

SETTINGS: Final = {
    "sasl.enabled.mechanisms": "PLAIN",
    "connection.failed.authentication.delay.ms": str(DELAY_MS),
    "connection.authentication.max.ms": str(LOGIN_MAX_MS),
    "max.authentications.per.ip": str(AT_ONCE),
    "sasl.server.max.receive.size": str(RECEIVE_MAX),
    "listener.name.short.connections.max.reauth.ms": str(SESSION_MS),
    "group.initial.rebalance.delay.ms": "0",
    JAAS.format("login"): plain_jaas(alice="alice-secret"),
    JAAS.format("short"): plain_jaas(alice="alice-secret"),
}
LISTENERS: Final = {"LOGIN": "SASL_PLAINTEXT", "SHORT": "SASL_PLAINTEXT", "OPEN": "PLAINTEXT"}


OF_NODE: Final = {
    name: SETTINGS[name]
    for name in ("connection.authentication.max.ms", "max.authentications.per.ip", "sasl.server.max.receive.size")
}
"""Those of a node in front of the server, whose own ones are such that only the node can be the one that refuses."""
PATIENT: Final = {
    "connection.authentication.max.ms": "60000",
    "max.authentications.per.ip": "1000",
    "sasl.server.max.receive.size": "524288",
}


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, SaslServer]]:
    """A server alone, and one with a node in front of it."""
    folder = tmp_path_factory.mktemp("logins")
    with (
        SaslServer(folder / "alone", SETTINGS, LISTENERS) as alone,
        SaslNode(folder / "behind", SETTINGS | PATIENT, LISTENERS, OF_NODE) as behind,
    ):
        yield {"LOGIN": alone, **dict.fromkeys(PORTS.values(), behind)}


@pytest.fixture(params=["LOGIN", *PORTS.values()])
def port(request: pytest.FixtureRequest) -> str:
    """Where clients log in: at a server, or at a port of a node."""
    return str(request.param)


@pytest.fixture
def address(servers: dict[str, SaslServer], port: str) -> str:
    return servers[port].addresses[port]


@pytest.fixture
def server(servers: dict[str, SaslServer]) -> SaslServer:
    return servers["LOGIN"]


@pytest.fixture
def client(address: str) -> Iterator[WireClient]:
    with WireClient(address) as connected:
        yield connected


@pytest.fixture
def at_server(server: SaslServer) -> Iterator[WireClient]:
    with WireClient(server.addresses["LOGIN"]) as connected:
        yield connected


@pytest.fixture
def short(server: SaslServer) -> Iterator[WireClient]:
    with WireClient(server.addresses["SHORT"]) as connected:
        yield connected


def handshake(client: WireClient) -> None:
    assert client.request(SaslHandshakeRequest(mechanism="PLAIN"), 1).error_code == 0


def log_in(client: WireClient, data: bytes = GOOD) -> Any:
    handshake(client)
    return client.request(SaslAuthenticateRequest(auth_bytes=data), 2)


def works(client: WireClient) -> bool:
    return bool(client.request(MetadataRequest(topics=[]), 8).brokers)


def test_a_failed_login_is_answered_late_and_the_connection_is_not_read_meanwhile(client):
    handshake(client)
    began = time.monotonic()
    sent = client.send(SaslAuthenticateRequest(auth_bytes=WRONG), 2)
    for _ in range(20):
        client.send(SaslAuthenticateRequest(auth_bytes=GOOD), 2)  # not another attempt while this one waits
    response = client.receive(sent)
    assert time.monotonic() - began >= DELAY_MS / 1000 * 0.9
    assert response.error_code == 58
    assert client.is_closed_by_peer()


def test_a_connection_is_not_read_while_its_failed_login_waits(server, at_server):
    handshake(at_server)
    at_server.send(SaslAuthenticateRequest(auth_bytes=WRONG), 2)

    def waiting() -> list[Any]:
        return [
            connection
            for connection in list(server.node.front.dispatcher.connections)
            if isinstance(connection, SaslConnection) and connection.login.step is Step.OVER
        ]

    (connection,) = wait_for(waiting, 5, "the login to fail")
    heard_ms = connection.last_heard_ms
    at_server.socket.sendall(bytes(1_000))
    time.sleep(DELAY_MS / 1000 / 3)
    assert connection.last_heard_ms == heard_ms


def test_a_right_login_is_answered_at_once(address):
    took: list[float] = []
    while not took or (min(took) >= DELAY_MS / 1000 and len(took) < 5):  # a busy machine may be slow now and then
        with WireClient(address) as client:
            began = time.monotonic()
            assert log_in(client).error_code == 0
            took.append(time.monotonic() - began)
            assert works(client)
    assert min(took) < DELAY_MS / 1000


REFUSED_BEFORE_LOGIN: Final = [
    (MetadataRequest(topics=[MetadataRequestTopic(name="t")]), 8),
    (DescribeGroupsRequest(groups=["g"]), 5),
    (JoinGroupRequest(group_id="g"), 5),
    (OffsetFetchRequest(group_id="g", topics=None), 7),
    (FindCoordinatorRequest(key="g"), 3),
    (FindCoordinatorRequest(key="g", key_type=101), 3),
    (produce_request("t", b""), 9),
    (SaslAuthenticateRequest(auth_bytes=GOOD), 2),
]


@pytest.mark.parametrize(("request_", "version"), REFUSED_BEFORE_LOGIN, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("said", ["nothing", "ApiVersions", "SaslHandshake"])
def test_nothing_but_the_login_is_answered_before_it(client, said, request_, version):
    if said == "ApiVersions":
        client.request(ApiVersionsRequest(), 0)
    elif said == "SaslHandshake" and type(request_) is not SaslAuthenticateRequest:
        handshake(client)
    sent = client.send(request_, version)
    try:
        response = client.receive(sent)
    except ConnectionClosed:
        return
    assert ErrorCode.ILLEGAL_SASL_STATE in set(error_codes(response)), "as Kafka, between handshake and login"


@pytest.mark.parametrize(
    "frame", [b"\x00\x11\x00\x01", b"\x00\x11\x00\x01\x00\x00\x00\x01\xff\xff\x7f\xffPL", b"\x00\x11"]
)
def test_a_damaged_handshake_closes_the_connection_without_a_traceback(client, frame, caplog):
    client.socket.sendall(len(frame).to_bytes(4, "big") + frame)
    assert client.is_closed_by_peer()
    assert [record for record in caplog.records if record.exc_info] == []


def test_requests_sent_with_the_login_are_served_after_it(client):
    frames = [
        encode_request(number, "test", message, version)
        for number, (message, version) in enumerate(
            [
                (ApiVersionsRequest(client_software_name="a", client_software_version="1"), 3),
                (SaslHandshakeRequest(mechanism="PLAIN"), 1),
                (SaslAuthenticateRequest(auth_bytes=GOOD), 2),
                (MetadataRequest(topics=[]), 8),
                (MetadataRequest(topics=[]), 8),
            ]
        )
    ]
    client.socket.sendall(b"".join(frames))
    assert [int.from_bytes(client.read_frame()[:4], "big") for _ in frames] == list(range(5))


def principals(servers: dict[str, SaslServer], port: str) -> set[tuple[str, ...]]:
    """Whose the connections at a port are by now."""
    server = servers[port]
    front = server.node.front if port == "LOGIN" else cast(SaslNode, server).front_node.front
    return {tuple(connection.principal) for connection in list(front.dispatcher.connections)}


@pytest.mark.parametrize("port", ["LOGIN", PORTS["node"]])
def test_the_principal_is_that_of_the_login(servers, port, client):
    client.request(ApiVersionsRequest(), 0)
    handshake(client)
    assert Principal("User", "alice") not in principals(servers, port)
    sent = client.send(SaslAuthenticateRequest(auth_bytes=WRONG), 2)
    assert client.receive(sent).error_code
    assert Principal("User", "alice") not in principals(servers, port)
    with WireClient(servers[port].addresses[port]) as other:
        log_in(other)
        assert Principal("User", "alice") in principals(servers, port)


def test_a_login_that_is_not_finished_in_time_ends(address):
    """Whatever the client has sent so far."""
    with WireClient(address) as silent, WireClient(address) as half:
        half.request(ApiVersionsRequest(), 0)
        handshake(half)
        half.socket.sendall(b"\x00\x00\x00\x10ab")
        began = time.monotonic()
        for each in (silent, half):
            assert each.is_closed_by_peer()
        assert LOGIN_MAX_MS / 1000 * 0.5 < time.monotonic() - began < LOGIN_MAX_MS / 1000 * 5


def test_a_connection_that_has_logged_in_may_rest(client):
    log_in(client)
    time.sleep(LOGIN_MAX_MS / 1000 * 1.5)
    assert works(client)


def test_an_address_has_so_many_logins_under_way(server, address):
    waiting = [WireClient(address) for _ in range(AT_ONCE)]
    try:
        for each in waiting:
            each.request(ApiVersionsRequest(), 0)
        with WireClient(address) as refused:
            assert refused.is_closed_by_peer()
        with WireClient(server.addresses["OPEN"]) as other:
            assert works(other)
        for each in waiting[: AT_ONCE // 2]:
            log_in(each)
        with WireClient(address) as accepted:
            assert log_in(accepted).error_code == 0
    finally:
        for each in waiting:
            each.socket.close()


def test_what_is_sent_before_the_login_is_small(address, client):
    with pytest.raises(ConnectionClosed):
        log_in(client, bytes(RECEIVE_MAX))
    with WireClient(address) as other:
        log_in(other)
        names = [str(number) * 10 for number in range(1_000)]
        assert other.request(MetadataRequest(topics=[]), 8).brokers
        message = HeartbeatRequest(group_id="".join(names), generation_id=1, member_id="")
        assert other.request(message, 3).error_code, "a large request is served after it"


def test_the_session_ends_for_heartbeats_too(short):
    """Those of live sessions are answered in C, and never reach the login otherwise."""
    lifetime_ms = log_in(short).session_lifetime_ms
    assert lifetime_ms == SESSION_MS
    began = time.monotonic()
    member_id = short.join_alone("g1")
    assert short.heartbeat_error("g1", member_id) == 0
    with pytest.raises(ConnectionClosed):
        while time.monotonic() - began < 10:
            assert short.heartbeat_error("g1", member_id) == 0
    assert time.monotonic() - began == pytest.approx(SESSION_MS / 1000, abs=0.3)


def test_a_session_that_is_renewed_goes_on(short):
    log_in(short)
    member_id = short.join_alone("g2")
    for _ in range(3):
        time.sleep(1.1)
        assert log_in(short).error_code == 0
        assert short.heartbeat_error("g2", member_id) == 0


def test_heartbeats_wait_while_the_connection_logs_in_again(short):
    """Kafka takes nothing but the login then."""
    log_in(short)
    member_id = short.join_alone("g3")
    handshake(short)
    with pytest.raises(ConnectionClosed):
        while True:
            short.heartbeat_error("g3", member_id)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_failure_that_quotes_a_very_long_name_is_answered(client, version, monkeypatch):
    """A string of a response has 32,767 bytes at most, before the flexible versions."""

    def fail(exchange: PlainExchange, response: bytes) -> None:
        raise login_failure("ü" * 100_000)

    monkeypatch.setattr(PlainExchange, "evaluate", fail)
    handshake(client)
    response = client.request(SaslAuthenticateRequest(auth_bytes=GOOD), version)
    assert (response.error_code, len(response.error_message)) == (58, 501)


def test_a_defect_closes_the_connection_with_a_line_that_has_no_secret(tmp_path, monkeypatch):
    def fail(exchange: PlainExchange, response: bytes) -> None:
        raise RuntimeError(response)

    lines: list[str] = []
    monkeypatch.setattr(PlainExchange, "evaluate", fail)
    monkeypatch.setattr(logger, "error", lambda event, **fields: lines.append(f"{event} {fields}"))
    with (
        SaslServer(tmp_path, SETTINGS, LISTENERS) as own,
        WireClient(own.addresses["LOGIN"]) as client,
        pytest.raises(ConnectionClosed),
    ):
        log_in(client)
    (line,) = [each for each in lines if "in a login" in each]  # the node of other tests has errors of its own
    assert "RuntimeError" in line and "test_logins.py" in line
    assert "secret" not in line


def test_counts_are_kept(server, at_server):
    meter = server.login_meter("LOGIN")
    before = (meter.successes, meter.failures)
    log_in(at_server)
    with WireClient(server.addresses["LOGIN"]) as other:
        log_in(other, WRONG)
    assert (meter.successes, meter.failures) == (before[0] + 1, before[1] + 1)


def test_a_failed_login_is_one_line_without_the_password(tmp_path: Path):
    settings = SETTINGS | {
        "listeners": "LOGIN://127.0.0.1:0,SHORT://127.0.0.1:0",
        "listener.security.protocol.map": "LOGIN:SASL_PLAINTEXT,SHORT:SASL_PLAINTEXT",
        "connection.failed.authentication.delay.ms": "0",
    }
    with RunningServer(tmp_path, settings, log_level="debug") as running:
        with WireClient(running.bootstrap) as client:
            log_in(client, b"\0evil\nuser\x1b[2J" + b"x" * 500 + b"\0another-secret")
        line = wait_for(
            lambda: next(
                (splitline for splitline in running.log.read_text().splitlines() if "login failed" in splitline), ""
            ),
            5,
            "the server to log",
        )
        assert "on listener LOGIN, PLAIN, user" in line
        assert "client=/127.0.0.1" in line
        assert "evil\\\\nuser" in line or "evil\\nuser" in line
        assert "x" * 150 not in line
        for _ in range(50):
            with WireClient(running.bootstrap) as client:
                log_in(client, WRONG)
        logged = running.log.read_text()
        assert "secret" not in logged
        assert logged.count("login failed") < 20


def test_the_users_of_plain_are_read_from_a_jaas_file(tmp_path):
    file = tmp_path / "jaas.conf"
    file.write_text(f"KafkaServer {{ {plain_jaas(alice='alice-secret')} }};\n")
    settings = {"sasl.enabled.mechanisms": "PLAIN", "java.security.auth.login.config": str(file)}
    with SaslServer(tmp_path / "data", settings, {"LOGIN": "SASL_PLAINTEXT"}) as running:
        with WireClient(running.addresses["LOGIN"]) as client:
            assert log_in(client).error_code == 0
        with WireClient(running.addresses["LOGIN"]) as client:
            assert log_in(client, WRONG).error_code == 58


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (
            {"sasl.enabled.mechanisms": "PLAIN", "java.security.auth.login.config": "/none"},
            "java.security.auth.login.config: cannot read /none: ",
        ),
        ({}, "sasl.enabled.mechanisms=: the listener LOGIN needs one at least of PLAIN"),
        ({"sasl.enabled.mechanisms": "GSSAPI"}, "sasl.enabled.mechanisms=GSSAPI: the listener LOGIN needs"),
        ({"sasl.enabled.mechanisms": "PLAIN,plain"}, "and no other"),
        ({"sasl.enabled.mechanisms": "PLAIN"}, "listener.name.login.plain.sasl.jaas.config is missing"),
        (
            {"sasl.enabled.mechanisms": "PLAIN", JAAS.format("login"): 'PlainLoginModule required user_a="secret"'},
            "listener.name.login.plain.sasl.jaas.config: a login module does not end with a semicolon",
        ),
        ({"sasl.enabled.mechanisms": "OAUTHBEARER"}, "sasl.oauthbearer.jwks.endpoint.url=: expected https://HOST/PATH"),
        (
            {"sasl.enabled.mechanisms": "OAUTHBEARER", "sasl.oauthbearer.jwks.endpoint.url": "file:///none"},
            "sasl.oauthbearer.jwks.endpoint.url=file:///none: cannot read /none: No such file",
        ),
    ],
)
def test_what_is_missing_is_said_at_the_start(tmp_path, settings, reason):
    with pytest.raises(ConfigError) as problem, SaslServer(tmp_path, settings, {"LOGIN": "SASL_PLAINTEXT"}):
        pass
    assert reason in str(problem.value)
    assert "secret" not in str(problem.value)
    assert "\n" not in str(problem.value)
