"""Which quota applies to a client (Kafka's DefaultQuotaCallback)."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from coordinator.metadata.image import QuotaEntity
from coordinator.quotas.keys import CLIENT_ID, IP, USER

NAME_LENGTH_MAX: Final = 256
"""A longer name is remembered by its hash: clients choose their client ids, up to 32 kB each."""


class Client(NamedTuple):
    """Whose use is measured. The user is the name of the principal: ANONYMOUS where nobody is authenticated."""

    user: str
    client_id: str


class Limit(NamedTuple):
    """A quota and who shares it: all requests with the same `shared_by` are measured together."""

    value: float
    shared_by: tuple[str, str]
    """User and client id; empty where the quota does not tell them apart."""


class ClientLimits:
    """The quotas of one key, of users and client ids."""

    def __init__(self, quotas: Mapping[QuotaEntity, Mapping[str, float]], key: str) -> None:
        self._values = {entity: values[key] for entity, values in quotas.items() if key in values}

    def __bool__(self) -> bool:
        return bool(self._values)

    def find(self, client: Client) -> Limit | None:
        """Return the most specific quota of a client, None if there is none.

        As in Kafka, a client without a client id has the quotas of its user alone, not the default of client ids.
        """
        if not self._values:
            return None
        for names, shared_by in _levels(*client):
            value = self._values.get(names)
            if value is not None:
                return Limit(value, shared_by)
        return None


def _levels(user_name: str, client_id: str) -> list[tuple[QuotaEntity, tuple[str, str]]]:
    """The entities that a client belongs to, the most specific one first, and who shares the quota of each."""
    one, any_one = (CLIENT_ID, client_id), (CLIENT_ID, None)
    user, any_user = (USER, user_name), (USER, None)
    user_name = _shortened(user_name)
    by_user = (user_name, "")
    if not client_id:
        return [((user,), by_user), ((any_user,), by_user)]
    client_id = _shortened(client_id)
    by_both = (user_name, client_id)
    by_client = ("", client_id)
    return [
        ((one, user), by_both),
        ((any_one, user), by_both),
        ((user,), by_user),
        ((one, any_user), by_both),
        ((any_one, any_user), by_both),
        ((any_user,), by_user),
        ((one,), by_client),
        ((any_one,), by_client),
    ]


def _shortened(name: str) -> str:
    if len(name) <= NAME_LENGTH_MAX:
        return name
    from hashlib import sha256

    return sha256(name.encode(errors="replace")).hexdigest()


class AddressLimits:
    """The quotas of one key, of IP addresses."""

    def __init__(self, quotas: Mapping[QuotaEntity, Mapping[str, float]], key: str) -> None:
        self._values = {entity: values[key] for entity, values in quotas.items() if key in values}

    def __bool__(self) -> bool:
        return bool(self._values)

    def find(self, address: str) -> Limit | None:
        for name in (address, None):
            value = self._values.get(((IP, name),))
            if value is not None:
                return Limit(value, (address, ""))
        return None
