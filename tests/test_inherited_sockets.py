"""Listening sockets that a service manager hands over (sd_listen_fds(3)); tests/cli/test_serve_as_a_service.py has a
server that takes them."""

import gc
import os
import socket
from collections.abc import Iterator

import pytest

from coordinator import inherited_sockets as module
from coordinator.config.key import ConfigError
from coordinator.inherited_sockets import InheritedSockets, inherited_sockets
from coordinator.listen_address import Address


@pytest.fixture
def descriptor() -> Iterator[int]:
    """Of a listening socket, whose owner is who takes it over."""
    number = socket.create_server(("127.0.0.1", 0)).detach()
    yield number
    gc.collect()  # who took it over is in the traceback of a refusal, and may close the number when another file has it
    try:
        os.close(number)
    except OSError:
        return  # its owner has closed it


def said(names: str, count: int = 1, pid: int | None = None) -> dict[str, str]:
    return {"LISTEN_PID": str(pid or os.getpid()), "LISTEN_FDS": str(count), "LISTEN_FDNAMES": names}


def test_a_socket_is_taken_once_by_the_listener_of_its_name(descriptor, monkeypatch):
    monkeypatch.setattr(module, "FIRST_DESCRIPTOR", descriptor)
    environment = said("plaintext")
    inherited = inherited_sockets(environment)
    assert environment == {}
    assert not os.get_inheritable(descriptor)
    assert inherited.claim(Address("SSL", "127.0.0.1", 0)) is None
    taken = inherited.claim(Address("PLAINTEXT", "127.0.0.1", 0))
    assert taken is not None and taken.fileno() == descriptor
    assert inherited.claim(Address("PLAINTEXT", "127.0.0.1", 0)) is None
    taken.close()


def test_another_port_than_that_of_the_listener_is_refused(descriptor, monkeypatch):
    monkeypatch.setattr(module, "FIRST_DESCRIPTOR", descriptor)
    with pytest.raises(ConfigError, match="and its listener 1: write the same port in both"):
        inherited_sockets(said("PLAINTEXT")).claim(Address("PLAINTEXT", "127.0.0.1", 1))


def test_sockets_for_another_process_are_left_alone(descriptor, monkeypatch):
    monkeypatch.setattr(module, "FIRST_DESCRIPTOR", descriptor)
    assert not inherited_sockets(said("PLAINTEXT", pid=os.getpid() + 1))
    assert not inherited_sockets({})
    assert os.get_inheritable(descriptor) is False or os.fstat(descriptor)


def test_a_socket_without_a_listener_is_refused():
    with socket.socket() as sock:
        inherited = InheritedSockets({"KAFKA.SOCKET": sock})
        with pytest.raises(ConfigError, match="FileDescriptorName= with one of PLAINTEXT, ADMIN"):
            inherited.check(["PLAINTEXT", "ADMIN"])
        InheritedSockets({"ADMIN": sock}).check(["PLAINTEXT", "ADMIN"])


@pytest.mark.parametrize(
    ("environment", "problem"),
    [
        (said("A", 1) | {"LISTEN_FDS": "many"}, "LISTEN_FDS=many: it is not a number of sockets"),
        (said("A", 65), "it is not a number of sockets, at most 64"),
        (said("A", 2), "it has not a name for each of 2 sockets"),
        (said("a:A", 2), "A is there twice"),
    ],
)
def test_what_cannot_be_understood_is_one_line(descriptor, monkeypatch, environment, problem):
    monkeypatch.setattr(module, "FIRST_DESCRIPTOR", descriptor)
    with pytest.raises(ConfigError, match=problem) as raised:
        inherited_sockets(environment)
    assert "\n" not in str(raised.value)


def test_what_is_no_listening_socket_is_refused(monkeypatch):
    reading, writing = os.pipe()
    with socket.socket() as silent, socket.socket(type=socket.SOCK_DGRAM) as datagrams:
        for number, problem in (
            (reading, "is no socket"),
            (silent.detach(), "does not listen on TCP"),
            (datagrams.detach(), "does not listen on TCP"),
        ):
            monkeypatch.setattr(module, "FIRST_DESCRIPTOR", number)
            with pytest.raises(ConfigError, match=problem):
                inherited_sockets(said("PLAINTEXT"))
    os.close(reading)
    os.close(writing)
    with pytest.raises(ConfigError, match="is no socket"):
        inherited_sockets(said("PLAINTEXT"))
