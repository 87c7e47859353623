"""What is wrong with settings, each problem with the place of the setting."""

from collections.abc import Callable, Iterator

import msgspec

from coordinator.config.key import ConfigError
from coordinator.config.settings import KEYS_BY_NAME, Config, hint
from coordinator.config.understood import Understood


class Problem(msgspec.Struct, frozen=True):
    """Something that is wrong."""

    place: str
    """`server.properties:12`, a variable or an option; empty if it is about no single setting."""
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


def find_problems(understood: Understood, check: Callable[[Config], None]) -> Iterator[Problem]:
    """All that is wrong with single settings; if nothing is, the first problem of all together.

    `check` checks more than `Config` does, and raises ConfigError.
    """
    for name, given in sorted(understood.unknown.items(), key=lambda item: item[1].place):
        yield Problem(given.place, f"unknown setting {hint(name)}")
    broken = set()
    for name, given in understood.used.items():
        key = KEYS_BY_NAME.get(name)
        try:
            if key is not None:
                key.parse(given.text)
        except ConfigError as problem:
            broken.add(name)
            yield Problem(given.place, str(problem))
    if broken:
        return
    try:
        check(Config(understood.texts, unused=understood.unused_texts))
    except ConfigError as problem:
        yield Problem(_place_of(str(problem), understood), str(problem))


def _place_of(message: str, understood: Understood) -> str:
    """The place of the setting that a message names first, of those that were given."""
    found = [(message.find(name), -len(name), name) for name in understood.used if name in message]
    return understood.used[min(found)[2]].place if found else ""
