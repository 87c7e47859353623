"""What a node tells of other nodes that it cannot reach."""

import asyncio
import ssl
from pathlib import Path

from _wire.errors import ErrorCode
from coordinator.client.security import ClientSecurity
from coordinator.cluster.found import Finding, Unknown
from coordinator.cluster.nodes.messages import NodeAddress
from coordinator.cluster.nodes.peers import Peers
from tests.certificates import server_identity
from tests.front.log_lines import LogLines, log_lines

ASKED = 3


def ask(security: ClientSecurity, context: ssl.SSLContext | None) -> LogLines:
    """Ask another node several times, which closes each connection."""

    async def story() -> None:
        peers = Peers(security, lambda: None)
        answers: asyncio.Queue[Finding] = asyncio.Queue()

        def close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.close()

        async with await asyncio.start_server(close, "127.0.0.1", 0, ssl=context) as server:
            port = server.sockets[0].getsockname()[1]
            node = NodeAddress(node_id=2, host="127.0.0.1", port=port, broker_port_base=1)
            for _ in range(ASKED):
                peers.find(node, "group", answers.put_nowait)
                async with asyncio.timeout(10):
                    assert await answers.get() == Unknown(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        peers.close()

    with log_lines() as lines:
        asyncio.run(story())
    return lines


def test_a_certificate_that_is_not_trusted_is_told_once(tmp_path: Path):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server_identity().write(tmp_path / "node.pem"))
    lines = ask(ClientSecurity({"security.protocol": "SSL"}), context)
    (line,) = lines.of("another node cannot be reached")
    assert "its certificate is not trusted" in line["reason"]


def test_tls_at_a_node_without_it_is_told_once():
    (line,) = ask(ClientSecurity({"security.protocol": "SSL"}), None).of("another node cannot be reached")
    assert line["node"].startswith("127.0.0.1:")
