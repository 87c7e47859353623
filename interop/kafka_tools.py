"""Run Apache Kafka's own command line tools against this server (Java and Maven): `make kafka-tools`.

Starts a server, runs one tool after the other, looks in what each prints for what it prints about a Kafka of one node,
and writes docs/kafka-tools.md.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest  # noqa: E402
from coordinator.client.groups import coordinator_of  # noqa: E402
from coordinator.client.wire import ClientError, WireConnection  # noqa: E402
from coordinator.config.authorizer_keys import STANDARD_AUTHORIZER  # noqa: E402
from coordinator.pipeline.java import require_java  # noqa: E402
from interop.share_tools import share_group_commands  # noqa: E402
from interop.streams_tools import streams_group_commands  # noqa: E402
from tests.certificates import tls_settings  # noqa: E402
from tests.differential.kafka import VERSION, free_port, kafka_jars  # noqa: E402
from tests.servers import QUICK_GROUPS, RunningServer  # noqa: E402
from tests.waiting import wait_for  # noqa: E402

PAGE: Final = ROOT / "docs" / "kafka-tools.md"
TOOL_SECONDS: Final = 90
LINES_SHOWN: Final = 12
CHARACTERS_SHOWN: Final = 160
LOG_DIRS: Final = ("data", "data-2")
MODERN: Final = "modern"
"""A consumer group with a member of the new protocol."""
SETTINGS: Final = QUICK_GROUPS | {
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "super.users": "User:ANONYMOUS",
    "sasl.enabled.mechanisms": "SCRAM-SHA-512",
    "group.consumer.max.session.timeout.ms": "1800000",
    "group.consumer.session.timeout.ms": "1800000",
    "group.streams.max.session.timeout.ms": "1800000",
    "group.streams.session.timeout.ms": "1800000",
    "group.streams.initial.rebalance.delay.ms": "0",
}
"""The members of MODERN and of the streams group send no heartbeats while the tools run."""
SERVER: Final = "SERVER"
"""Stands for the address of the server in arguments and in what is shown."""
SECURED: Final = "SECURED"
"""The same for that of its listener with TLS and a login."""
USER_SETTINGS: Final = """\
security.protocol=SASL_SSL
ssl.truststore.type=PEM
ssl.truststore.location={authority}
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="erin" password="{password}";
"""
CONFIGS: Final = "kafka.admin.ConfigCommand"
TOOLS: Final = "org.apache.kafka.tools"
GROUPS: Final = f"{TOOLS}.consumer.group.ConsumerGroupCommand"
NOISE: Final = re.compile(r"^(SLF4J|WARNING|log4j|\s*$|Option --|The consumer rebalance protocol)")


class Tool(NamedTuple):
    """A command, and a regular expression that is found in what it prints when it works."""

    script: str
    program: str
    arguments: str
    expected: str
    stdin: str = ""
    before: Callable[[str], None] = lambda bootstrap: None
    """What is done first, with the address of the server."""


def commands(scratch: Path) -> list[Tool]:
    """In this order: each needs what those before it have made."""
    records = scratch / "delete-records.json"
    records.write_text(json.dumps({"version": 1, "partitions": [{"topic": "tool", "partition": 0, "offset": 10}]}))
    plan = scratch / "reassign.json"
    moved = [
        {"topic": "tool", "partition": index, "replicas": [1], "log_dirs": [str(scratch / LOG_DIRS[1])]}
        for index in (0, 1)
    ]
    plan.write_text(json.dumps({"version": 1, "partitions": moved}))
    at, by = f"--bootstrap-server {SERVER}", f"--bootstrap-server {SERVER} --topic tool"
    load = f"--topic tool --record-size 200 --throughput -1 --command-property bootstrap.servers={SERVER}"
    topics, configs, transactions = f"{TOOLS}.TopicCommand", CONFIGS, f"{TOOLS}.TransactionsCommand"
    features = f"{TOOLS}.FeatureCommand"
    reassign, cluster = f"{TOOLS}.reassign.ReassignPartitionsCommand", f"{TOOLS}.ClusterTool"
    return [
        Tool(
            "kafka-topics",
            topics,
            f"{by} --create --partitions 3 --config retention.ms=90000000 --config compression.type=lz4",
            "Created",
        ),
        Tool(
            "kafka-topics", topics, f"{by} --describe", r"PartitionCount: 3.*compression.type=lz4,retention.ms=90000000"
        ),
        Tool("kafka-topics", topics, f"{by} --alter --partitions 4", r"\A\Z"),
        Tool("kafka-topics", topics, f"{at} --list", r"(?m)^tool$"),
        Tool(
            "kafka-configs",
            configs,
            f"{at} --alter --entity-type topics --entity-name tool --add-config segment.ms=100000",
            "Completed",
        ),
        Tool("kafka-configs", configs, f"{at} --describe --entity-type topics --entity-name tool", "segment.ms=100000"),
        Tool(
            "kafka-configs",
            configs,
            f"{at} --describe --entity-type brokers --entity-name 1",
            "Dynamic configs for broker 1",
        ),
        Tool(
            "kafka-configs",
            configs,
            f"{at} --alter --entity-type users --entity-name u --add-config producer_byte_rate=1000000",
            "Completed",
        ),
        Tool(
            "kafka-configs",
            configs,
            f"{at} --describe --entity-type users",
            r"user-principal 'u' are producer_byte_rate",
        ),
        Tool(
            "kafka-configs",
            configs,
            f"{at} --alter --entity-type users --entity-name carol "
            "--add-config SCRAM-SHA-256=[iterations=8192,password=secret]",
            "Completed",
        ),
        Tool(
            "kafka-configs",
            configs,
            f"{at} --alter --entity-type users --entity-name carol --add-config SCRAM-SHA-512=[password=secret]",
            "Completed",
        ),
        Tool(
            "kafka-configs",
            configs,
            f"{at} --describe --entity-type users --entity-name carol",
            r"user-principal 'carol' are SCRAM-SHA-256=iterations=8192, SCRAM-SHA-512=iterations=4096",
        ),
        Tool(
            "kafka-configs",
            configs,
            f"{at} --alter --entity-type users --entity-name carol --delete-config SCRAM-SHA-256",
            "Completed",
        ),
        Tool(
            "kafka-configs",
            configs,
            f"{at} --describe --entity-type users",
            r"user-principal 'carol' are SCRAM-SHA-512=iterations=4096",
        ),
        Tool("kafka-broker-api-versions", f"{TOOLS}.BrokerApiVersionsCommand", at, r"EndTxn\(26\): 0 to 5"),
        Tool(
            "kafka-features",
            features,
            f"{at} describe",
            r"transaction.version\s+SupportedMinVersion: 0\s+SupportedMaxVersion: 2\s+FinalizedVersionLevel: 2",
        ),
        Tool(
            "kafka-features",
            features,
            f"{at} downgrade --feature transaction.version=1",
            "transaction.version was downgraded to 1",
        ),
        Tool("kafka-features", features, f"{at} describe", r"transaction.version\s.*FinalizedVersionLevel: 1"),
        Tool(
            "kafka-features",
            features,
            f"{at} upgrade --feature transaction.version=2",
            "transaction.version was upgraded to 2",
        ),
        Tool(
            "kafka-features",
            features,
            f"{at} upgrade --feature transaction.version=3",
            "only supports versions 0-2",
        ),
        Tool(
            "kafka-producer-perf-test",
            f"{TOOLS}.ProducerPerformance",
            f"{load} --num-records 5000",
            "5000 records sent",
        ),
        Tool(
            "kafka-producer-perf-test, in transactions",
            f"{TOOLS}.ProducerPerformance",
            f"{load} --num-records 2000 --transactional-id perf --transaction-duration-ms 50",
            "2000 records sent",
        ),
        Tool(
            "kafka-consumer-perf-test",
            f"{TOOLS}.ConsumerPerformance",
            f"{by} --num-records 7000 --group perf",
            r"\d, 70\d\d, ",
        ),
        Tool(
            "kafka-console-producer",
            f"{TOOLS}.ConsoleProducer",
            f"{by} --reader-property parse.key=true --reader-property key.separator=:",
            r"\A\Z",
            "key:hello\n",
        ),
        Tool(
            "kafka-console-consumer",
            f"{TOOLS}.consumer.ConsoleConsumer",
            f"{by} --from-beginning --max-messages 7001 --timeout-ms 20000 --formatter-property print.key=true",
            r"key\thello",
        ),
        Tool(
            "kafka-verifiable-producer",
            f"{TOOLS}.VerifiableProducer",
            f"{by} --max-messages 20",
            r'"sent":20,"acked":20',
        ),
        Tool(
            "kafka-verifiable-consumer",
            f"{TOOLS}.VerifiableConsumer",
            f"{by} --group-id verifiable --max-messages 100 --reset-policy earliest",
            "records_consumed",
        ),
        Tool(
            "kafka-e2e-latency",
            f"{TOOLS}.EndToEndLatency",
            f"{by} --num-records 100 --producer-acks all --record-size 100",
            "Avg latency",
        ),
        Tool("kafka-get-offsets", f"{TOOLS}.GetOffsetShell", by, r"tool:0:\d+"),
        Tool("kafka-get-offsets", f"{TOOLS}.GetOffsetShell", f"{by} --time max-timestamp", r"tool:0:\d+"),
        Tool("kafka-consumer-groups", GROUPS, f"{at} --list", r"(?m)^perf$"),
        Tool("kafka-consumer-groups", GROUPS, f"{at} --describe --group perf", r"perf\s+tool\s+0\s+\d+\s+\d+"),
        Tool("kafka-consumer-groups", GROUPS, f"{at} --describe --group perf --state", r"Empty\s+0"),
        Tool(
            "kafka-consumer-groups",
            GROUPS,
            f"{by} --reset-offsets --to-earliest --group perf --execute",
            r"perf\s+tool\s+\d\s+\d",
        ),
        Tool("kafka-consumer-groups", GROUPS, f"{by} --delete-offsets --group perf", "Successful"),
        Tool("kafka-consumer-groups", GROUPS, f"{at} --delete --group perf", "was successful"),
        Tool("kafka-groups", f"{TOOLS}.GroupsCommand", f"{at} --list", r"verifiable\s+Classic\s+consumer"),
        *(Tool(*each) for each in share_group_commands(SERVER)),
        *(Tool(*each) for each in streams_group_commands(SERVER)),
        *consumer_group_commands(),
        Tool("kafka-transactions", transactions, f"{at} list", r"perf\s+1\s+\d+\s+\w+"),
        Tool("kafka-transactions", transactions, f"{at} describe --transactional-id perf", "perf"),
        Tool(
            "kafka-transactions", transactions, f"{at} describe-producers --topic tool --partition 0", r"ProducerId.*\n"
        ),
        Tool("kafka-transactions", transactions, f"{at} find-hanging --broker-id 1", "Topic"),
        Tool(
            "kafka-delete-records",
            f"{TOOLS}.DeleteRecordsCommand",
            f"{at} --offset-json-file {records}",
            "low_watermark: 10",
        ),
        Tool(
            "kafka-log-dirs",
            f"{TOOLS}.LogDirsCommand",
            f"{at} --describe --topic-list tool",
            r'"partition":"tool-0","size":\d+',
        ),
        Tool(
            "kafka-leader-election",
            f"{TOOLS}.LeaderElectionCommand",
            f"{at} --election-type preferred --all-topic-partitions",
            r"\A\Z",
        ),
        Tool(
            "kafka-reassign-partitions",
            reassign,
            f"{at} --reassignment-json-file {plan} --execute",
            r"Successfully started moving log directory to \S+/data-2 for replica tool-0",
        ),
        Tool(
            "kafka-reassign-partitions",
            reassign,
            f"{at} --reassignment-json-file {plan} --verify",
            r"Reassignment of replica tool-1-1 completed successfully",
        ),
        Tool("kafka-reassign-partitions", reassign, f"{at} --list", "No partition reassignments found"),
        Tool("kafka-cluster", cluster, f"cluster-id {at}", "Cluster ID: "),
        Tool("kafka-cluster", cluster, f"list-endpoints {at}", r"unfenced\s+broker"),
        Tool("kafka-metadata-quorum", f"{TOOLS}.MetadataQuorumCommand", f"{at} describe --status", "HighWatermark"),
        Tool("kafka-metadata-quorum", f"{TOOLS}.MetadataQuorumCommand", f"{at} describe --replication", "Leader"),
        *acl_commands(),
        *secured_commands(scratch),
        Tool("kafka-topics", topics, f"{by} --delete", r"\A\Z"),
    ]


def acl_commands() -> list[Tool]:
    """ACLs of a principal that does not exist; the tools themselves belong to a super user."""
    at, alice = f"--bootstrap-server {SERVER}", "--allow-principal User:alice"

    def acls(arguments: str, expected: str) -> Tool:
        return Tool("kafka-acls", f"{TOOLS}.AclCommand", f"{at} {arguments}", expected)

    return [
        acls("--list", r"\A\Z"),
        acls(f"--add {alice} --operation Read --topic tool", r"resourceType=TOPIC, name=tool, patternType=LITERAL"),
        acls(
            f"--add {alice} --producer --topic tool --resource-pattern-type prefixed --transactional-id x",
            r"operation=CREATE, permissionType=ALLOW",
        ),
        acls("--add --deny-principal User:bob --deny-host 10.0.0.1 --operation All --group *", r"host=10.0.0.1"),
        acls(
            "--list --topic tool-2 --resource-pattern-type match",
            r"principal=User:alice, host=\*, operation=WRITE, permissionType=ALLOW",
        ),
        acls("--list --principal User:bob", r"permissionType=DENY"),
        acls(
            f"--remove {alice} --operation Read --topic tool --force",
            r"\A\Z",
        ),
        acls("--remove --group * --force", r"\A\Z"),
        acls("--list --group *", r"\A\Z"),
    ]


def secured_commands(scratch: Path) -> list[Tool]:
    """As a user that logs in, which may do what its ACLs say; its file is that of --command-config."""
    authority = scratch / "authority.pem"
    for name, password in (("erin", "secret"), ("wrong", "another")):
        text = USER_SETTINGS.format(authority=authority, password=password)
        (scratch / f"{name}.properties").write_text(text, encoding="utf-8")
    at = f"--bootstrap-server {SECURED} --command-config {scratch / 'erin.properties'}"
    scripts = {
        "kafka-acls": f"{TOOLS}.AclCommand",
        "kafka-configs": CONFIGS,
        "kafka-topics": f"{TOOLS}.TopicCommand",
        "kafka-consumer-groups": GROUPS,
    }

    def secured(script: str, arguments: str, expected: str) -> Tool:
        return Tool(f"{script}, with a login", scripts[script], arguments, expected)

    alter_users = "--alter --entity-type users --entity-name"
    by_super_user = f"--bootstrap-server {SERVER}"
    return [
        secured(
            "kafka-configs",
            f"{by_super_user} {alter_users} erin --add-config SCRAM-SHA-512=[password=secret]",
            "Completed",
        ),
        secured(
            "kafka-configs",
            f"{at} {alter_users} frank --add-config SCRAM-SHA-512=[password=x]",
            "ClusterAuthorizationException",
        ),
        secured("kafka-acls", f"{at} --list", "ClusterAuthorizationException"),
        secured(
            "kafka-acls",
            f"{by_super_user} --add --allow-principal User:erin --operation Alter --operation Describe --cluster",
            "operation=ALTER, permissionType=ALLOW",
        ),
        secured("kafka-configs", f"{at} {alter_users} frank --add-config SCRAM-SHA-512=[password=x]", "Completed"),
        secured("kafka-acls", f"{at} --list --cluster", "principal=User:erin"),
        secured(
            "kafka-acls",
            f"{at} --add --allow-principal User:erin --operation Describe --topic secret --group *",
            "resourceType=TOPIC, name=secret",
        ),
        secured("kafka-consumer-groups", f"{at} --list", r"(?m)^\S"),
        secured("kafka-topics", f"{at} --list", r"\A\Z"),
        secured(
            "kafka-topics",
            f"--bootstrap-server {SECURED} --command-config {scratch / 'wrong.properties'} --list",
            "Authentication failed",
        ),
    ]


def consumer_group_commands() -> list[Tool]:
    """About groups of the new protocol (KIP-848): MODERN, which has a member, and one whose member has left."""
    at, group = f"--bootstrap-server {SERVER}", f"--bootstrap-server {SERVER} --group {MODERN}"
    configs = f"{at} --entity-type groups --entity-name {MODERN}"
    features = f"{TOOLS}.FeatureCommand"
    return [
        Tool(
            "kafka-verifiable-consumer",
            f"{TOOLS}.VerifiableConsumer",
            f"{at} --topic tool --group-id verifiable-2 --group-protocol consumer --max-messages 100 "
            "--reset-policy earliest",
            "records_consumed",
            before=join,
        ),
        Tool("kafka-consumer-groups", GROUPS, f"{at} --validate-regex tool.*", "is valid"),
        Tool(
            "kafka-consumer-groups",
            GROUPS,
            f"{at} --list --type consumer",
            rf"{MODERN}\s+Consumer\s",
        ),
        Tool("kafka-consumer-groups", GROUPS, f"{at} --list --type --state", rf"{MODERN}\s+Consumer\s+Stable"),
        Tool("kafka-consumer-groups", GROUPS, f"{group} --describe --state", r"uniform\s+Stable\s+1"),
        Tool("kafka-consumer-groups", GROUPS, f"{group} --describe --state --verbose", r"uniform\s+Stable\s+2\s+2\s+1"),
        Tool("kafka-consumer-groups", GROUPS, f"{group} --describe --members", rf"{MODERN}\s+member-1\s+\S+\s+\S+\s+4"),
        Tool(
            "kafka-consumer-groups",
            GROUPS,
            f"{group} --describe --members --verbose",
            rf"{MODERN}\s+member-1\s.*\s4\s+2\s+tool:0,1,2,3\s+2\s+tool:0,1,2,3",
        ),
        Tool("kafka-consumer-groups", GROUPS, f"{group} --describe --offsets --verbose", rf"{MODERN}\s+tool\s+0"),
        Tool("kafka-consumer-groups", GROUPS, f"{group} --delete", "is not empty|NON_EMPTY|GroupNotEmpty"),
        Tool("kafka-consumer-groups", GROUPS, f"{at} --delete --group verifiable-2", "was successful"),
        Tool("kafka-groups", f"{TOOLS}.GroupsCommand", f"{at} --list --group-type consumer", rf"{MODERN}\s+Consumer"),
        Tool("kafka-groups", f"{TOOLS}.GroupsCommand", f"{at} --list --consumer", rf"{MODERN}\s+Consumer"),
        Tool(
            "kafka-configs",
            CONFIGS,
            f"{configs} --alter --add-config consumer.heartbeat.interval.ms=6000",
            "Completed updating config for group",
        ),
        Tool("kafka-configs", CONFIGS, f"{configs} --describe", "consumer.heartbeat.interval.ms=6000"),
        Tool("kafka-configs", CONFIGS, f"{at} --describe --entity-type groups", MODERN),
        Tool(
            "kafka-configs",
            CONFIGS,
            f"{configs} --alter --delete-config consumer.heartbeat.interval.ms",
            "Completed updating config for group",
        ),
        Tool(
            "kafka-features",
            features,
            f"{at} downgrade --unsafe --feature group.version=0",
            "group.version was downgraded to 0|group.version was disabled",
        ),
        Tool(
            "kafka-features",
            features,
            f"{at} upgrade --feature group.version=1",
            "group.version was upgraded to 1",
        ),
    ]


def run(tool: Tool, addresses: dict[str, str]) -> str:
    """What the tool prints, without warnings about Java."""
    arguments = tool.arguments
    for name, address in addresses.items():
        arguments = arguments.replace(name, address)
    java = [str(require_java()), "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"]
    command = [*java, "-cp", f"{kafka_jars()}/*", tool.program, *arguments.split()]
    try:
        done = subprocess.run(
            command, input=tool.stdin, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=TOOL_SECONDS, check=False,
        )  # fmt: skip
        printed = done.stdout
    except subprocess.TimeoutExpired:
        printed = f"did not end within {TOOL_SECONDS} s"
    return "\n".join(line for line in printed.splitlines() if not NOISE.match(line))


def join(bootstrap: str) -> None:
    """Be the member of MODERN."""
    request = ConsumerGroupHeartbeatRequest(
        group_id=MODERN,
        member_id="member-1",
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=["tool"],
        topic_partitions=[],
    )

    def has_joined() -> bool:
        """At the coordinator, which may not be known yet."""
        try:
            with WireConnection(bootstrap, "tools") as anyone:
                coordinator = coordinator_of(anyone, MODERN)
            with WireConnection(coordinator, "tools") as connection:
                return bool(connection.send_latest(request).error_code == 0)
        except ClientError:
            return False

    wait_for(has_joined, TOOL_SECONDS, f"a member of {MODERN} to join", every_ms=100)


def shown(printed: str, addresses: dict[str, str], scratch: Path) -> str:
    for name, address in addresses.items():
        printed = printed.replace(address, name)
    lines = printed.replace(str(scratch), "DIR").splitlines()
    if len(lines) > LINES_SHOWN:
        lines = [*lines[: LINES_SHOWN - 1], "…"]
    return "\n".join(line if len(line) <= CHARACTERS_SHOWN else line[: CHARACTERS_SHOWN - 1] + "…" for line in lines)


def page(results: list[tuple[Tool, bool, str]]) -> str:
    working = sum(works for _, works, _ in results)
    parts = [
        "# Kafka's command line tools",
        "",
        "<!-- Made by interop/kafka_tools.py (`make kafka-tools`). -->",
        "",
        f"The tools of Apache Kafka {VERSION}, run against this server one after the other; `{SERVER}` is its address, "
        f"`{SECURED}` that of its listener with TLS and logins.",
        f"{working} of {len(results)} commands printed what they print about a Kafka of one node.",
        "",
    ]
    script = ""
    for tool, works, printed in results:
        if tool.script != script:
            script = tool.script
            parts += [f"## {script}", ""]
        if not works:
            parts += ["Does not work:", ""]
        arguments = re.sub(r"/\S+/", "DIR/", tool.arguments)
        parts += ["```", f"$ {script.partition(',')[0]} {arguments}"]
        parts += [printed] if printed else []
        parts += ["```", ""]
    return "\n".join(parts)


def main() -> int:
    results = []
    with tempfile.TemporaryDirectory(prefix="kafka-tools-") as name:
        scratch = Path(name)
        addresses = {SERVER: f"127.0.0.1:{free_port()}", SECURED: f"127.0.0.1:{free_port()}"}
        listeners = f"PLAINTEXT://{addresses[SERVER]},SASL_SSL://{addresses[SECURED]}"
        settings = tls_settings(scratch) | SETTINGS | {"listeners": listeners}
        with RunningServer(scratch, settings, log_dirs=LOG_DIRS) as server:
            for tool in commands(scratch):
                tool.before(server.bootstrap)
                printed = run(tool, addresses)
                works = re.search(tool.expected, printed) is not None
                results.append((tool, works, shown(printed, addresses, scratch)))
                print(f"{'ok  ' if works else 'FAIL'} {tool.script} {tool.arguments}", flush=True)
                if not works:
                    print(printed)
    PAGE.write_text(page(results), encoding="utf-8")
    return 0 if all(works for _, works, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main())
