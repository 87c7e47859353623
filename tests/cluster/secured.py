"""Nodes in front of a Kafka whose clients log in, and whose StandardAuthorizer decides what they may do.

The nodes are a user of the cluster like others, with the rights of docs/cluster.md and no more.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from kafka import KafkaAdminClient
from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    NewTopic,
    ResourcePattern,
    ResourceType,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from coordinator.client.bootstrap import Bootstrap
from coordinator.client.security import SASL_JAAS_CONFIG, ClientSecurity
from coordinator.config.authorizer_keys import STANDARD_AUTHORIZER
from tests.cluster.running import SETTINGS, RunningNodes
from tests.differential.kafka import RunningKafka, free_port
from tests.waiting import wait_for

NODES, OPERATOR, ALICE, BOB, CAROL, DAVE = "nodes", "operator", "alice", "bob", "carol", "dave"
"""OPERATOR may describe the cluster, and read the audit. ALICE may read groups and the topic, and write it; BOB the
topic, and describe groups; CAROL read groups and describe the topic.

DAVE may what ALICE may, and logs in with PLAIN.
"""
TOPIC: Final = "orders"
PARTITIONS: Final = 2
ADOPTED, DIRECT = "adopted-", "direct-"
"""How the names of groups begin that the nodes own, and of those that stay with the cluster."""
SECONDS: Final = 30
MODULES: Final = "org.apache.kafka.common.security."
SCRAM: Final = "SCRAM-SHA-256"
PLAIN: Final = "PLAIN"
OPERATION, RESOURCE = ACLOperation, ResourceType


class Right(NamedTuple):
    """What a user may do with all resources whose names begin so; `*` stands for all, and is no name."""

    user: str
    resource_type: ResourceType
    name: str
    operations: Sequence[ACLOperation]
    is_prefix: bool = False


RIGHTS: Final = (
    # The list of docs/cluster.md.
    Right(NODES, RESOURCE.TOPIC, "__group_membership", (OPERATION.CREATE,)),
    Right(NODES, RESOURCE.TOPIC, "__group_audit", (OPERATION.CREATE,)),
    *(
        Right(
            NODES,
            RESOURCE.TOPIC,
            name,
            (OPERATION.READ, OPERATION.WRITE, OPERATION.DESCRIBE, OPERATION.DESCRIBE_CONFIGS),
        )
        for name in ("__group_membership", "__group_audit")
    ),
    Right(
        NODES, RESOURCE.TRANSACTIONAL_ID, "__group_coordinator-", (OPERATION.WRITE, OPERATION.DESCRIBE), is_prefix=True
    ),
    Right(
        NODES,
        RESOURCE.GROUP,
        ADOPTED,
        (OPERATION.READ, OPERATION.DESCRIBE, OPERATION.DELETE),
        is_prefix=True,
    ),
    Right(NODES, RESOURCE.GROUP, "__group_coordinator_nodes", (OPERATION.READ, OPERATION.DESCRIBE, OPERATION.DELETE)),
    Right(NODES, RESOURCE.TOPIC, TOPIC, (OPERATION.READ, OPERATION.DESCRIBE)),
    Right(OPERATOR, RESOURCE.CLUSTER, "kafka-cluster", (OPERATION.DESCRIBE,)),
    Right(OPERATOR, RESOURCE.TOPIC, "__group_audit", (OPERATION.READ,)),
    *(
        right
        for user in (ALICE, DAVE)
        for right in (
            Right(user, RESOURCE.GROUP, "*", (OPERATION.READ,)),
            Right(user, RESOURCE.TOPIC, TOPIC, (OPERATION.READ, OPERATION.WRITE)),
        )
    ),
    Right(BOB, RESOURCE.GROUP, "*", (OPERATION.DESCRIBE,)),
    Right(BOB, RESOURCE.TOPIC, TOPIC, (OPERATION.READ,)),
    Right(CAROL, RESOURCE.GROUP, "*", (OPERATION.READ,)),
    Right(CAROL, RESOURCE.TOPIC, TOPIC, (OPERATION.DESCRIBE,)),
)


def password_of(user: str) -> str:
    return f"{user}-secret"


def login_of(user: str) -> tuple[str, str]:
    """Mechanism and login module of a user."""
    mechanism, module = (PLAIN, "plain.PlainLoginModule") if user == DAVE else (SCRAM, "scram.ScramLoginModule")
    return mechanism, f'{MODULES}{module} required username="{user}" password="{password_of(user)}";'


def security_of(user: str) -> ClientSecurity:
    """How this project's clients connect as a user."""
    mechanism, module = login_of(user)
    return ClientSecurity(
        {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, SASL_JAAS_CONFIG: module}
    )


def librdkafka_login(user: str) -> dict[str, str]:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": login_of(user)[0],
        "sasl.username": user,
        "sasl.password": password_of(user),
    }


def kafka_python_login(user: str) -> dict[str, Any]:
    return {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": login_of(user)[0],
        "sasl_plain_username": user,
        "sasl_plain_password": password_of(user),
    }


class SecuredFront(NamedTuple):
    """The addresses: of nodes, and of the broker for clients that log in, and for the super user, who does not."""

    nodes: str
    broker: str
    super_user: str

    def bootstrap(self, user: str) -> Bootstrap:
        """The nodes, as a user of this project's clients."""
        return Bootstrap(self.nodes, security_of(user))


@contextmanager
def secured_front(folder: Path, nodes: int) -> Iterator[SecuredFront]:
    """Start a Kafka with users and ACLs, and nodes in front of it. Raises KafkaMissing."""
    ports = {name: free_port() for name in ("CLIENTS", "INTERNAL", "CONTROLLER")}
    kafka = RunningKafka(folder, kafka_settings(ports), {}, port=ports["INTERNAL"])
    with kafka:
        _prepare(kafka.bootstrap)
        broker = f"127.0.0.1:{ports['CLIENTS']}"
        settings = {**SETTINGS, "cluster.adopt": f"{ADOPTED}*"}
        with RunningNodes(folder, broker, nodes, settings, security_of(NODES), security_of(OPERATOR)) as running:
            yield SecuredFront(running.bootstrap, broker, kafka.bootstrap)


def kafka_settings(ports: Mapping[str, int]) -> dict[str, str]:
    clients = {name: port for name, port in ports.items() if name != "CONTROLLER"}
    protocols = {"CLIENTS": "SASL_PLAINTEXT", "INTERNAL": "PLAINTEXT", "CONTROLLER": "PLAINTEXT"}
    return {
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items()),
        "advertised.listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in clients.items()),
        "listener.security.protocol.map": ",".join(":".join(each) for each in protocols.items()),
        "controller.quorum.voters": f"1@127.0.0.1:{ports['CONTROLLER']}",
        "inter.broker.listener.name": "INTERNAL",
        "sasl.enabled.mechanisms": f"{PLAIN},{SCRAM}",
        "listener.name.clients.plain.sasl.jaas.config": (
            f'{MODULES}plain.PlainLoginModule required user_{DAVE}="{password_of(DAVE)}";'
        ),
        "listener.name.clients.scram-sha-256.sasl.jaas.config": f"{MODULES}scram.ScramLoginModule required;",
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "super.users": "User:ANONYMOUS",
        "group.initial.rebalance.delay.ms": "0",
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.num.partitions": "4",
        "auto.create.topics.enable": "false",
    }


def _prepare(bootstrap: str) -> None:
    """Make the topic, users and ACLs."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])
    users = (NODES, OPERATOR, ALICE, BOB, CAROL)
    admin.alter_user_scram_credentials(
        [UserScramCredentialUpsertion(user, ScramMechanism.SCRAM_SHA_256, password_of(user), 4096) for user in users]
    )
    admin.create_acls([acl for right in RIGHTS for acl in _acls(right)])
    wait_for(lambda: _can_log_in(admin, users), SECONDS, "the users to be there", every_ms=100)
    admin.close()


def _can_log_in(admin: KafkaAdminClient, users: Sequence[str]) -> bool:
    described = admin.describe_user_scram_credentials(list(users))
    return len(described) == len(users)


def _acls(right: Right) -> Iterator[ACL]:
    pattern = ACLResourcePatternType.PREFIXED if right.is_prefix else ACLResourcePatternType.LITERAL
    for operation in right.operations:
        resource = ResourcePattern(right.resource_type, right.name, pattern)
        yield ACL(f"User:{right.user}", "*", operation, ACLPermissionType.ALLOW, resource)
