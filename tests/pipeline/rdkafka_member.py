"""A consumer of librdkafka in a process of its own, which may be killed; it says on its output what it holds."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tests.waiting import wait_for

STEADY_SECONDS: Final = 20
POLL_SECONDS: Final = 0.05


class RdkafkaMember:
    """Started at once; killed when its context ends, if it was not closed."""

    def __init__(self, folder: Path, bootstrap: str, group_id: str, topics: Sequence[str], **settings: Any) -> None:
        self._log = folder / f"{settings['client.id']}.jsonl"
        own = {"bootstrap.servers": bootstrap, "group.id": group_id, **settings}
        arguments = [json.dumps(own), json.dumps(list(topics))]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.pipeline.rdkafka_member", *arguments],
                stdin=subprocess.PIPE,
                stdout=log,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def said(self) -> list[dict[str, Any]]:
        """What it said so far: its member id and partitions, each time that these changed."""
        return [json.loads(line) for line in self._log.read_text().splitlines(keepends=True) if line.endswith("\n")]

    def holds(self, count: int) -> dict[str, Any]:
        """Wait until it holds as many partitions; what it said then."""

        def now() -> dict[str, Any] | None:
            assert self._process.poll() is None, "the consumer ended"
            said = self.said()
            return said[-1] if said and len(said[-1]["partitions"]) == count else None

        found = wait_for(now, STEADY_SECONDS, f"{self._log.stem} to hold {count} partitions")
        assert found is not None
        return found

    def subscribe(self, topics: Sequence[str]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(list(topics)).encode() + b"\n")
        self._process.stdin.flush()

    def close(self) -> None:
        """Close the consumer in order: it leaves, unless it is static."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(STEADY_SECONDS) == 0

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._process.stdin.close()


def main(settings: dict[str, Any], topics: list[str]) -> None:
    from confluent_kafka import Consumer

    consumer = Consumer({"enable.auto.commit": False, "auto.offset.reset": "earliest", **settings})
    consumer.subscribe(topics)
    os.set_blocking(sys.stdin.fileno(), False)
    last: dict[str, Any] = {}
    while True:
        asked = os.read(sys.stdin.fileno(), 65536) if _is_readable() else None
        if asked == b"":
            break
        if asked:
            consumer.subscribe(json.loads(asked))
        consumer.poll(POLL_SECONDS)
        held = sorted(f"{each.topic}/{each.partition}" for each in consumer.assignment())
        now = {"member_id": consumer.memberid(), "partitions": held}
        if now != last:
            last = now
            print(json.dumps(now), flush=True)
    consumer.close()


def _is_readable() -> bool:
    import select

    return bool(select.select([sys.stdin], [], [], 0)[0])


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), json.loads(sys.argv[2]))
