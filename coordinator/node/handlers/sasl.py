"""SaslHandshake and SaslAuthenticate where no login is under way: on listeners without one, or after it (KafkaApis)."""

from _wire.errors import ErrorCode
from _wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from _wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from coordinator.front.dispatch import DispatchTable
from coordinator.front.request_context import RequestContext


class SaslHandlers:
    """Refuses both: the requests of a login never come here (`front/login.py`)."""

    def add_to(self, table: DispatchTable) -> None:
        table.add("SaslHandshake", self.handshake)
        table.add("SaslAuthenticate", self.authenticate)

    def handshake(self, request: SaslHandshakeRequest, call: RequestContext) -> SaslHandshakeResponse:
        return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)

    def authenticate(self, request: SaslAuthenticateRequest, call: RequestContext) -> SaslAuthenticateResponse:
        return SaslAuthenticateResponse(
            error_code=ErrorCode.ILLEGAL_SASL_STATE,
            error_message="SaslAuthenticate request received after successful authentication",
        )
