"""Kafka's command line tools for share groups (KIP-932), as `kafka_tools.py` runs them."""

from typing import Final

TOOLS: Final = "org.apache.kafka.tools"
SHARE_GROUPS: Final = f"{TOOLS}.consumer.group.ShareGroupCommand"
RECORDS: Final = 2000


def share_group_commands(server: str) -> list[tuple[str, str, str, str]]:
    """Script, program, arguments, and what is found in what it prints; `server` is the address.

    Topic `tool` has records, more than `RECORDS`.
    """
    at = f"--bootstrap-server {server}"
    by = f"{at} --topic tool"
    verifiable = f"{by} --max-messages {RECORDS} --offset-reset-strategy earliest"
    return [
        (
            "kafka-configs",
            "kafka.admin.ConfigCommand",
            f"{at} --alter --entity-type groups --entity-name shared --add-config share.auto.offset.reset=earliest",
            "Completed",
        ),
        (
            "kafka-console-share-consumer",
            f"{TOOLS}.consumer.ConsoleShareConsumer",
            f"{by} --group shared --max-messages {RECORDS} --timeout-ms 20000",
            f"Processed a total of {RECORDS} messages",
        ),
        *(
            (
                "kafka-verifiable-share-consumer",
                f"{TOOLS}.VerifiableShareConsumer",
                f"{verifiable} --group-id shared-{mode} --acknowledgement-mode {mode}",
                r'"offsets_acknowledged"(.|\n)*shutdown_complete',
            )
            for mode in ("auto", "sync", "async")
        ),
        (
            "kafka-share-consumer-perf-test",
            f"{TOOLS}.ShareConsumerPerformance",
            f"{by} --group shared --num-records {RECORDS} --timeout 20000",
            r", [2-4]\d\d\d, \d+",
        ),
        ("kafka-share-groups", SHARE_GROUPS, f"{at} --list", r"(?m)^shared-sync\b"),
        (
            "kafka-share-groups",
            SHARE_GROUPS,
            f"{at} --describe --group shared-sync --offsets",
            r"shared-sync\s+tool\s+\d",
        ),
        ("kafka-share-groups", SHARE_GROUPS, f"{at} --describe --group shared-sync --state", r"Empty\s+0"),
        (
            "kafka-share-groups",
            SHARE_GROUPS,
            f"{by} --reset-offsets --to-earliest --group shared-sync --execute",
            r"tool\s+\d\s+0",
        ),
        ("kafka-share-groups", SHARE_GROUPS, f"{by} --delete-offsets --group shared-sync", "Successful"),
        ("kafka-share-groups", SHARE_GROUPS, f"{at} --delete --group shared-sync", "was successful"),
        ("kafka-groups", f"{TOOLS}.GroupsCommand", f"{at} --list --share", r"shared\s+Share\s+share"),
    ]
