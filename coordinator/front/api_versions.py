"""What ApiVersions tells clients, and what clients tell of themselves with it."""

import re
from collections.abc import Mapping
from typing import Final

from _wire.errors import ErrorCode
from _wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from coordinator.front.dispatch import ServedApi

SOFTWARE_NAME: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
"""Valid names and versions of client software (KIP-511)."""
SOFTWARE_NAME_VERSION: Final = 3
SOFTWARE_CHARACTERS_MAX: Final = 100
"""How much of a name or version is kept, for the audit. KIP-511 sets no limit."""


def has_valid_software(request: ApiVersionsRequest, api_version: int) -> bool:
    """Whether name and version of the client's software are valid, or it is too old to say them."""
    said = (request.client_software_name, request.client_software_version)
    return api_version < SOFTWARE_NAME_VERSION or all(SOFTWARE_NAME.fullmatch(text) for text in said)


def software_of(request: ApiVersionsRequest) -> tuple[str, str]:
    """Name and version of the client's software, as the audit tells them."""
    said = (request.client_software_name, request.client_software_version)
    name, version = (text[:SOFTWARE_CHARACTERS_MAX] for text in said)
    return name, version


def unsupported_api_versions(served: Mapping[int, ServedApi]) -> ApiVersionsResponse:
    """The answer to a version of ApiVersions we do not know: v0, and only what helps to ask again (KIP-511)."""
    own = listed(served[ApiVersionsRequest.API_KEY])
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[own])


def listed(api: ServedApi) -> ApiVersion:
    return ApiVersion(api_key=api.key, min_version=api.offered_from, max_version=api.max_version)
