"""With which settings and arguments the JVM of Spark is started."""

from pathlib import Path

import pytest

from coordinator.pipeline import jvm
from coordinator.pipeline.jvm import is_local
from coordinator.pipeline.session import is_submitted, settings_for


def test_the_users_settings_win_but_for_the_master():
    settings = settings_for("spark://host:7077", {"spark.ui.enabled": "true", "spark.master": "local"})
    assert settings["spark.ui.enabled"] == "true"
    assert settings["spark.master"] == "spark://host:7077"
    assert "delta" in settings["spark.sql.extensions"]


def test_only_a_local_session_is_bound_to_the_loopback_interface():
    assert settings_for("local[*]", {})["spark.driver.host"] == "127.0.0.1"
    assert "spark.driver.host" not in settings_for("spark://host:7077", {})
    assert [is_local(each) for each in ("local", "local[2]", "local-cluster[2,1,1024]", "yarn")] == [
        True,
        True,
        False,
        False,
    ]


@pytest.fixture
def jars(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    found = [Path("/jars/a.jar"), Path("/jars/b.jar")]
    monkeypatch.setattr(jvm, "cached_jars", lambda: found)
    return found


def test_executors_get_the_jars_from_the_driver(jars: list[Path]):
    local, remote = {"spark.master": "local[2]"}, {"spark.master": "spark://host:7077", "spark.jars": "own.jar"}
    assert jvm._gateway(local)[-1] == jvm._gateway(remote)[-1] == "org.apache.spark.api.python.PythonGatewayServer"
    assert "spark.jars" not in local
    assert remote["spark.jars"] == "/jars/a.jar,/jars/b.jar,own.jar"


def test_more_packages_are_resolved_beside_ours(jars: list[Path]):
    settings = {"spark.master": "local[2]", "spark.jars.packages": "org:more:1"}
    arguments = jvm._gateway(settings)
    assert "org.apache.spark.deploy.SparkSubmit" in arguments
    assert f"spark.jars.packages={','.join(jvm.PACKAGES)},org:more:1" in arguments


def test_spark_submit_is_known_by_its_gateway(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    assert not is_submitted()
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert is_submitted()
