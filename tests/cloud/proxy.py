"""An HTTP proxy in front of a test server: delays and counts requests, and injects faults.

Requests whose path begins with /__proxy are for the proxy:

    GET /__proxy/counts             requests since the last reset, by method, and bytes of answers
    GET /__proxy/reset              sets the counts to 0
    GET /__proxy/log                one line per request: method, target, range
    GET /__proxy/faults?seed=1&fail=10&hang=1&truncate=5
                                    of 100 requests: answered with 503, never answered, cut short
"""

import asyncio
import json
import random
from urllib.parse import parse_qs, urlsplit

BLOCK = 1 << 18


class Proxy:
    def __init__(self, upstream_port, delay_ms):
        self.upstream_port = upstream_port
        self.delay = delay_ms / 1000
        self.random = random.Random(0)
        self.faults = {}
        self.reset()

    def reset(self):
        self.counts = {}
        self.bytes = 0
        self.log = []

    async def start(self, port=0):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", port, limit=BLOCK)
        return self.server.sockets[0].getsockname()[1]

    async def serve(self, reader, writer):
        upstream = None
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                method, target = head.split(b" ", 2)[:2]
                method, target = method.decode(), target.decode()
                if target.startswith("/__proxy"):
                    self.control(target, writer)
                    await writer.drain()
                    continue
                if upstream is None:
                    upstream = await asyncio.open_connection(
                        "127.0.0.1", self.upstream_port, limit=BLOCK)
                if not await self.request(method, target, head, reader, writer, upstream):
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            if upstream:
                upstream[1].close()

    async def request(self, method, target, head, reader, writer, upstream):
        """Passes one request on; whether the connection can be used again."""
        self.counts[method] = self.counts.get(method, 0) + 1
        headers = headers_of(head)
        self.log.append(f"{method} {target} {headers.get('range', '')}")
        await asyncio.sleep(self.delay)
        fault = self.fault()
        if fault == "hang":
            await reader.read(1 << 30)
            return False
        if fault == "fail":
            await discard(reader, headers)
            writer.write(b"HTTP/1.1 503 Slow Down\r\ncontent-length: 0\r\n\r\n")
            await writer.drain()
            return True
        from_server, to_server = upstream
        to_server.write(head)
        await copy_body(reader, to_server, headers)
        answer = await from_server.readuntil(b"\r\n\r\n")
        answer_headers = headers_of(answer)
        status = int(answer.split(b" ", 2)[1])
        writer.write(answer)
        if method == "HEAD" or status in (204, 304):
            await writer.drain()
            return True
        if fault == "truncate" and int(answer_headers.get("content-length", 0)) > 1:
            half = int(answer_headers["content-length"]) // 2
            writer.write(await from_server.readexactly(half))
            await writer.drain()
            return False
        self.bytes += await copy_body(from_server, writer, answer_headers)
        return answer_headers.get("connection", "").lower() != "close"

    def fault(self):
        number = self.random.uniform(0, 100)
        for name in ("fail", "hang", "truncate"):
            number -= self.faults.get(name, 0)
            if number < 0:
                return name
        return None

    def control(self, target, writer):
        parts = urlsplit(target)
        answer = b""
        if parts.path == "/__proxy/counts":
            counts = dict(self.counts, requests=sum(self.counts.values()), bytes=self.bytes)
            answer = json.dumps(counts).encode()
        elif parts.path == "/__proxy/log":
            answer = "\n".join(self.log).encode()
        elif parts.path == "/__proxy/reset":
            self.reset()
        elif parts.path == "/__proxy/faults":
            query = {key: float(value[0]) for key, value in parse_qs(parts.query).items()}
            self.random = random.Random(int(query.pop("seed", 0)))
            self.faults = query
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(answer) + answer)


def headers_of(head):
    lines = head.decode("latin-1").split("\r\n")[1:]
    pairs = (line.split(":", 1) for line in lines if ":" in line)
    return {name.strip().lower(): value.strip() for name, value in pairs}


async def discard(reader, headers):
    left = int(headers.get("content-length", 0))
    while left > 0:
        left -= len(await reader.readexactly(min(left, BLOCK)))


async def copy_body(reader, writer, headers):
    """Copies a body of known length or in chunks; the number of its bytes."""
    if headers.get("transfer-encoding", "").lower() == "chunked":
        copied = 0
        while True:
            line = await reader.readuntil(b"\r\n")
            size = int(line.split(b";")[0], 16)
            writer.write(line + await reader.readexactly(size + 2))
            await writer.drain()
            copied += size
            if size == 0:
                return copied
    length = left = int(headers.get("content-length", 0))
    while left > 0:
        block = await reader.read(min(left, BLOCK))
        if not block:
            raise ConnectionError("ends early")
        writer.write(block)
        await writer.drain()
        left -= len(block)
    await writer.drain()
    return length
