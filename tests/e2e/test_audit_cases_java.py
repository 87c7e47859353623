"""Ways to rebalance a group of Java clients: the audit tells who, why and at what price."""

from pathlib import Path
from typing import Final

import pyspark
import pytest

from interop.driver import DriverMissing, java_driver
from tests.e2e.playing_cases import play

pytestmark = pytest.mark.realtime

IVY: Final = Path.home() / ".ivy2.5.2" / "jars"
"""Where Spark keeps the jars of its Kafka connector, the client among them."""

NEEDED_JARS: Final = ("jackson-*.jar", "slf4j-api-*.jar")
"""Of the hundreds that Spark brings, each of which a JVM would open to look for a class."""

CASES_OF_JAVA: Final = (
    "a_member_closes",
    "a_member_does_not_poll",
    "a_cooperative_rebalance",
    "from_range_to_cooperative",
    "the_coordinator_stands_still",
)
"""The cases in which the Java client says more than the others, or something else."""


@pytest.fixture(scope="module")
def java(tmp_path_factory) -> list[str]:
    clients = sorted(IVY.glob("org.apache.kafka_kafka-clients-*.jar"))
    if not clients:
        pytest.skip("Spark has not brought the jar of Kafka's clients yet; `make demo` does")
    spark = Path(pyspark.__file__).parent / "jars"
    jars = [clients[-1], *(jar for name in NEEDED_JARS for jar in sorted(spark.glob(name)))]
    try:
        return java_driver([str(jar) for jar in jars], tmp_path_factory.mktemp("classes"))
    except DriverMissing as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("case", CASES_OF_JAVA)
def test_the_audit_tells_what_the_client_says(server_of_case, case, java):
    scene = play(case, java, server_of_case)
    assert scene.unknown == "", "it sends its reason (KIP-800)"
