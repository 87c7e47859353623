"""Asks an admin port, and runs a node that has one."""

import asyncio
from collections.abc import Callable, Mapping
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from coordinator.config.settings import Config
from coordinator.node.node import Node

TIMEOUT_SECONDS = 20


class Answer(NamedTuple):
    """What came back. The names of the headers are in lower case."""

    status: int
    headers: dict[str, str]
    text: str


def get(
    address: str,
    path: str,
    method: str = "GET",
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    connection = HTTPConnection(address, timeout=TIMEOUT_SECONDS)
    try:
        connection.request(method, path, body, dict(headers or {}))
        response = connection.getresponse()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, headers, response.read().decode())
    finally:
        connection.close()


class Scrape:
    """The samples of `/metrics`."""

    def __init__(self, address: str) -> None:
        answer = get(address, "/metrics")
        assert answer.status == 200, answer
        families = list(text_string_to_metric_families(answer.text))
        self.samples = [sample for family in families for sample in family.samples]
        self.types = {family.name: family.type for family in families}

    def value(self, name: str, **labels: str) -> float:
        """The sum of all samples with this name and these labels; KeyError when there is none."""
        found = [
            sample.value for sample in self.samples if sample.name == name and labels.items() <= sample.labels.items()
        ]
        if not found:
            raise KeyError((name, labels))
        return sum(found)

    def labels(self, name: str, label: str) -> set[str]:
        return {sample.labels[label] for sample in self.samples if sample.name == name}


def with_node(
    folder: Path, questions: Callable[[Node], Any], settings: Mapping[str, str] | None = None, **parts: Any
) -> Any:
    """Run a node with an admin port in this process, and ask it in a thread; returns what `questions` does.

    `parts` are which of the parts the node has that it can do without.
    """

    async def play() -> Any:
        texts = {"log.dirs": str(folder), "listeners": "PLAINTEXT://127.0.0.1:0", "admin.listener": "127.0.0.1:0"}
        texts |= {"offsets.topic.num.partitions": "4", "group.initial.rebalance.delay.ms": "0"}
        node = Node(Config(texts | dict(settings or {})), **parts)
        await node.start()
        try:
            return await asyncio.get_running_loop().run_in_executor(None, questions, node)
        finally:
            await node.stop()

    return asyncio.run(play())
