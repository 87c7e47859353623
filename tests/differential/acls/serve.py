"""`coordinator` whose listener takes the client id of a request for the name of its user: for tests of ACLs alone."""

from coordinator.cli import main
from coordinator.security.principal import USER_TYPE, Principal
from coordinator.server.connection import Connection
from coordinator.server.request_dispatcher import RequestDispatcher


def trust_client_ids() -> None:
    """From now on a connection belongs to the user that its first request names."""
    serve = RequestDispatcher._serve

    def serve_user(dispatcher: RequestDispatcher, connection: Connection, frame: bytes) -> None:
        size = int.from_bytes(frame[8:10], "big", signed=True)
        connection.principal = Principal(USER_TYPE, frame[10 : 10 + size].decode())
        serve(dispatcher, connection, frame)

    setattr(RequestDispatcher, "_serve", serve_user)  # noqa: B010  (mypy takes methods for constants)


if __name__ == "__main__":
    trust_client_ids()
    main()
