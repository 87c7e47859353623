"""DescribeClientQuotas: which entities match a filter, as in Kafka's ClientQuotasImage (KIP-546)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from _wire.errors import ErrorCode
from coordinator.metadata.image import QuotaEntity
from coordinator.quotas.keys import CLIENT_ID, ENTITY_TYPES, IP, USER

MATCH_EXACT: Final = 0
MATCH_DEFAULT: Final = 1
MATCH_SPECIFIED: Final = 2


class InvalidFilter(ValueError):
    """A filter cannot be used. `error` is the protocol's error code; the message is Kafka's."""

    def __init__(self, message: str, error: ErrorCode = ErrorCode.INVALID_REQUEST) -> None:
        super().__init__(message)
        self.error = error


class Component(NamedTuple):
    """What a filter asks of the names of one type. `match` is the name for MATCH_EXACT, else None."""

    entity_type: str
    match_type: int
    match: str | None


def matcher(components: Sequence[Component], strict: bool) -> Callable[[QuotaEntity], bool]:
    """Return what says of an entity whether it has what each component asks for; if `strict`, no other type beside.

    Raises:
        InvalidFilter: the components are not allowed.
    """
    components_by_type = _by_type(components)

    def matches(entity: QuotaEntity) -> bool:
        names = dict(entity)
        if strict and (names.keys() != components_by_type.keys() or not components_by_type):
            return False
        return all(_has(names, component) for component in components)

    return matches


def _has(names: Mapping[str, str | None], component: Component) -> bool:
    kind = component.entity_type
    # MATCH_SPECIFIED is any name, the default included.
    return kind in names and (component.match_type == MATCH_SPECIFIED or names[kind] == component.match)


def _by_type(components: Sequence[Component]) -> dict[str, Component]:
    """Raises InvalidFilter."""
    components_by_type: dict[str, Component] = {}
    for component in components:
        kind, match_type, match = component
        if not kind:
            raise InvalidFilter("Invalid empty entity type.")
        if kind in components_by_type:
            raise InvalidFilter(f"Entity type {kind} cannot appear more than once in the filter.")
        if kind not in ENTITY_TYPES:
            raise InvalidFilter(f"Unsupported entity type {kind}", ErrorCode.UNSUPPORTED_VERSION)
        if match_type == MATCH_EXACT:
            if match is None:
                raise InvalidFilter("Request specified MATCH_TYPE_EXACT, but set match string to null.")
        elif match_type not in (MATCH_DEFAULT, MATCH_SPECIFIED):
            raise InvalidFilter(f"Unknown match type {match_type}")
        elif match is not None:
            name = "DEFAULT" if match_type == MATCH_DEFAULT else "SPECIFIED"
            raise InvalidFilter(f"Request specified MATCH_TYPE_{name}, but also specified a match string.")
        components_by_type[kind] = component
    if IP in components_by_type and (USER in components_by_type or CLIENT_ID in components_by_type):
        raise InvalidFilter(
            "Invalid entity filter component combination. IP filter component should not be used with user or clientId "
            "filter component."
        )
    return components_by_type
