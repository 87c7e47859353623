"""The APIs we have definitions of, by key: dispatch, ApiVersions and the documentation are made from them."""

from dataclasses import dataclass
from importlib import import_module

from _wire.messages import API_MODULES
from _wire.primitives import Message


@dataclass(frozen=True, slots=True)
class Api:
    """A request and its response; `flexible_from` is `max_version + 1` where no version is flexible (KIP-482)."""

    name: str
    key: int
    request: type[Message]
    response: type[Message]
    min_version: int
    max_version: int
    flexible_from: int


def _api(key: int, module_name: str) -> Api:
    module = import_module(f"_wire.messages.{module_name}")
    name = "".join(word.capitalize() for word in module_name.split("_"))
    request: type[Message] = getattr(module, f"{name}Request")
    response: type[Message] = getattr(module, f"{name}Response")
    return Api(name, key, request, response, request.MIN_VERSION, request.MAX_VERSION, request.FLEXIBLE_FROM)


APIS: dict[int, Api] = {key: _api(key, module_name) for key, module_name in API_MODULES.items()}
