"""Kafka's own command line tools: kafka-consumer-groups.sh, run from Kafka's jars."""

import re
import subprocess
from typing import Final

from interop.scenarios.scenario import Scenario, all_read, check
from interop.scene import Scene
from tests.differential.kafka import kafka_jars

TOOL: Final = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
TOOL_SECONDS: Final = 30


def consumer_groups_tool(scene: Scene) -> None:
    """List, describe, reset offsets, delete: refused while the group has members, done when it has none."""
    scene.produce(6)
    one = scene.member("one")
    scene.steady(one)
    all_read(scene, one)
    assert one.commit()["event"] == "committed"
    assert scene.group in _tool(scene, "--list").split()
    rows = _rows(_tool(scene, "--describe", "--group", scene.group))
    assert {(row["PARTITION"], row["CURRENT-OFFSET"], row["LOG-END-OFFSET"], row["LAG"]) for row in rows} == {
        (str(index), "6", "6", "0") for index in range(scene.partitions)
    }, rows
    assert {row["CLIENT-ID"] for row in rows} == {"one"}, rows
    (state,) = _rows(_tool(scene, "--describe", "--state", "--group", scene.group))
    assert (state["STATE"], state["#MEMBERS"]) == ("Stable", "1"), state
    reset = ("--reset-offsets", "--group", scene.group, "--topic", scene.topic, "--to-offset", "2", "--execute")
    _tool(scene, *reset)
    assert set(scene.committed().values()) == {6}, "the offsets of a group with members were reset"
    _tool(scene, "--delete", "--group", scene.group)
    assert scene.state() == "Stable", "a group with members was deleted"
    one.leave()
    scene.wait_for_state("Empty")
    _tool(scene, *reset)
    assert set(scene.committed().values()) == {2}, scene.committed()
    two = scene.member("two")
    scene.steady(two)
    all_read(scene, one, two)
    check(scene, 2)
    two.leave()
    scene.wait_for_state("Empty")
    _tool(scene, "--delete", "--group", scene.group)
    assert scene.group not in _tool(scene, "--list").split()


def _tool(scene: Scene, *arguments: str) -> str:
    """What the tool prints."""
    options = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"]
    command = ["java", *options, "-cp", f"{kafka_jars()}/*", TOOL, "--bootstrap-server", scene.server.bootstrap]
    done = subprocess.run(
        [*command, *arguments],
        capture_output=True,
        text=True,
        timeout=TOOL_SECONDS,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return done.stdout + done.stderr


def _rows(printed: str) -> list[dict[str, str]]:
    """The rows of the table that the tool prints; the id of a coordinator, in parentheses, is left out."""
    lines = [re.sub(r" \(\w+\)", "", line).split() for line in printed.splitlines() if line.strip()]
    heads = [index for index, words in enumerate(lines) if words[0] == "GROUP"]
    assert heads, f"the tool printed no table: {printed.strip()}"
    return [dict(zip(lines[heads[0]], words, strict=False)) for words in lines[heads[0] + 1 :]]


SCENARIOS = (Scenario("kafka-consumer-groups.sh", consumer_groups_tool, clients=("java", "java-consumer")),)
