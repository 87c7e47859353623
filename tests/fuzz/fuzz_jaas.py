"""JAAS configurations: any text is read or refused with one line that has nothing of it.

FUZZ_SECONDS=60 python -m tests.fuzz.fuzz_jaas
"""

from collections.abc import Callable, Iterator

from coordinator.security.sasl.jaas import CONTROL_FLAGS, JaasError, LoginModule, parse_jaas
from tests.fuzz.harness import fuzz


def one_input(data: bytes, saw: Callable[[str], None]) -> None:
    text = data.decode(errors="replace")
    try:
        modules = parse_jaas(text)
    except JaasError as problem:
        assert str(problem).isprintable()
        saw(str(problem))
        return
    assert modules
    for module in modules:
        assert module.control_flag in CONTROL_FLAGS
        assert "options" not in repr(module)
    again = " ".join(map(_written, modules))
    assert parse_jaas(again) == modules
    saw(f"{len(modules)} modules, {[len(module.options) for module in modules]}")


def _written(module: LoginModule) -> str:
    options = " ".join(f"{_quoted(name)}={_quoted(value)}" for name, value in module.options.items())
    return f"{_quoted(module.name)} {module.control_flag} {options};"


def _quoted(text: str) -> str:
    """With all that would end the quotes, or the line, as an escape."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def seeds() -> Iterator[bytes]:
    yield b'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="a" user_bob=\'b\\"\\101\';'
    yield b'a.B Required x=y; // comment\n c optional /* another */ z="\\n\\t" ;'
    yield b'a required x=1 y="'


if __name__ == "__main__":
    fuzz("jaas", one_input, seeds())
