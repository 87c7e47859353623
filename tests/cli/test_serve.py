"""`coordinator serve` as a process: how it starts, how it ends, and what it says when it cannot."""

import json
import os
import platform
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Final

import pytest

from _wire.errors import ErrorCode
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.describe_cluster import DescribeClusterRequest
from _wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from coordinator.groups.machines import SWITCH
from tests.servers import RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient, fetch_request, join_request

CANNOT_START: Final = 2
STOP_SECONDS_AT_MOST: Final = 5
COMMAND: Final = [sys.executable, "-m", "coordinator.cli"]


def run_through(*command: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """What a process says that ends by itself."""
    environment = os.environ | {"PYTHONPATH": os.getcwd()}
    return subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True, timeout=20, check=False
    )


def refused(*arguments: object) -> str:
    """The one line that a server says which cannot start."""
    run = run_through(*COMMAND, "serve", *arguments)
    assert run.returncode == CANNOT_START, run.stderr
    assert run.stdout == ""
    (line,) = run.stderr.splitlines()
    assert line.startswith("coordinator: ")
    return line


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


# ---- start and end


def test_a_server_whose_checks_are_armed_says_so_and_serves(tmp_path, monkeypatch):
    monkeypatch.setenv(SWITCH, "1")
    with RunningServer(tmp_path) as server:
        wait_for(lambda: SWITCH in server.log.read_text(), 5, "the line about it")
        with WireClient(server.bootstrap) as client:
            client.join_alone("g")


def test_a_check_that_failed_in_a_server_fails_the_test(tmp_path):
    with pytest.raises(AssertionError, match="CheckFailed: by hand"), RunningServer(tmp_path) as server:
        server.log.write_text("CheckFailed: by hand")


def test_the_ready_file_has_address_and_pid(tmp_path):
    with RunningServer(tmp_path) as server:
        said = json.loads((tmp_path / "ready.json").read_text())
        assert said == {"bootstrap": server.bootstrap, "pid": server.pid}
        assert [path.name for path in tmp_path.iterdir() if "ready" in path.name] == ["ready.json"]
        with WireClient(server.bootstrap) as client:
            assert client.request(ApiVersionsRequest(), 0).error_code == ErrorCode.NONE


@pytest.mark.parametrize("end", ["stop", "interrupt"])
def test_sigterm_and_ctrl_c_stop_it_cleanly_with_clients_connected(tmp_path, end):
    with RunningServer(tmp_path) as server:
        with WireClient(server.bootstrap) as idle, WireClient(server.bootstrap) as waiting:
            with WireClient(server.bootstrap) as member:
                member.create_topic("t")
                member.join_alone("g")
            waiting.send(fetch_request("t", max_wait_ms=60_000), 11)
            idle.send(join_request("g"), 3)
            started = monotonic()
            assert getattr(server, end)() == 0
            assert monotonic() - started < STOP_SECONDS_AT_MOST
        lines = [line for line in server.log.read_text().splitlines() if "group transition" not in line]
        for line, said in zip(lines, ("serving", "file descriptors", "stopped"), strict=True):
            assert said in line
        assert (server.data / ".kafka_cleanshutdown").exists()


def test_it_raises_the_limit_of_open_files_and_says_so(tmp_path):
    with RunningServer(tmp_path, open_files_max=(128, 1024)) as server:
        limits = Path(f"/proc/{server.pid}/limits").read_text()
        (row,) = (line.split() for line in limits.splitlines() if line.startswith("Max open files"))
        assert row[3] == row[4] == "1024"
        wait_for(lambda: "file descriptors" in server.log.read_text(), 5, "the line about it")
        assert re.search(r"file descriptors +limit=1024 connections=768 files_of_logs=192\n", server.log.read_text())


def test_a_listener_with_tls_and_without_a_key_is_refused(data):
    said = refused("--data-dir", data, "--set", "listeners=SSL://127.0.0.1:0")
    assert "the listener SSL has TLS and no private key: set ssl.keystore.location and ssl.keystore.type" in said


def test_a_restart_keeps_the_cluster_id(tmp_path):
    ids = []
    with RunningServer(tmp_path) as server:
        for _ in range(2):
            with WireClient(server.bootstrap) as client:
                ids.append(client.request(DescribeClusterRequest(), 1).cluster_id)
            server.stop()
            server.start()
    assert ids[0] == ids[1] != ""


# ---- invalid settings and options


def test_options_override_settings_of_the_file(tmp_path, data):
    config = tmp_path / "server.properties"
    config.write_text(
        "# as Kafka writes it\n! or so\n\nnode.id = 7\nlisteners=PLAINTEXT://127.0.0.1:1\n"
        f"log.dirs={tmp_path / 'elsewhere'}\nnum.partitions=3\n"
    )
    ready = tmp_path / "ready"
    arguments = ["--config", config, "--set", "node.id=8", "--listen", "127.0.0.1:0", "--data-dir", data]
    with serving(*arguments, "--ready-file", ready) as process:
        wait_for(lambda: ready.exists() or process.poll() is not None, 20, "the server to be ready")
        with WireClient(json.loads(ready.read_text())["bootstrap"]) as client:
            assert client.request(DescribeClusterRequest(), 1).controller_id == 8
    assert "node.id=8" in (data / "meta.properties").read_text()
    assert not (tmp_path / "elsewhere").exists()


def test_the_environment_overrides_the_file_and_options_override_both(tmp_path, data, monkeypatch):
    config, ready, log = (tmp_path / name for name in ("server.properties", "ready", "log"))
    config.write_text("node.id=7\nlog.retention.ms=7\nnum.partitions=7\nnum.io.threads=9\nno.such.setting=1\n")
    for variable in ("KAFKA_NODE_ID", "KAFKA_LOG_RETENTION_MS", "KAFKA_HEAP_OPTS", "KAFKA_NO_SUCH"):
        monkeypatch.setenv(variable, "8")
    arguments = ["--config", config, "--environment", "--set", "node.id=9", "--listen", "127.0.0.1:0"]
    with (
        log.open("wb") as stderr,
        serving(*arguments, "--data-dir", data, "--ready-file", ready, stderr=stderr.fileno()) as process,
    ):
        wait_for(lambda: ready.exists() or process.poll() is not None, 20, "the server to be ready")
        with WireClient(json.loads(ready.read_text())["bootstrap"]) as client:
            resource = DescribeConfigsResource(resource_type=4, resource_name="9")
            (result,) = client.request(DescribeConfigsRequest(resources=[resource]), 4).results
    values = {each.name: (each.value, each.config_source) for each in result.configs}
    assert (values["node.id"], values["log.retention.ms"], values["num.partitions"]) == (("9", 4), ("8", 4), ("7", 4))
    assert values["num.io.threads"] == ("9", 4), "it has no effect, but was given"
    lines = log.read_text()
    assert "settings of Kafka that this server does not use settings=num.io.threads\n" in lines
    assert """unknown settings, not used     settings="'no.such', 'no.such.setting'"\n""" in lines
    assert "variables are not used" not in lines


def test_the_environment_counts_only_if_that_is_asked_for(data, tmp_path, monkeypatch):
    monkeypatch.setenv("KAFKA_NODE_ID", "8")
    monkeypatch.setenv("KAFKA_PORT", "tcp://10.0.0.1:9092")
    log = tmp_path / "log"
    with (
        log.open("wb") as stderr,
        serving("--listen", "127.0.0.1:0", "--data-dir", data, stderr=stderr.fileno()) as process,
    ):
        wait_for(lambda: "serving" in log.read_text() or process.poll() is not None, 20, "the server to be ready")
    assert "node.id=1" in (data / "meta.properties").read_text()
    assert "variables are not used without --environment variables=KAFKA_NODE_ID\n" in log.read_text()


@contextmanager
def serving(
    *arguments: object, python_options: tuple[str, ...] = (), stderr: int = subprocess.DEVNULL
) -> Iterator[subprocess.Popen[bytes]]:
    """A server with these arguments, ended with SIGTERM."""
    command = [sys.executable, *python_options, *COMMAND[1:], "serve", *map(str, arguments)]
    process = subprocess.Popen(command, stderr=stderr)
    try:
        yield process
        process.send_signal(signal.SIGTERM)
        assert process.wait(STOP_SECONDS_AT_MOST) == 0
    finally:
        process.kill()


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("num.partition=1", "unknown setting 'num.partition'; did you mean 'num.partitions'?"),
        ("group.min.sesion.timeout.ms=1", "did you mean 'group.min.session.timeout.ms'?"),
        ("num.partitions=0", "num.partitions=0: must be at least 1"),
        ("node.id=2147483648", "node.id=2147483648: must be at most 2147483647"),
        ("num.partitions=many", "num.partitions=many: expected a whole number"),
        ("auto.create.topics.enable=yes", "auto.create.topics.enable=yes: expected true or false"),
        ("num.partitions", "'num.partitions': expected KEY=VALUE"),
        ("=1", "'=1': expected KEY=VALUE"),
        ("group.min.session.timeout.ms=2000000", "must not be above group.max.session.timeout.ms=1800000"),
        ("listeners=9092", "listeners=9092: '9092' is not NAME://HOST:PORT"),
        ("listeners=", "at least one listener is needed"),
        ("advertised.listeners=OTHER://a:1", "there is no listener OTHER"),
    ],
)
def test_an_invalid_setting_is_reported(data, setting, said):
    assert said in refused("--data-dir", data, "--set", setting)


@pytest.mark.parametrize("listen", ["localhost", "127.0.0.1:x", "127.0.0.1:70000"])
def test_an_invalid_address_is_reported(data, listen):
    assert f"'PLAINTEXT://{listen}' is not NAME://HOST:PORT" in refused("--data-dir", data, "--listen", listen)


def test_a_missing_config_file_is_reported(tmp_path, data):
    assert "nowhere.properties" in refused("--data-dir", data, "--config", tmp_path / "nowhere.properties")


def test_an_invalid_config_file_is_reported(tmp_path, data):
    for content, problem in (
        (b"\xff\xfe\x00", "broken.properties"),
        (b"\nwords", "broken.properties:2: expected KEY=VALUE"),
    ):
        (tmp_path / "broken.properties").write_bytes(content)
        assert problem in refused("--data-dir", data, "--config", tmp_path / "broken.properties")
    assert str(tmp_path) in refused("--data-dir", data, "--config", tmp_path)


def test_an_unknown_option_is_reported_by_click():
    run = run_through(*COMMAND, "serve", "--no-such-option")
    assert run.returncode == CANNOT_START
    assert "Traceback" not in run.stderr


# ---- where it cannot be


@pytest.fixture
def taken() -> Iterator[str]:
    """An address that somebody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield f"127.0.0.1:{other.getsockname()[1]}"


def test_a_port_in_use_is_reported(data, taken):
    assert f"cannot listen on {taken}: " in refused("--data-dir", data, "--listen", taken)


def test_a_data_folder_that_is_a_file_is_reported(data):
    data.write_text("mine")
    assert f"data directory {data} is not a directory" in refused("--data-dir", data, "--listen", "127.0.0.1:0")
    assert data.read_text() == "mine"


@pytest.mark.parametrize("place", ["file/data", "/proc/data"])
def test_a_data_folder_that_cannot_be_created_is_reported(tmp_path, place):
    (tmp_path / "file").write_text("mine")
    path = tmp_path / place
    assert f"data directory {path} cannot be used: " in refused("--data-dir", path, "--listen", "127.0.0.1:0")


def test_a_data_folder_in_use_is_reported(tmp_path):
    with RunningServer(tmp_path) as server:
        said = refused("--data-dir", server.data, "--listen", "127.0.0.1:0")
        assert f"data directory {server.data} is in use by another process" in said
        with WireClient(server.bootstrap) as client:
            assert client.request(ApiVersionsRequest(), 0).error_code == ErrorCode.NONE


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "meta.properties is damaged: version is missing"),
        (b"version=1\nnode.id=1\n", "meta.properties is damaged: cluster.id is missing"),
        (b"version=2\ncluster.id=c\nnode.id=1\n", "has version 2"),
        (b"version=1\ncluster.id=c\nnode.id=7\n", "belongs to node 7, not to node 1"),
        (b"version=1\ncluster.id=c\nnode.id=1\n", "use an empty data directory"),
        (b"\xff\xfe\x00\x01", "meta.properties is damaged"),
    ],
)
def test_damaged_meta_properties_are_reported(data, content, said):
    data.mkdir()
    (data / "meta.properties").write_bytes(content)
    assert said in refused("--data-dir", data, "--listen", "127.0.0.1:0")


def test_a_log_that_is_a_file_is_reported(data):
    data.mkdir()
    (data / "__cluster_metadata-0").write_text("mine")
    assert "__cluster_metadata-0" in refused("--data-dir", data, "--listen", "127.0.0.1:0")


def test_a_ready_file_that_cannot_be_written_is_reported(tmp_path, data):
    ready = tmp_path / "missing" / "ready.json"
    run = run_through(*COMMAND, "serve", "--data-dir", data, "--listen", "127.0.0.1:0", "--ready-file", ready)
    assert run.returncode == CANNOT_START
    assert str(ready.parent) in run.stderr.splitlines()[-1]
    assert "Traceback" not in run.stderr


# ---- what it does not need


def test_help_does_not_import_spark():
    program = (
        "import sys; from coordinator.cli import main\n"
        "try: main(['--help'])\n"
        "finally: print([name for name in ('pyspark', 'uvloop', 'delta') if name in sys.modules], file=sys.stderr)"
    )
    run = run_through(sys.executable, "-c", program)
    assert run.returncode == 0
    assert run.stderr.strip() == "[]"
    for verb in ("serve", "pipeline", "demo"):
        assert verb in run.stdout


def test_the_server_does_not_import_spark(tmp_path, data):
    ready, imports = tmp_path / "ready", tmp_path / "imports"
    with imports.open("wb") as stderr:
        options = ("-X", "importtime")
        arguments = ["--listen", "127.0.0.1:0", "--data-dir", data, "--ready-file", ready]
        with serving(*arguments, python_options=options, stderr=stderr.fileno()) as process:
            wait_for(lambda: ready.exists() or process.poll() is not None, 20, "the server to be ready")
    imported = {line.split("|")[-1].strip().split(".")[0] for line in imports.read_text().splitlines() if "|" in line}
    assert "uvloop" in imported
    assert not imported & {"pyspark", "py4j", "delta", "kafka"}


def test_it_leaves_nothing_in_its_working_directory(tmp_path, data):
    here = tmp_path / "here"
    here.mkdir()
    run = run_through(*COMMAND, "serve", "--data-dir", data, "--set", "node.id=x", cwd=here)
    assert run.returncode == CANNOT_START
    assert list(here.iterdir()) == []


def faults_of_large_objects(first: str) -> int:
    """The page faults of a process that makes and frees eight megabytes 50 times, after it has done `first`."""
    code = (
        f"import resource; {first}\n"
        "def use(): return len([bytearray(b'x') * (1 << 20) for _ in range(8)])\n"
        "use(); before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "for _ in range(50): use()\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)"
    )
    return int(subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE).stdout)


@pytest.mark.skipif("glibc" not in platform.libc_ver(), reason="the C library has no such setting")
def test_the_memory_of_a_response_that_was_sent_is_used_again():
    kept = "from coordinator.cli.serve import keep_freed_memory; keep_freed_memory()"
    assert faults_of_large_objects(kept) < 5_000 < 50_000 < faults_of_large_objects("")
