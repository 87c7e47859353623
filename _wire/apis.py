"""The APIs with a definition, by key. Dispatch, ApiVersions and the documentation are derived from this table."""

from collections.abc import Iterator, Mapping
from importlib import import_module

import msgspec

from _wire.messages import API_MODULES
from _wire.structs import Message


class Api(msgspec.Struct, frozen=True):
    """A request and its response. `flexible_from` is `max_version + 1` if no version is flexible (KIP-482)."""

    name: str
    key: int
    request: type[Message]
    response: type[Message]
    min_version: int
    max_version: int
    flexible_from: int


def _name(module_name: str) -> str:
    return "".join(word.capitalize() for word in module_name.split("_"))


class Apis(Mapping[int, Api]):
    """API key → API. The module of an API is imported at its first use, so unused APIs cost nothing."""

    def __init__(self, modules: Mapping[int, str]) -> None:
        self._modules = modules
        self._keys = {_name(module_name): key for key, module_name in modules.items()}
        self._loaded: dict[int, Api] = {}

    def __getitem__(self, key: int) -> Api:
        if key not in self._loaded:
            self._loaded[key] = self._load(key, self._modules[key])
        return self._loaded[key]

    def __iter__(self) -> Iterator[int]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)

    def named(self, name: str) -> Api:
        """Find an API by its name, such as "JoinGroup".

        Raises:
            KeyError: there is no API of that name.
        """
        return self[self.key_of(name)]

    def key_of(self, name: str) -> int:
        """The key of an API, whose module is not imported for it.

        Raises:
            KeyError: there is no API of that name.
        """
        return self._keys[name]

    def _load(self, key: int, module_name: str) -> Api:
        module, name = import_module(f"_wire.messages.{module_name}"), _name(module_name)
        request: type[Message] = getattr(module, f"{name}Request")
        response: type[Message] = getattr(module, f"{name}Response")
        return Api(name, key, request, response, request.MIN_VERSION, request.MAX_VERSION, request.FLEXIBLE_FROM)


APIS = Apis(API_MODULES)
