"""Our server and Kafka with TLS, logins and an authorizer: the same certificate, the same user."""

from contextlib import ExitStack
from pathlib import Path
from typing import Final

from coordinator.config.authorizer_keys import STANDARD_AUTHORIZER
from tests.bench.coordinator.servers import KAFKA, LOG_LEVEL, OURS, SETTINGS, PeerMissing, Starter, Target
from tests.certificates import tls_settings
from tests.differential.kafka import KafkaMissing, RunningKafka
from tests.servers import RunningServer

USER: Final = "bench"
PASSWORD: Final = "bench-secret"
MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"


def _settings(folder: Path, listener: str) -> dict[str, str]:
    login = f'{MODULE} required username="{USER}" password="{PASSWORD}" user_{USER}="{PASSWORD}";'
    return (
        SETTINGS
        | tls_settings(folder)
        | {
            "sasl.enabled.mechanisms": "PLAIN",
            f"listener.name.{listener}.plain.sasl.jaas.config": login,
            "authorizer.class.name": STANDARD_AUTHORIZER,
            "super.users": f"User:{USER};User:ANONYMOUS",
        }
    )


def _target(name: str, bootstrap: str, pid: int, folder: Path) -> Target:
    options = ("--tls-ca", str(folder / "authority.pem"), "--login", f"{USER}:{PASSWORD}")
    return Target(name, bootstrap, pid, options=options)


def ours(folder: Path, stack: ExitStack) -> Target:
    settings = _settings(folder, "sasl_ssl") | {"listeners": "SASL_SSL://127.0.0.1:0"}
    server = stack.enter_context(RunningServer(folder, settings, log_level=LOG_LEVEL))
    return _target(OURS, server.bootstrap, server.pid, folder)


def kafka(folder: Path, stack: ExitStack) -> Target:
    """Its listener is called PLAINTEXT and has SASL_SSL: that of the controller stays as it is."""
    settings = _settings(folder, "plaintext") | {
        "listener.security.protocol.map": "PLAINTEXT:SASL_SSL,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "early.start.listeners": "CONTROLLER",
    }
    del settings["listeners"]
    try:
        running = stack.enter_context(RunningKafka(folder, settings, threads={}))
    except KafkaMissing as missing:
        raise PeerMissing(str(missing)) from None
    return _target(KAFKA, running.bootstrap, running.pid, folder)


SECURED: Final[dict[str, Starter]] = {"kafka": kafka}
"""The peers that have TLS and logins, by the names that PEERS takes."""
