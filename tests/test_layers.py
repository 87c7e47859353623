"""Who may import whom: the rule of docs/architecture.md as a table that is checked."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
FREE_TO_ALL: Final = (
    "msgspec",
    "msgspec.structs",
    "coordinator",
    "coordinator.internal_topics",
    "coordinator.topic_names",
    "coordinator.deadlines",
    "coordinator.wall_time",
    "coordinator.printable",
    "coordinator.logger",
    "coordinator.extras",
    "coordinator.garbage",
)
"""Fields of values, the version, names of topics, an addition without overflow, quoting, the logger, extras, and when
garbage is collected: all may import them."""

ANYTHING: Final = None

ALLOWED: Final[dict[str, frozenset[str] | None]] = {
    layer: None if allowed is ANYTHING else frozenset(allowed.split())
    for layer, allowed in {
        "_wire": "crc32c cramjam lz4 zstandard",
        "coordinator.timers": "",
        "coordinator.config": "",
        "coordinator.core": "_wire coordinator.config",
        "coordinator.core.consumer": "_wire coordinator.config coordinator.core coordinator.patterns xxhash",
        "coordinator.core.transactions": "_wire coordinator.config coordinator.core coordinator.patterns",
        "coordinator.log": "_wire coordinator.config crc32c",
        "coordinator.metadata": "_wire coordinator.log coordinator.security.sasl.scram_credentials",
        "coordinator.kafka_folder": "_wire coordinator.config coordinator.log coordinator.metadata"
        " coordinator.security.sasl.scram_credentials",
        "coordinator.backup": "coordinator.log",
        "coordinator.quotas": "_wire coordinator.metadata coordinator.config",
        "coordinator.audit": "_wire coordinator.core",
        "coordinator.runtime": "_wire coordinator.core.causes coordinator.core.decision coordinator.core.event"
        " coordinator.core.operation coordinator.core.partitioning coordinator.core.stored"
        " coordinator.core.stored_batch coordinator.log coordinator.timers greenlet",
        "coordinator.groups": "_wire coordinator.core coordinator.audit coordinator.runtime coordinator.log"
        " coordinator.timers coordinator.config coordinator.patterns",
        "coordinator.broker": "_wire coordinator.log coordinator.metadata coordinator.runtime.slices"
        " coordinator.runtime.pauses coordinator.timers coordinator.config",
        "coordinator.transactions": "_wire coordinator.core coordinator.runtime coordinator.broker coordinator.log"
        " coordinator.timers coordinator.config",
        "coordinator.share_state": "_wire coordinator.core coordinator.runtime coordinator.log coordinator.timers"
        " coordinator.config",
        "coordinator.metrics": "_wire coordinator.audit.world coordinator.core coordinator.groups coordinator.runtime"
        " coordinator.timers coordinator.config prometheus_client",
        "coordinator.admin": "coordinator.metrics coordinator.listen_address coordinator.inherited_sockets"
        " coordinator.config coordinator.http_guard coordinator.http_login starlette uvicorn",
        "coordinator.security": "_wire coordinator.config",
        "coordinator.security.sasl": "coordinator.config coordinator.security scramp joserfc",
        "coordinator.security.tls": "coordinator.config coordinator.security coordinator.patterns cryptography",
        "coordinator.front": "_wire coordinator.metrics coordinator.runtime coordinator.groups coordinator.quotas"
        " coordinator.audit coordinator.core coordinator.log.errors coordinator.timers coordinator.config"
        " coordinator.patterns coordinator.listen_address coordinator.inherited_sockets coordinator.admin"
        " coordinator.http_guard coordinator.security uvloop",
        "coordinator.node": "_wire coordinator.front coordinator.metrics coordinator.admin coordinator.runtime"
        " coordinator.groups coordinator.broker coordinator.audit coordinator.metadata coordinator.quotas"
        " coordinator.core coordinator.log coordinator.timers coordinator.transactions coordinator.config"
        " coordinator.share_state"
        " coordinator.patterns coordinator.listen_address coordinator.inherited_sockets coordinator.security",
        "coordinator.cluster": "_wire coordinator.client coordinator.security coordinator.config coordinator.core"
        " coordinator.audit coordinator.log.errors coordinator.runtime coordinator.groups coordinator.front"
        " coordinator.metrics coordinator.admin coordinator.timers coordinator.watch"
        " coordinator.internal_topics coordinator.listen_address",
        "coordinator.cluster.brokers": "_wire coordinator.client.bootstrap coordinator.client.login"
        " coordinator.client.requests coordinator.client.security coordinator.runtime.slices",
        "coordinator.cluster.log": "_wire coordinator.cluster.brokers coordinator.audit.schema coordinator.core.stored"
        " coordinator.core.stored_batch coordinator.log.config coordinator.runtime",
        "coordinator.cluster.nodes": "_wire coordinator.cluster.brokers coordinator.cluster.found"
        " coordinator.client.bootstrap coordinator.client.security",
        "coordinator.cluster.sentinels": "_wire coordinator.cluster.brokers coordinator.runtime.slices",
        "coordinator.cluster.relay": "_wire coordinator.audit.schema coordinator.cluster.found coordinator.core"
        " coordinator.runtime.slices"
        " coordinator.runtime.pauses"
        " coordinator.listen_address coordinator.front.acceptor coordinator.front.connection"
        " coordinator.front.connection_rate coordinator.front.descriptors coordinator.front.limits"
        " coordinator.front.login_limits coordinator.security.principal",
        "coordinator.client": "_wire coordinator.core coordinator.audit.schema coordinator.patterns coordinator.config"
        " coordinator.security kafka scramp",
        "coordinator.explain": "coordinator.audit.schema coordinator.core.causes",
        "coordinator.observe": "_wire coordinator.audit.schema coordinator.core.causes"
        " coordinator.core.consumer_protocol coordinator.core.partitioning coordinator.client coordinator.explain",
        "coordinator.pipeline": "_wire coordinator.audit.schema coordinator.core.causes"
        " coordinator.core.consumer_protocol coordinator.client coordinator.explain coordinator.observe"
        " pyarrow deltalake pyspark py4j delta rich",
        "coordinator.dashboard": "coordinator.audit.schema coordinator.client coordinator.core.causes"
        " coordinator.explain coordinator.observe.history starlette",
        "coordinator.faults": "_wire coordinator.runtime.slices coordinator.front coordinator.runtime coordinator.core"
        " coordinator.config",
        "coordinator.testing": "_wire coordinator.faults coordinator.front coordinator.node coordinator.explain"
        " coordinator.client coordinator.groups coordinator.runtime coordinator.audit coordinator.broker"
        " coordinator.core coordinator.log coordinator.timers coordinator.config coordinator.listen_address pytest"
        " starlette uvloop",
        "coordinator.watch": "_wire coordinator.audit.schema coordinator.broker.retention coordinator.client"
        " coordinator.config coordinator.core.partitioning coordinator.log coordinator.metrics coordinator.observe"
        " coordinator.security.protocols coordinator.front coordinator.node",
        "coordinator.demo": ANYTHING,
        "coordinator.cli": ANYTHING,
        "coordinator.patterns": "re2",
        "coordinator.listen_address": "coordinator.config.key",
        "coordinator.inherited_sockets": "coordinator.config.key coordinator.listen_address",
        "coordinator.service_manager": "coordinator.config.key",
        "coordinator.extras": "",
        "coordinator.garbage": "",
        "coordinator.http_guard": "",
        "coordinator.http_login": "",
        "coordinator.internal_topics": "",
        "coordinator.deadlines": "",
        "coordinator.wall_time": "",
        "coordinator.printable": "",
        "coordinator.topic_names": "",
        "coordinator.logger": "",
    }.items()
}
"""Layer → what it imports beside itself and the standard library."""

BUILD_TIME: Final = ("_wire/generate.py", "_wire/notation.py", "_wire/codegen")
IMPURE: Final = frozenset({"asyncio", "time", "random", "uuid", "socket", "secrets", "threading", "datetime", "os"})
"""What `core` never imports: time and randomness are arguments."""

SPARK: Final = frozenset({"pyspark", "py4j", "delta"})
CIMPORT: Final = re.compile(r"^\s*(?:from\s+([\w.]+)\s+c?import\s+([^#\n]+)|c?import\s+([\w.]+))", re.MULTILINE)
CYTHON: Final = frozenset({"cython", "cpython", "libc"})


def sources() -> list[Path]:
    """Every module of ours, the generated ones too where they were built."""
    files = [path for top in ("_wire", "coordinator") for path in (ROOT / top).rglob("*.py*")]
    return sorted(path for path in files if path.suffix in (".py", ".pyx", ".pxd", ".pyi"))


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: Path) -> Iterator[str]:
    """Full names of all that a module imports, anywhere in it."""
    text = path.read_text(encoding="utf-8")
    if path.suffix in (".pyx", ".pxd"):
        for module, _, plain in CIMPORT.findall(text):
            yield module or plain
        return
    for node in ast.walk(ast.parse(text, str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are written in full"
            yield from (_from(str(node.module), alias.name) for alias in node.names)


def _from(module: str, name: str) -> str:
    """`from package import module` imports the module."""
    whole = f"{module}.{name}"
    path = ROOT / whole.replace(".", "/")
    is_module = any(each.exists() for each in (path.with_suffix(".py"), path.with_suffix(".pyx"), path / "__init__.py"))
    return whole if is_module else module


def layer_of(name: str) -> str | None:
    if name == "coordinator":
        return "coordinator.internal_topics"
    """The innermost layer of the table that has the module."""
    return max((layer for layer in ALLOWED if is_within(name, layer)), key=len, default=None)


def is_within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def may_import(layer: str, name: str) -> bool:
    allowed = ALLOWED[layer]
    top = name.partition(".")[0]
    return (
        allowed is ANYTHING
        or is_within(name, layer)
        or name in FREE_TO_ALL
        or top in sys.stdlib_module_names
        or top in CYTHON
        or any(is_within(name, principal) for principal in allowed)
    )


def outside(path: Path) -> list[str]:
    """What a module imports and its layer may not."""
    layer = layer_of(name_of(path))
    assert layer is not None, f"{path} belongs to no layer of the table"
    relative = str(path.relative_to(ROOT))
    allowed = {"Cython"} if relative.startswith(BUILD_TIME) else set()
    return [each for each in imported(path) if not may_import(layer, each) and each.partition(".")[0] not in allowed]


def test_a_module_imports_only_what_its_layer_may():
    assert {str(path): found for path in sources() if (found := outside(path))} == {}


KNOWS_ONE_KIND: Final = {
    "coordinator.core.kinds.table": "the list of the kinds",
    "coordinator.core.kinds.operations": "the APIs of the classic protocol: their errors and their checks of requests",
    "coordinator.front.handlers.groups": "JoinGroup in old versions",
    "coordinator.node.handlers.share_offsets": "the offsets of share groups, which the share coordinator has",
    "coordinator.audit.projections": "the list of their audits",
    "coordinator.explain.protocols.table": "the list of their words",
    "coordinator.client.consumer_groups": "the list of how they are described for what-if",
}
"""Module that is not a kind's own → why it imports one that is. All others read rows and views; none may be added."""

OWN_OF_KINDS: Final = (
    "coordinator.core.classic",
    "coordinator.core.consumer",
    "coordinator.core.share",
    "coordinator.core.streams",
    "coordinator.audit.classic",
    "coordinator.audit.consumer",
    "coordinator.audit.consumer_epochs",
    "coordinator.audit.share",
    "coordinator.audit.streams",
    "coordinator.audit.streams_tasks",
    "coordinator.client.streams_tasks",
    "coordinator.explain.protocols.classic",
    "coordinator.explain.protocols.consumer",
    "coordinator.explain.protocols.share",
    "coordinator.explain.protocols.streams",
)
"""The folders and modules that belong to one kind."""

KNOWS_NO_GROUP: Final = (
    "coordinator.core.consumer.assignors",
    "coordinator.core.share.assignors",
    "coordinator.core.streams.assignors",
)
"""Parts of these folders that all may import."""


def imports_of_kinds(path: Path) -> list[str]:
    return [
        each
        for each in imported(path)
        if any(is_within(each, own) for own in OWN_OF_KINDS)
        and not any(is_within(each, part) for part in KNOWS_NO_GROUP)
    ]


def test_a_kind_of_group_is_known_to_its_own_modules_and_the_tables_of_kinds():
    knowing = {
        name_of(path)
        for path in sources()
        if imports_of_kinds(path) and not any(is_within(name_of(path), own) for own in OWN_OF_KINDS)
    }
    assert knowing == KNOWS_ONE_KIND.keys()


def test_what_kinds_share_knows_none_of_them():
    """The folder of a kind imports `core.groups`, and `core.kinds` imports both."""
    for path in (ROOT / "coordinator" / "core" / "groups").rglob("*.py"):
        assert not any(is_within(each, "coordinator.core.kinds") for each in imported(path)), path
        assert imports_of_kinds(path) == [], path


def test_no_module_reads_the_membership_of_a_group_as_that_of_a_kind():
    """`group.classic` and the like: what only one kind has would be reached around its row."""
    for path in sources():
        assert not re.search(r"\bgroup\.(classic|consumer|share|streams)\b(?!\.)", path.read_text(encoding="utf-8")), (
            path
        )


def test_the_packages_themselves_import_nothing():
    for package in ("coordinator", "_wire"):
        assert list(imported(ROOT / package / "__init__.py")) == []


def test_the_core_is_pure():
    for path in (ROOT / "coordinator" / "core").rglob("*.py"):
        assert {each.partition(".")[0] for each in imported(path)} & IMPURE == set(), path


def test_spark_is_imported_by_the_pipeline_and_by_the_demo_that_shows_it():
    """A command that needs Spark imports it when it is run."""
    for path in sources():
        if layer_of(name_of(path)) not in ("coordinator.pipeline", "coordinator.demo"):
            assert {
                top_level_import.partition(".")[0] for top_level_import in top_level_imports(path)
            } & SPARK == set(), path


def test_kafka_python_is_imported_by_its_strategies_and_by_the_demo():
    """What talks to a server by itself needs no client library."""
    for path in sources():
        if name_of(path) != "coordinator.client.kafka_python" and layer_of(name_of(path)) != "coordinator.demo":
            assert "kafka" not in {each.partition(".")[0] for each in imported(path)}, path


def top_level_imports(path: Path) -> Iterator[str]:
    """What is imported when the module is, but for what only a type checker reads."""
    if path.suffix != ".py":
        return
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)


def test_the_libraries_of_the_admin_port_are_imported_when_somebody_asks_it():
    """Off, the port costs nothing, not even an import."""
    names = {"prometheus_client", "starlette", "uvicorn"}
    shown = (
        "coordinator.admin.app",
        "coordinator.admin.http_server",
        "coordinator.metrics.exposition",
        "coordinator.dashboard",
        "coordinator.testing.http",
    )
    for path in sources():
        if not any(is_within(name_of(path), each) for each in shown):
            assert {
                top_level_import.partition(".")[0] for top_level_import in top_level_imports(path)
            } & names == set(), path
    for path in sources():
        if layer_of(name_of(path)) in ("coordinator.front", "coordinator.node"):
            needed = {
                top_level_import
                for top_level_import in top_level_imports(path)
                if top_level_import.startswith("coordinator.admin")
            }
            assert needed == set(), path


def test_what_pytest_imports_at_its_start_imports_nothing_of_the_server():
    for name in ("__init__", "plugin"):
        found = set(top_level_imports(ROOT / "coordinator" / "testing" / f"{name}.py"))
        assert found <= {"__future__", "collections.abc", "typing", "pytest"}, name


def test_no_part_of_a_server_imports_the_test_kit():
    for path in sources():
        layer = layer_of(name_of(path))
        if layer not in ("coordinator.testing", "coordinator.faults", "coordinator.cli", "coordinator.demo"):
            kit = [each for each in imported(path) if is_within(each, "coordinator.testing")]
            assert kit == [], path


def test_names_are_imported_by_anybody_because_they_import_nobody():
    assert list(imported(ROOT / "coordinator" / "internal_topics.py")) == ["typing"]
