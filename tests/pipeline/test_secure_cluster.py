"""The job as a client of a cluster with TLS, logins and ACLs."""

from pathlib import Path
from typing import Final

from deltalake import DeltaTable
from pyspark.sql import SparkSession

from coordinator.client.acls import add_acls
from coordinator.client.bootstrap import Bootstrap
from coordinator.client.security import ClientSecurity
from coordinator.config.authorizer_keys import STANDARD_AUTHORIZER
from coordinator.internal_topics import AUDIT_TOPIC
from coordinator.pipeline.bronze import AuditSource
from coordinator.pipeline.job import run_available
from coordinator.pipeline.names import MEMBERSHIPS
from coordinator.pipeline.tables import Tables
from coordinator.security.acls.model import Acl, AclOperation, PatternType, PermissionType, ResourceType
from tests.certificates import tls_settings
from tests.pipeline.rebalances import make_history
from tests.servers import QUICK_GROUPS, RunningServer

GROUPS: Final = 2
USERS: Final = {"admin": "admin-s3cret", "spark": "spark-s3cret"}
PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"


def settings(folder: Path) -> dict[str, str]:
    users = " ".join(f'user_{name}="{password}"' for name, password in USERS.items())
    return (
        QUICK_GROUPS
        | tls_settings(folder)
        | {
            "listeners": "SASL_SSL://127.0.0.1:0",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_ssl.plain.sasl.jaas.config": f"{PLAIN} required {users};",
            "authorizer.class.name": STANDARD_AUTHORIZER,
            "super.users": "User:admin",
        }
    )


def login(folder: Path, user: str) -> ClientSecurity:
    """What a file for --command-config has."""
    return ClientSecurity(
        {
            "security.protocol": "SASL_SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(folder / "authority.pem"),
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": f'{PLAIN} required username="{user}" password="{USERS[user]}";',
        }
    )


def test_the_job_logs_in_and_needs_to_read_the_topic_alone(spark: SparkSession, tables: Tables, tmp_path: Path):
    with RunningServer(tmp_path, settings(tmp_path)) as server:
        admin = Bootstrap(server.bootstrap, login(tmp_path, "admin"))
        make_history(admin, GROUPS, rebalances=2)
        may_read = Acl(
            ResourceType.TOPIC,
            AUDIT_TOPIC,
            PatternType.LITERAL,
            "User:spark",
            "*",
            AclOperation.READ,
            PermissionType.ALLOW,
        )
        add_acls(admin, [may_read])
        run_available(spark, AuditSource(Bootstrap(server.bootstrap, login(tmp_path, "spark"))), tables)
    memberships = DeltaTable(tables.path(MEMBERSHIPS)).to_pyarrow_table().to_pylist()
    assert {membership["group_id"] for membership in memberships} == {f"group-{number}" for number in range(GROUPS)}
    assert {membership["principal"] for membership in memberships} == {"User:admin"}
