"""Instructions that the server takes for a request, by callgrind: the same figure however busy the machine is.

    python tests/bench/bench_instructions.py [CHECKOUT ...]

Each CHECKOUT is a folder of this project that is built (`make build`); without one, this folder. Of each, a server runs
under valgrind, 50 times slower than usual, and gets the same requests one after the other. Prints the instructions of
the server's process per request, without those of the kernel and those that the idle server takes in the same time:
three measurements each, whose spread shows how far to trust them. Of consumer groups whose members change it prints
those per member (`tests/bench/coordinator/consumer_changes.py`). Needs valgrind (Debian: valgrind).

Environment: REQUESTS=600 per measurement; ONLY=TEXT what has this in its name.
"""

import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from _wire.errors import ErrorCode  # noqa: E402
from _wire.messages.api_versions import ApiVersionsRequest  # noqa: E402
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest  # noqa: E402
from _wire.messages.find_coordinator import FindCoordinatorRequest  # noqa: E402
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic  # noqa: E402
from _wire.messages.offset_commit import (  # noqa: E402
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic  # noqa: E402
from _wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment  # noqa: E402
from _wire.records import build_batch  # noqa: E402
from tests.bench.coordinator import consumer_changes  # noqa: E402
from tests.bench.coordinator.consumer_changes import ChangingGroup  # noqa: E402
from tests.waiting import wait_for  # noqa: E402
from tests.wire_client import (  # noqa: E402
    BEFORE_MEMBER_ID_REQUIRED,
    WireClient,
    fetch_request,
    join_request,
    produce_request,
)

REQUESTS: Final = int(os.environ.get("REQUESTS", "600"))
ONLY: Final = os.environ.get("ONLY", "")
MEASUREMENTS: Final = 3
WARM_UP: Final = 200
PARTITIONS: Final = 10
GROUP, REJOINED_GROUP, TOPIC = "group", "rejoined-group", "topic"
SETTINGS: Final = {"group.initial.rebalance.delay.ms": "0", "group.audit.offsets.interval.ms": "3600000"}
CONSUMER_KEYS: Final = "coordinator/config/consumer_group_keys.py"
"""What a checkout has that knows consumer groups and their settings."""
START_SECONDS: Final = 300
LONG_SESSION_MS: Final = 300_000
IDLE_SECONDS: Final = 5

CONSUMER_GROUP: Final = "consumers"
CONSUMER_MEMBER_ID: Final = "U3Vpk1sCTd-kRLk1BCpuGw"

CHANGING_CONNECTIONS: Final = 50
CHANGING_PARTITIONS: Final = 1_000
CHANGING_TOPIC: Final = "changing-topic"
JOINED_MEMBERS: Final = 300
REPLACED_MEMBERS: Final = 100
REPLACED_ROUNDS: Final = 2
CHANGING_SECONDS: Final = 600
CHANGING_GROUPS = WARMED_UP, JOINED, REPLACED = "warmed-up", "joined", "replaced"
JOINS: Final = f"{JOINED_MEMBERS} members join a consumer group at once, per member"
REPLACES: Final = f"one of {REPLACED_MEMBERS} members leaves a consumer group and another joins, per member"
Requests = Mapping[str, Callable[[], object]]


def main() -> None:
    if shutil.which("valgrind") is None:
        print("left out: there is no valgrind (Debian: apt-get install valgrind)")
        return
    for checkout in sys.argv[1:] or [str(ROOT)]:
        for measure in (measure_requests, measure_consumers):
            with tempfile.TemporaryDirectory() as scratch:
                measure(Path(checkout).resolve(), Path(scratch))


def measure_requests(checkout: Path, scratch: Path) -> None:
    """Print a line per kind of request."""
    server, bootstrap = start(checkout, scratch)
    try:
        with WireClient(bootstrap) as client:
            requests = {name: send for name, send in requests_of(client).items() if ONLY in name}
            for send in requests.values():
                repeat(send, WARM_UP)
            idle = idle_per_second(checkout, server, scratch)
            for name, send in requests.items():
                counts = [
                    f"{counted(server, scratch, partial(repeat, send, REQUESTS), idle) / REQUESTS:,.0f}"
                    for _ in range(MEASUREMENTS)
                ]
                print(f"{checkout}  {name}: {'  '.join(counts)}", flush=True)
    finally:
        server.kill()
        server.wait()


def measure_consumers(checkout: Path, scratch: Path) -> None:
    """Print a line per change of a consumer group, on a server without other groups: their audit has snapshots too."""
    if not (checkout / CONSUMER_KEYS).exists() or not any(ONLY in each for each in (JOINS, REPLACES)):
        return
    server, bootstrap = start(checkout, scratch)
    try:
        with WireClient(bootstrap) as client:
            for group_id in CHANGING_GROUPS:
                wait_for(partial(is_loaded, client, group_id), START_SECONDS, "the consumer groups")
        idle = idle_per_second(checkout, server, scratch)
        for name, figure in changes_of_consumers(server, bootstrap, scratch, idle):
            print(f"{checkout}  {name}: {figure:,.0f}", flush=True)
    finally:
        server.kill()
        server.wait()


def idle_per_second(checkout: Path, server: "subprocess.Popen[bytes]", scratch: Path) -> float:
    idle = counted(server, scratch, lambda: time.sleep(IDLE_SECONDS), 0) / IDLE_SECONDS
    print(f"{checkout}  a second without requests: {idle:,.0f}", flush=True)
    return idle


def start(checkout: Path, scratch: Path) -> tuple["subprocess.Popen[bytes]", str]:
    """Start the server of a checkout; return it and its address."""
    ready = scratch / "ready.json"
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={scratch / 'counts'}"]
    command += [str(checkout / ".venv/bin/python"), "-m", "coordinator.cli", "serve", "--listen=127.0.0.1:0"]
    command += [f"--data-dir={scratch / 'data'}", f"--ready-file={ready}"]
    settings = SETTINGS | (consumer_changes.SETTINGS if (checkout / CONSUMER_KEYS).exists() else {})
    command += [f"--set={name}={value}" for name, value in settings.items()]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    log = (scratch / "log").open("wb")
    server = subprocess.Popen(command, cwd=checkout, env=environment, stdout=log, stderr=log)
    wait_for(ready.exists, START_SECONDS, "the server under valgrind")
    found = re.search(r'"bootstrap": ?"([^"]+)"', ready.read_text())
    assert found is not None, ready.read_text()
    return server, found[1]


def requests_of(client: WireClient) -> Requests:
    client.create_topic(TOPIC, PARTITIONS)
    member_id = joined(client)
    partitions = [OffsetCommitRequestPartition(partition_index=each, committed_offset=5) for each in range(PARTITIONS)]
    commit = OffsetCommitRequest(
        group_id=GROUP,
        generation_id_or_member_epoch=1,
        member_id=member_id,
        topics=[OffsetCommitRequestTopic(name=TOPIC, partitions=partitions)],
    )
    fetch_offsets = OffsetFetchRequest(
        group_id=GROUP, topics=[OffsetFetchRequestTopic(name=TOPIC, partition_indexes=list(range(PARTITIONS)))]
    )
    metadata = MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)])
    find_coordinator = FindCoordinatorRequest(coordinator_keys=[GROUP])
    rejoining = itertools.count(2)
    rejoined_id = client.join_alone(REJOINED_GROUP, session_timeout_ms=LONG_SESSION_MS)
    new_groups = (f"new-group-{number}" for number in itertools.count())
    batch = build_batch([(None, bytes(100), ())], timestamp_ms=round(time.time() * 1000))
    return {
        "Heartbeat": lambda: client.heartbeat_error(GROUP, member_id),
        **consumer_requests(client),
        "OffsetCommit of 10 partitions": lambda: client.request(commit, 8),
        "OffsetFetch of 10 partitions": lambda: client.request(fetch_offsets, 7),
        "Produce of one record": lambda: client.request(produce_request(TOPIC, batch), 9),
        "Fetch of 2 KB": lambda: client.request(fetch_request(TOPIC, max_bytes=2_000), 11),
        "Metadata of one topic": lambda: client.request(metadata, 12),
        "FindCoordinator": lambda: client.request(find_coordinator, 4),
        "connect, ApiVersions, close": partial(connect, client.bootstrap),
        "JoinGroup and SyncGroup of a rebalance": lambda: rebalance(client, rejoined_id, next(rejoining)),
        "JoinGroup and SyncGroup of a new group": lambda: client.join_alone(next(new_groups)),
    }


def connect(bootstrap: str) -> None:
    with WireClient(bootstrap) as client:
        client.request(ApiVersionsRequest(client_software_name="bench", client_software_version="1.0"), 4)


def rebalance(client: WireClient, member_id: str, generation_id: int) -> None:
    """The only member of a group joins it again."""
    request = join_request(REJOINED_GROUP, member_id, timeout_ms=LONG_SESSION_MS)
    joined = client.request(request, BEFORE_MEMBER_ID_REQUIRED)
    assert joined.generation_id == generation_id, joined
    assignment = SyncGroupRequestAssignment(member_id=member_id, assignment=b"all")
    sync = SyncGroupRequest(
        group_id=REJOINED_GROUP, generation_id=generation_id, member_id=member_id, assignments=[assignment]
    )
    synced = client.request(sync, 3)
    assert synced.error_code == 0, synced


def is_loaded(client: WireClient, group_id: str) -> bool:
    """Whether a request of a group that does not exist is answered."""
    unknown = ConsumerGroupHeartbeatRequest(group_id=group_id, member_id=CONSUMER_MEMBER_ID, member_epoch=1)
    code: int = client.request(unknown, 1).error_code
    return code == ErrorCode.GROUP_ID_NOT_FOUND


def changes_of_consumers(
    server: "subprocess.Popen[bytes]", bootstrap: str, scratch: Path, idle: float
) -> Iterator[tuple[str, float]]:
    """What happens, and the instructions for it per member."""
    with ExitStack() as stack:
        clients = [stack.enter_context(WireClient(bootstrap)) for _ in range(CHANGING_CONNECTIONS)]
        for client in clients:
            client.socket.settimeout(CHANGING_SECONDS)
        clients[0].create_topic(CHANGING_TOPIC, CHANGING_PARTITIONS)
        new_group = partial(ChangingGroup, topic=CHANGING_TOPIC, partition_count=CHANGING_PARTITIONS, clients=clients)
        if ONLY in JOINS:
            for group_id, members in ((WARMED_UP, CHANGING_CONNECTIONS), (JOINED, JOINED_MEMBERS)):
                group = new_group(group_id)
                group.add_members(members)
                count = counted(server, scratch, group.join_at_once, idle)
                group.leave()
            yield JOINS, count / JOINED_MEMBERS
        if ONLY in REPLACES:
            group = new_group(REPLACED)
            group.set_assignment_interval(0)
            group.add_members(REPLACED_MEMBERS)
            group.become_stable()
            group.replace()
            count = counted(server, scratch, lambda: repeat(group.replace, REPLACED_ROUNDS), idle)
            yield REPLACES, count / REPLACED_MEMBERS / REPLACED_ROUNDS


def consumer_requests(client: WireClient) -> Requests:
    """Those of the new group protocol, if the server has it."""
    apis = {api_key.api_key for api_key in client.request(ApiVersionsRequest(), 0).api_keys}
    if ConsumerGroupHeartbeatRequest.API_KEY not in apis:
        return {}
    heartbeat = steady_consumer(client)
    return {"ConsumerGroupHeartbeat": lambda: client.request(heartbeat, 1)}


def steady_consumer(client: WireClient) -> ConsumerGroupHeartbeatRequest:
    """The heartbeat of the only member of a consumer group, which has all that it is to have."""
    joining = ConsumerGroupHeartbeatRequest(
        group_id=CONSUMER_GROUP,
        member_id=CONSUMER_MEMBER_ID,
        rebalance_timeout_ms=LONG_SESSION_MS,
        subscribed_topic_names=[TOPIC],
        topic_partitions=[],
    )

    def epoch() -> int:
        found: int = client.request(joining, 1).member_epoch
        return found

    member_epoch = wait_for(epoch, START_SECONDS, "the consumer group")
    return ConsumerGroupHeartbeatRequest(
        group_id=CONSUMER_GROUP, member_id=CONSUMER_MEMBER_ID, member_epoch=member_epoch
    )


def joined(client: WireClient) -> str:
    """The member id of the only member, once the group is loaded."""

    def join() -> str:
        with suppress(AssertionError):
            return client.join_alone(GROUP, session_timeout_ms=LONG_SESSION_MS)
        return ""

    return wait_for(join, START_SECONDS, "the group")


def repeat(send: Callable[[], object], times: int) -> None:
    for _ in range(times):
        send()


def control(server: "subprocess.Popen[bytes]", command: str) -> None:
    subprocess.run(["callgrind_control", command, str(server.pid)], check=True, capture_output=True)


def counted(
    server: "subprocess.Popen[bytes]", scratch: Path, work: Callable[[], object], idle_per_second: float
) -> float:
    """The instructions that the server takes for some work, beyond those that it takes without any."""
    control(server, "--zero")
    begin = time.monotonic()
    work()
    idle = idle_per_second * (time.monotonic() - begin)
    return instructions(server, scratch) - idle


def instructions(server: "subprocess.Popen[bytes]", scratch: Path) -> int:
    """Those since the counters were set to zero."""
    control(server, "--dump")
    newest = max(scratch.glob("counts.*"), key=lambda path: path.stat().st_mtime)
    found = re.search(r"^(?:totals|summary): (\d+)", newest.read_text(), re.MULTILINE)
    assert found is not None, newest
    return int(found[1])


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    main()
