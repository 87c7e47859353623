"""Nodes in front of a Kafka whose clients log in, and whose StandardAuthorizer decides what they may do.

The nodes are a user of the cluster like others, with the rights of docs/cluster.md and no more. With TLS, brokers and
nodes have the same stores.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from confluent_kafka import Consumer, KafkaException, Producer
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
"""OPERATOR may describe the cluster, adopt groups, and read the audit. ALICE may read groups and the topic, and write
it; BOB the topic, and describe groups; CAROL read groups and describe the topic.

DAVE may what ALICE may, and logs in with PLAIN.
"""
NODES_CERTIFICATE: Final = "CN=nodes"
"""The same user, by the name in a certificate."""
TOPIC: Final = "orders"
HIDDEN: Final = "hidden"
"""A topic that the nodes may read, and nobody else."""
PARTITIONS: Final = 2
RECORDS: Final = 10
ADOPTED, DIRECT = "adopted-", "direct-"
"""How the names of groups begin that the nodes own, and of those that stay with the cluster."""
SECONDS: Final = 30
POLL_SECONDS: Final = 0.2
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


RIGHTS_OF_NODES: Final = (
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
        (OPERATION.READ, OPERATION.DESCRIBE, OPERATION.DELETE, OPERATION.DESCRIBE_CONFIGS),
        is_prefix=True,
    ),
    Right(NODES, RESOURCE.GROUP, "__group_coordinator_nodes", (OPERATION.READ, OPERATION.DESCRIBE, OPERATION.DELETE)),
    *(Right(NODES, RESOURCE.TOPIC, name, (OPERATION.READ, OPERATION.DESCRIBE)) for name in (TOPIC, HIDDEN)),
)
"""Of the nodes: the list of docs/cluster.md."""
RIGHTS: Final = (
    *RIGHTS_OF_NODES,
    *(right._replace(user=NODES_CERTIFICATE) for right in RIGHTS_OF_NODES),
    Right(OPERATOR, RESOURCE.CLUSTER, "kafka-cluster", (OPERATION.DESCRIBE, OPERATION.ALTER)),
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


def security_of(user: str, trusted: str = "") -> ClientSecurity:
    """How this project's clients connect as a user; with TLS if `trusted` is the file of an authority."""
    mechanism, module = login_of(user)
    login = {"sasl.mechanism": mechanism, SASL_JAAS_CONFIG: module}
    if not trusted:
        return ClientSecurity({"security.protocol": "SASL_PLAINTEXT"} | login)
    stores = {"ssl.truststore.type": "PEM", "ssl.truststore.location": trusted}
    return ClientSecurity({"security.protocol": "SASL_SSL"} | stores | login)


def librdkafka_login(user: str, trusted: str = "") -> dict[str, str]:
    tls = {"security.protocol": "SASL_SSL", "ssl.ca.location": trusted}
    return {
        **(tls if trusted else {"security.protocol": "SASL_PLAINTEXT"}),
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


def produce(client: Mapping[str, str]) -> None:
    """Write the records. `client` is how librdkafka connects."""
    producer = Producer(dict(client))
    for number in range(RECORDS):
        producer.produce(TOPIC, b"%d" % number, partition=number % PARTITIONS)
    assert producer.flush(SECONDS) == 0


def outcome(client: Mapping[str, str], group_id: str, topics: Sequence[str] = (TOPIC,)) -> str:
    """The first error that a consumer is told, or of its commit when it has read all; empty if there is none."""
    consumer = Consumer({**client, "group.id": group_id, "auto.offset.reset": "earliest"})
    consumer.subscribe([*topics])
    read = 0

    def told() -> str:
        nonlocal read
        message = consumer.poll(POLL_SECONDS)
        if message is None:
            return ""
        error = message.error()
        read += error is None
        return error.name() if error is not None else "all" if read == RECORDS else ""

    try:
        first = wait_for(told, SECONDS, f"a consumer of {group_id} to have read all, or to be told an error")
        return first if first != "all" else committed(consumer)
    finally:
        consumer.close()


def committed(consumer: Consumer) -> str:
    """The error of a commit; empty if there is none."""
    try:
        consumer.commit(asynchronous=False)
    except KafkaException as problem:
        return str(problem.args[0].name())
    return ""


class SecuredKafka(NamedTuple):
    """The addresses of a broker: for clients that log in, for the super user, who does not, and for certificates."""

    broker: str
    super_user: str
    certificates: str
    """A client that has one is its owner there. Empty without TLS."""


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
    with secured_kafka(folder) as kafka:
        settings = {**SETTINGS, "cluster.adopt": f"{ADOPTED}*"}
        with RunningNodes(folder, kafka.broker, nodes, settings, security_of(NODES), security_of(OPERATOR)) as running:
            yield SecuredFront(running.bootstrap, kafka.broker, kafka.super_user)


@contextmanager
def secured_kafka(folder: Path, tls: Mapping[str, str] | None = None) -> Iterator[SecuredKafka]:
    """Start a Kafka with users and ACLs. `tls` are the settings of its stores. Raises KafkaMissing."""
    names = ("CLIENTS", "INTERNAL", "CONTROLLER", *(["CERTIFICATES"] if tls else []))
    ports = {name: free_port() for name in names}
    with RunningKafka(folder, kafka_settings(ports, tls or {}), {}, port=ports["INTERNAL"]) as kafka:
        _prepare(kafka.bootstrap)
        certificates = f"127.0.0.1:{ports['CERTIFICATES']}" if tls else ""
        yield SecuredKafka(f"127.0.0.1:{ports['CLIENTS']}", kafka.bootstrap, certificates)


def kafka_settings(ports: Mapping[str, int], tls: Mapping[str, str]) -> dict[str, str]:
    clients = {name: port for name, port in ports.items() if name != "CONTROLLER"}
    protocols = {"CLIENTS": "SASL_PLAINTEXT", "INTERNAL": "PLAINTEXT", "CONTROLLER": "PLAINTEXT"}
    if tls:
        protocols |= {"CLIENTS": "SASL_SSL", "CERTIFICATES": "SSL"}
    return {
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items()),
        "advertised.listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in clients.items()),
        "listener.security.protocol.map": ",".join(":".join(each) for each in protocols.items()),
        "controller.quorum.voters": f"1@127.0.0.1:{ports['CONTROLLER']}",
        "inter.broker.listener.name": "INTERNAL",
        "listener.name.certificates.ssl.client.auth": "requested",
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
        **tls,
    }


def _prepare(bootstrap: str) -> None:
    """Make the topic, users and ACLs."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in (TOPIC, HIDDEN)])
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
