"""The files of deploy/ agree with the server, and with each other."""

import configparser
import json
import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

import coordinator
from coordinator.cli.watch import command as watch
from coordinator.config.given import given_in_environment
from coordinator.config.listener_keys import LISTENERS
from coordinator.config.metrics_keys import ADMIN_LISTENER, ADMIN_NAME
from coordinator.config.properties import read_properties
from coordinator.config.server_keys import LOG_DIRS
from coordinator.config.settings import Config

ROOT: Final = Path(__file__).resolve().parents[2]
DEPLOY: Final = ROOT / "deploy"
CONTAINERFILE: Final = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
USER: Final = 10001


def unit(name: str) -> configparser.ConfigParser:
    """A unit of systemd; its names may be there several times, the last one counts here."""
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(DEPLOY / "systemd" / name, encoding="utf-8")
    return parser


@pytest.fixture(scope="module")
def manifests() -> dict[str, Any]:
    text = (DEPLOY / "kubernetes" / "coordinator.yaml").read_text(encoding="utf-8")
    return {each["kind"]: each for each in yaml.safe_load_all(text)}


def test_the_service_is_told_when_the_server_is_ready_and_that_it_lives():
    service = unit("coordinator.service")["Service"]
    assert (service["Type"], service["WatchdogSec"]) == ("notify", "30")
    assert service["ExecStart"].split()[1:] == ["serve", "--config", "/etc/coordinator/server.properties"]


@pytest.mark.parametrize(("name", "listener"), [("clients", "PLAINTEXT"), ("admin", ADMIN_NAME)])
def test_a_socket_has_the_name_of_its_listener(name, listener):
    socket = unit(f"coordinator-{name}.socket")["Socket"]
    assert socket["FileDescriptorName"] == listener
    assert socket["Service"] == "coordinator.service"


def test_the_settings_of_the_manifest_are_those_of_a_server(manifests, tmp_path):
    file = tmp_path / "server.properties"
    file.write_text(manifests["ConfigMap"]["data"]["server.properties"], encoding="utf-8")
    config = Config(read_properties(file))
    (container,) = manifests["StatefulSet"]["spec"]["template"]["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert config[LISTENERS].endswith(f":{ports['kafka']}")
    assert config[ADMIN_LISTENER].endswith(f":{ports['admin']}")
    mounted = {mount["mountPath"] for mount in container["volumeMounts"]}
    assert Path(config[LOG_DIRS]).parent.as_posix() in mounted
    assert Path(container["args"][-1]).parent.as_posix() in mounted


def test_probes_ask_what_the_admin_port_serves(manifests):
    (container,) = manifests["StatefulSet"]["spec"]["template"]["spec"]["containers"]
    asked = {name: container[name]["httpGet"]["path"] for name in container if name.endswith("Probe")}
    assert asked == {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}


def test_the_image_and_the_manifest_have_one_user_and_no_rights(manifests):
    pod = manifests["StatefulSet"]["spec"]["template"]["spec"]
    assert f"USER {USER}:{USER}" in CONTAINERFILE
    assert (pod["securityContext"]["runAsUser"], pod["securityContext"]["runAsNonRoot"]) == (USER, True)
    (container,) = pod["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["image"].rpartition(":")[2] == coordinator.__version__


def test_the_image_starts_a_server_whose_health_is_asked_at_its_admin_port():
    found = re.search(r"^CMD (\[.*\])$", CONTAINERFILE, re.MULTILINE)
    assert found is not None
    assert json.loads(found[1]) == ["serve", "--environment"]
    variables = dict(re.findall(r"(KAFKA_\w+)=(\S+)", CONTAINERFILE))
    texts = {name: given.text for name, given in given_in_environment(variables).items()}
    config = Config(texts)
    assert f"http://127.0.0.1:{config[ADMIN_LISTENER].rpartition(':')[2]}/readyz" in CONTAINERFILE
    assert f"VOLUME {config[LOG_DIRS]}\n" in CONTAINERFILE


def test_a_server_has_the_versions_that_are_tested():
    def pins(file: Path) -> set[str]:
        return set(re.findall(r"^([\w.-]+==\S+)", file.read_text(encoding="utf-8"), re.MULTILINE))

    of_server = pins(DEPLOY / "requirements.lock")
    assert len(of_server) > 15
    assert of_server <= pins(ROOT / "requirements.lock")


@pytest.mark.parametrize("name", ["requirements.lock", "deploy/requirements.lock", "release/requirements.lock"])
def test_each_package_of_a_lock_has_hashes(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    entries = re.split(r"^(?=[A-Za-z])", text, flags=re.MULTILINE)[1:]
    assert [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry] == []


@pytest.fixture(scope="module")
def watcher() -> dict[str, Any]:
    text = (DEPLOY / "kubernetes" / "watch.yaml").read_text(encoding="utf-8")
    return {each["kind"]: each for each in yaml.safe_load_all(text)}


def understood(arguments: list[str]) -> dict[str, Any]:
    """The options of a `coordinator watch`; it would end with an error if one was none."""
    assert arguments[0] == "watch"
    return dict(watch.make_context("watch", arguments[1:]).params)


def test_the_unit_of_a_watcher_is_as_the_servers_and_has_its_options():
    service, server = unit("coordinator-watch.service")["Service"], unit("coordinator.service")["Service"]
    own = {"ExecStart", "ExecReload", "EnvironmentFile", "StateDirectory", "SupplementaryGroups"}
    assert {name: service[name] for name in service if name not in own} == {
        name: server[name] for name in server if name not in own
    }
    words = service["ExecStart"].replace("$WATCH_OPTIONS", "--bootstrap kafka:9092 --broker-log server.log").split()
    options = understood(words[1:])
    assert options["folder"].as_posix() == f"/var/lib/{service['StateDirectory']}"
    assert options["broker_logs"] == ("server.log",)


def test_the_manifest_of_a_watcher_has_its_options_and_no_rights(watcher, manifests):
    pod = watcher["StatefulSet"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    options = understood(container["args"])
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert options["listen"].endswith(f":{ports['kafka']}")
    assert options["admin"].endswith(f":{ports['admin']}")
    service = watcher["Service"]
    served = {port["name"]: port["port"] for port in service["spec"]["ports"]}
    assert options["advertise"] == f"{service['metadata']['name']}:{served['kafka']}"
    assert options["folder"].parent.as_posix() in {mount["mountPath"] for mount in container["volumeMounts"]}
    server = manifests["StatefulSet"]["spec"]["template"]["spec"]
    assert pod["securityContext"] == server["securityContext"]
    assert container["securityContext"] == server["containers"][0]["securityContext"]
    assert container["image"] == server["containers"][0]["image"]
