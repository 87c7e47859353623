"""Each way to rebalance a group, with each Python client: the audit tells who, why and at what price."""

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pyspark
import pytest

from interop.driver import Driver, DriverMissing, java_driver, python_driver
from interop.scene import Scene
from tests.e2e.audit_cases import CASES, SERVER_SETTINGS
from tests.servers import RunningServer

pytestmark = pytest.mark.realtime

CLIENTS = ("kafka-python", "aiokafka", "confluent-kafka")
IVY = Path.home() / ".ivy2.5.2" / "jars"
"""Where Spark keeps the jars of its Kafka connector, the client among them."""

WITH_JAVA = (
    "a_member_closes",
    "a_member_does_not_poll",
    "a_cooperative_rebalance",
    "from_range_to_cooperative",
    "the_coordinator_stands_still",
)
"""The cases in which the Java client says more than the others, or something else."""

numbers = count()


@pytest.fixture(scope="module")
def shared(tmp_path_factory) -> Iterator[RunningServer]:
    with RunningServer(tmp_path_factory.mktemp("cases"), SERVER_SETTINGS) as running:
        yield running


@pytest.fixture
def server(request, tmp_path) -> Iterator[RunningServer]:
    if not CASES[request.getfixturevalue("case")].own_server:
        yield request.getfixturevalue("shared")
        return
    with RunningServer(tmp_path, {**SERVER_SETTINGS, **CASES[request.getfixturevalue("case")].settings}) as running:
        yield running


def play(case: str, command: list[str], server: RunningServer) -> Scene:
    with ExitStack() as stack:
        others = {"aiokafka": lambda: Driver(python_driver("aiokafka"))}
        scene = Scene(server, lambda: Driver(command), f"case{next(numbers)}", stack, others=others)
        CASES[case].play(scene)
        return scene


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("case", CASES)
def test_the_audit_tells_what_happened(server, case, client):
    with Driver(python_driver(client)) as probe:
        if CASES[case].needs and CASES[case].needs not in probe.can:
            assert (client, CASES[case].needs) == ("aiokafka", "cooperative-sticky")
            return
    play(case, python_driver(client), server)


@pytest.fixture(scope="module")
def java(tmp_path_factory) -> list[str]:
    if not list(IVY.glob("org.apache.kafka_kafka-clients-*.jar")):
        pytest.skip("Spark has not brought the jar of Kafka's clients yet; `make demo` does")
    jars = [str(Path(pyspark.__file__).parent / "jars" / "*"), str(IVY / "*")]
    try:
        return java_driver(jars, tmp_path_factory.mktemp("classes"))
    except DriverMissing as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("case", WITH_JAVA)
def test_the_audit_tells_what_the_java_client_says(server, case, java):
    scene = play(case, java, server)
    assert scene.unknown == "", "it sends its reason (KIP-800)"
