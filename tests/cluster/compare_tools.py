"""Kafka's command line tools through nodes in front of a Kafka, and the same at a Kafka alone.

    python -m tests.cluster.compare_tools [--watched] [PATTERN]

PATTERN, a regular expression, chooses commands. With --watched the nodes own no groups, and watch all: at the end their
audit has to be whole, and tell the groups and members that the cluster has.
Both sides have the same history (`beside_kafka.py`), and run the same commands in the same order. What they print has
to be the same but for addresses, times and random identifiers; lines about the nodes are left out. What differs by
design is in EXPLAINED, with the reason.
"""

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

from interop.kafka_tools import CONFIGS, GROUPS, SECURED, SERVER, TOOLS, Tool, acl_commands, commands, run
from tests.cluster.beside_kafka import IDLE, LIVE, NODE_IDS, STAYS, TOPIC, TRANSACTIONAL_ID, front_beside_kafka
from tests.cluster.beside_kafka import normalised_text as without_addresses
from tests.cluster.told_groups import problems_of
from tests.differential.kafka import KafkaMissing

EXPLAINED: Final[Mapping[str, str]] = {
    "kafka-log-dirs": "each node has one log directory without partitions",
    "kafka-transactions describe-producers": "Kafka's tools spread records without keys over partitions at random",
    "kafka-broker-api-versions": "Fetch up to version 15, and nothing that only brokers ask each other",
    "kafka-share-groups --describe --group shared-sync --offsets": "which records a share consumer gets is random",
}
"""How a command begins, without the address → why what it prints differs (docs/cluster.md)."""
LEFT_OUT: Final = re.compile(
    r"kafka-reassign.*(execute|verify)|kafka-features.*(downgrade|upgrade)|kafka-broker-api|kafka-log-dirs"
)
"""Commands of the other script that are about its own folders, or about the cluster's features."""
NUMBERS: Final = re.compile(r"\d+([.,]\d+)*")
MEASURES: Final = re.compile(
    r"perf-test|e2e|verifiable|kafka-transactions|metadata-quorum|log-dirs|get-offsets.*--topic tool\b|"
    r"--group perf$|--group modern .*--offsets|streams-groups.*--group counts --describe( --offsets --verbose)?$"
)
"""Commands that print times, sizes, or how many records of the tools are in which partition, which is random: their
numbers are left out."""
VARYING: Final = re.compile(r"TopicId: \S+|Epoch: \d+|127\.0\.0\.1\s+\d+")
SETS: Final = re.compile(r"(SCRAM credential configs for user-principal '.*' are )(.*)")
COORDINATOR: Final = re.compile(r"HOST:PORT\s+\(\d+\)")
RANDOM_RECORD: Final = re.compile(r"[A-Z]{200}")
"""What kafka-producer-perf-test made, which consumers print."""
OWN: Final = re.compile("__group_|group-coordinator|" + "|".join(map(str, NODE_IDS)))
"""Lines about the nodes, their topics, their group, and their transactional ids."""


def group_commands() -> Iterator[Tool]:
    """About a group with a member, one that stays with the cluster, and some without members."""
    at = f"--bootstrap-server {SERVER}"

    def groups(arguments: str) -> Tool:
        return Tool("kafka-consumer-groups", GROUPS, f"{at} {arguments}", "")

    for group_id in (LIVE, STAYS, IDLE[0], "missing"):
        for what in ("--offsets --verbose", "--members --verbose", "--state --verbose"):
            yield groups(f"--describe --group {group_id} {what}")
    for what in ("--offsets", "--members", "--state"):
        yield groups(f"--describe --group {LIVE} {what}")
    yield groups("--list")
    yield groups("--list --state")
    yield groups("--list --state Empty")
    yield groups("--list --type classic")
    yield groups("--describe --all-groups")
    yield groups("--describe --all-groups --state")
    yield Tool("kafka-groups", f"{TOOLS}.GroupsCommand", f"{at} --list", "")
    yield Tool("kafka-groups", f"{TOOLS}.GroupsCommand", f"{at} --list --consumer", "")
    yield Tool("kafka-groups", f"{TOOLS}.GroupsCommand", f"{at} --list --group-type classic", "")
    yield Tool("kafka-groups", f"{TOOLS}.GroupsCommand", f"{at} --list --protocol consumer", "")
    for group_id in (LIVE, STAYS, IDLE[1], "tool-new"):
        reset = f"--reset-offsets --group {group_id} --topic {TOPIC}"
        yield groups(f"{reset} --to-earliest --dry-run")
        yield groups(f"{reset} --to-offset 3 --execute")
        yield groups(f"--describe --group {group_id} --offsets")
    for group_id in (LIVE, STAYS, IDLE[2], "missing"):
        yield groups(f"--delete-offsets --group {group_id} --topic {TOPIC}")
        yield groups(f"--delete --group {group_id}")
    yield groups("--list --state")
    yield Tool("kafka-configs", CONFIGS, f"{at} --describe --entity-type brokers", "")
    yield Tool("kafka-configs", CONFIGS, f"{at} --describe --entity-type topics --entity-name {TOPIC} --all", "")
    yield Tool(
        "kafka-transactions", f"{TOOLS}.TransactionsCommand", f"{at} describe --transactional-id {TRANSACTIONAL_ID}", ""
    )
    yield Tool("kafka-log-dirs", f"{TOOLS}.LogDirsCommand", f"{at} --describe --topic-list {TOPIC}", "")
    yield Tool("kafka-broker-api-versions", f"{TOOLS}.BrokerApiVersionsCommand", at, "")


def all_commands(scratch: Path) -> list[Tool]:
    """Those of this script, then those of the other one that make sense in front of a cluster."""
    others = [tool for tool in commands(scratch) if SECURED not in tool.arguments]
    others = [tool for tool in others if not LEFT_OUT.search(f"{tool.script} {tool.arguments}")]
    without_acls = [tool for tool in others if tool.script != "kafka-acls"]
    return [*group_commands(), *without_acls[:-1], *acl_commands(), without_acls[-1]]


def shown(tool: Tool, bootstrap: str) -> str:
    """What a tool prints, without what no two clusters have in common."""
    printed = run(tool, {SERVER: bootstrap})
    text = COORDINATOR.sub("COORDINATOR", without_addresses(printed.replace(bootstrap, "HOST:PORT")))
    if MEASURES.search(f"{tool.script} {tool.arguments}"):
        text = NUMBERS.sub("N", text)
    text = VARYING.sub("", text)
    lines = (" ".join(line.split()) for line in text.splitlines() if not _is_left_out(line))
    # Java prints maps and sets in an order of its own.
    sorted_lines = (SETS.sub(lambda found: found[1] + ", ".join(sorted(found[2].split(", "))), line) for line in lines)
    return "\n".join(sorted(", ".join(sorted(line.split(", "))) for line in sorted_lines if line))


def _is_left_out(line: str) -> bool:
    return OWN.search(line) is not None or RANDOM_RECORD.fullmatch(line) is not None


def compare(front: str, alone: str, scratch: Path, pattern: str) -> list[str]:
    """Run all commands on both sides; those that differ, and are not explained."""
    differing = []
    tools = [tool for tool in all_commands(scratch) if re.search(pattern, f"{tool.script} {tool.arguments}")]
    with ThreadPoolExecutor(2) as pool:
        for tool in tools:
            for side in (front, alone):
                tool.before(side)
            through, direct = pool.map(partial(shown, tool), (front, alone))
            name = f"{tool.script} {tool.arguments.replace(f'--bootstrap-server {SERVER} ', '')}"
            reason = next((why for start, why in EXPLAINED.items() if name.startswith(start)), "")
            verdict = "equal" if through == direct else "by design" if reason else "DIFFERS"
            print(f"{verdict} {name}{f': {reason}' if verdict == 'by design' else ''}", flush=True)
            if verdict == "DIFFERS":
                differing.append(name)
                print(f"  through the nodes:\n{through}\n  at Kafka:\n{direct}", flush=True)
    print(f"{len(tools)} commands, {len(differing)} differ")
    return differing


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.compare_tools")
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--watched", action="store_true")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="compare-tools-") as name:
        folder = Path(name)
        try:
            with front_beside_kafka(folder, is_watched=chosen.watched) as sides:
                problems = compare(sides.front, sides.alone, folder, chosen.pattern)
                if chosen.watched:
                    of_audit = problems_of(sides.front, sides.behind)
                    print(f"the audit: {len(of_audit)} problems", *of_audit, sep="\n  ")
                    problems += of_audit
                return 1 if problems else 0
        except KafkaMissing as missing:
            print(missing)
            return 1


if __name__ == "__main__":
    sys.exit(main())
