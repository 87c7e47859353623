"""Floor: what one Python process can do at most. Answers every frame with a Heartbeat v4 response.

python uvloop_floor.py PORT [protocol|buffered]: asyncio.Protocol (bytes per read), or asyncio.BufferedProtocol (one
buffer).
"""

import asyncio
import socket
import sys

import uvloop

ZEROS = bytes(8)  # no tags, throttle 0, error 0, no tags
HEAD = b"\x00\x00\x00\x0c"  # size 12


class Plain(asyncio.Protocol):
    __slots__ = ("rest", "write")

    def connection_made(self, transport):
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.write = transport.write
        self.rest = b""

    def data_received(self, data):
        if self.rest:
            data = self.rest + data
        pos, end, out = 0, len(data), []
        while end - pos >= 12:
            after = pos + 4 + int.from_bytes(data[pos : pos + 4], "big")
            if after > end:
                break
            out.append(HEAD + data[pos + 8 : pos + 12] + ZEROS)
            pos = after
        self.rest = data[pos:]
        if out:
            self.write(b"".join(out) if len(out) > 1 else out[0])


class Buffered(asyncio.BufferedProtocol):
    __slots__ = ("buffer", "filled", "view", "write")

    def connection_made(self, transport):
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.write = transport.write
        self.buffer = bytearray(65536)
        self.view = memoryview(self.buffer)
        self.filled = 0

    def get_buffer(self, hint):
        return self.view[self.filled :]

    def buffer_updated(self, n):
        data, end, pos, out = self.buffer, self.filled + n, 0, []
        while end - pos >= 12:
            after = pos + 4 + int.from_bytes(data[pos : pos + 4], "big")
            if after > end:
                break
            out.append(HEAD + data[pos + 8 : pos + 12] + ZEROS)
            pos = after
        if pos < end:
            data[: end - pos] = data[pos:end]
        self.filled = end - pos
        if out:
            self.write(b"".join(out) if len(out) > 1 else out[0])


async def main():
    port, kind = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "protocol"
    server = await asyncio.get_running_loop().create_server(
        {"protocol": Plain, "buffered": Buffered}[kind], "127.0.0.1", port
    )
    await server.serve_forever()


uvloop.run(main())
