"""What tests of quotas say on a connection."""

import select
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.alter_client_quotas import (
    AlterClientQuotasEntity,
    AlterClientQuotasEntry,
    AlterClientQuotasOp,
    AlterClientQuotasRequest,
)
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.describe_client_quotas import DescribeClientQuotasComponent, DescribeClientQuotasRequest
from coordinator.client.bootstrap import Server
from coordinator.client.requests import Sent
from tests.wire_client import WireClient

Names = dict[str, str | None]

QUIET_SECONDS: Final = 0.2
"""How long no response may come for a connection to count as muted."""


class LimitedClient(WireClient):
    """A connection that finds out whether it is muted."""

    def __init__(self, bootstrap: Server, client_id: str = "limited") -> None:
        super().__init__(bootstrap, client_id)
        self._asked: Sent | None = None

    def ask(self) -> None:
        """Send a request; `is_answered` reads its response."""
        self._asked = self.send(ApiVersionsRequest(), 0)

    def is_answered(self) -> bool:
        """Whether the request of `ask` gets its response."""
        assert self._asked is not None
        return bool(self.receive(self._asked).error_code == ErrorCode.NONE)

    def is_muted(self) -> bool:
        """Whether a request, which this sends, gets no response."""
        self.ask()
        return not self.has_data()

    def has_data(self) -> bool:
        """Whether something can be read, or soon."""
        return bool(select.select([self.socket], [], [], QUIET_SECONDS)[0])


class QuotaClient(WireClient):
    """A connection that also sets and tells quotas. Its own client id is "admin" if none is given."""

    def __init__(self, bootstrap: Server, client_id: str = "admin") -> None:
        super().__init__(bootstrap, client_id)

    def alter(self, names: Names, *, validate_only: bool = False, **quotas: float | None) -> Any:
        """Set the quotas of an entity, and remove those that are None; the answer for it."""
        entity = [AlterClientQuotasEntity(entity_type=kind, entity_name=name) for kind, name in names.items()]
        ops = [AlterClientQuotasOp(key=key, value=value or 0.0, remove=value is None) for key, value in quotas.items()]
        entry = AlterClientQuotasEntry(entity=entity, ops=ops)
        (result,) = self.request(AlterClientQuotasRequest(entries=[entry], validate_only=validate_only), 1).entries
        return result

    def set(self, client_id: str | None, **quotas: float | None) -> None:
        result = self.alter({"client-id": client_id}, validate_only=False, **quotas)
        assert result.error_code == 0, result

    def describe(self, *components: tuple[str, int, str | None], strict: bool = False, version: int = 1) -> Any:
        wanted = [DescribeClientQuotasComponent(entity_type=k, match_type=m, match=n) for k, m, n in components]
        return self.request(DescribeClientQuotasRequest(components=wanted, strict=strict), version)

    def quotas(self) -> dict[tuple[tuple[str, str | None], ...], dict[str, float]]:
        """All quotas by entity."""
        return {
            tuple((each.entity_type, each.entity_name) for each in entry.entity): {
                value.key: value.value for value in entry.values
            }
            for entry in self.describe().entries
        }
