"""What is checked before Spark starts, because Spark would report it late, at length, or not at all.

Spark's Kafka client retries for minutes when nobody listens, and two jobs on one folder overwrite each other's
checkpoints.
"""

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from _wire.errors import ErrorCode
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from coordinator.client.bootstrap import Server, bootstrap_of
from coordinator.client.wire import ClientError, WireConnection

ANSWER_SECONDS: Final = 2
LOCK_FILE: Final = "_job.lock"


class NotReady(RuntimeError):
    """The job cannot start. The message is one line that names the address or the folder."""


def require_topic(bootstrap: Server, topic: str) -> None:
    """Ask the cluster at `bootstrap`, which may be several servers, for the topic.

    Raises:
        NotReady: nobody answers within ANSWER_SECONDS per address, or the cluster does not have the topic.
    """
    problems = []
    for server in bootstrap_of(bootstrap).servers():
        try:
            with WireConnection(server, "coordinator-pipeline", ANSWER_SECONDS) as connection:
                request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
                response = connection.send_latest(request)
        except ClientError as problem:
            problems.append(str(problem))
            continue
        found = response.topics[0].error_code if response.topics else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if found == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise NotReady(f"{server} has no topic {topic}")
        return
    raise NotReady("; ".join(problems))


@contextlib.contextmanager
def sole_job(tables: Path) -> Iterator[None]:
    """Create the folder and hold its lock, which ends with the process, however it ends.

    Raises:
        NotReady: the folder cannot be created or written, or another job writes to it.
    """
    try:
        tables.mkdir(parents=True, exist_ok=True)
        file = open(tables / LOCK_FILE, "ab")  # noqa: SIM115
    except OSError as problem:
        raise NotReady(f"cannot write to {tables}: {problem.strerror}") from problem
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as problem:
            raise NotReady(f"another job writes to {tables}") from problem
        yield
